/* SPDX-License-Identifier: MIT */
#include "support_impl.h"
