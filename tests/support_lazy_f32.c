/* SPDX-License-Identifier: MIT */
#include "support_lazy_impl.h"
