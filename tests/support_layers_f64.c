/* SPDX-License-Identifier: MIT */
#define SPARC_DOUBLE
#include "support_layers_impl.h"
