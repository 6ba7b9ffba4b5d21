/* SPDX-License-Identifier: MIT */
#include "support_network_impl.h"
