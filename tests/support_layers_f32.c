/* SPDX-License-Identifier: MIT */
#include "support_layers_impl.h"
