/* SPDX-License-Identifier: MIT */
/* sparc.h: includes all headers of the library. */
#ifndef SPARC_SPARC_H
#define SPARC_SPARC_H

#include "sparc/base.h"
#include "sparc/bf16.h"
#include "sparc/cell.h"
#include "sparc/data.h"
#include "sparc/device.h"
#include "sparc/double.h"
#include "sparc/env.h"
#include "sparc/inspect.h"
#include "sparc/layer.h"
#include "sparc/learn_run.h"
#include "sparc/learner.h"
#include "sparc/model.h"
#include "sparc/network.h"
#include "sparc/optimiser.h"
#include "sparc/options.h"
#include "sparc/random.h"
#include "sparc/rl.h"
#include "sparc/rl_run.h"
#include "sparc/rtrl.h"
#include "sparc/run.h"
#include "sparc/safetensors.h"
#include "sparc/scan.h"
#include "sparc/sequence.h"
#include "sparc/tasks.h"
#include "sparc/train.h"

#endif
