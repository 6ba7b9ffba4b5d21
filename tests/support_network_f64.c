/* SPDX-License-Identifier: MIT */
#define SPARC_DOUBLE
#include "support_network_impl.h"
