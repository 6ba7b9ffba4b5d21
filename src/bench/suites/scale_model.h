/* SPDX-License-Identifier: MIT */
/* scale_model.h: how long the ranks of a training run talk to each other in an update, by the latency of a message and the
 * bandwidth of a rank.
 *
 * Small records are gathered in ceil(log2 R) rounds. The slices of the gradient go from each rank to each other, and back
 * as parts of the sum (base/shard_sum.h): R - 1 messages each time, one after the other, as a ring or pairs send them. A
 * link carries as much in as out. No overlap with computation: this is an upper bound.
 */
#ifndef SPARC_BENCH_SUITES_SCALE_MODEL_H
#define SPARC_BENCH_SUITES_SCALE_MODEL_H

#include <stddef.h>

typedef struct scale_network {
  double latency; /* seconds of a message */
  double bytes_per_second;
} scale_network;

/* scale_rounds is the number of rounds in which R ranks gather something small: ceil(log2 R), at least 1 */
int scale_rounds(int ranks);

/* seconds of one update of so many parameters, with one shard and one node for each rank */
double scale_communication(const scale_network *network, int ranks, size_t params);

#endif
