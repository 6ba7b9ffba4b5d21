/* SPDX-License-Identifier: MIT */
/* sequence_impl.h: the public arrays of a sequence call, by the precision of real. */
#ifndef SPARC_SEQ_SEQUENCE_IMPL_H
#define SPARC_SEQ_SEQUENCE_IMPL_H

#include "cells/cell_impl.h"
#include "sparc/double.h"

#ifdef SPARC_DOUBLE
typedef sparc_sequence_f64 TYPED(sequence);
typedef sparc_sequence_gradient_f64 TYPED(sequence_gradient);
#else
typedef sparc_sequence TYPED(sequence);
typedef sparc_sequence_gradient TYPED(sequence_gradient);
#endif

#endif
