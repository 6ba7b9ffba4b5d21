#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# soak-forecasts.sh [STEPS]: a long stream of constants, gaps, outliers, scale changes and level jumps through `sparc learn`;
# fails at the first prediction that is not a finite number. 1e8 steps by default, about 30 us each. SPARC is the tool.
set -euo pipefail
sparc=$(realpath "${SPARC:-$(dirname "${BASH_SOURCE[0]}")/../build/release/sparc}")
steps=${1:-1e8}

awk -v steps="$steps" 'BEGIN {
  srand(1)
  for (t = 0; t < steps; t++) {
    part = int(t / 5000) % 8
    y = sin(0.3 * t) + 0.5 * sin(0.47 * t) + 0.1 * rand()
    if (part == 1) y = 3                                              # constant
    if (part == 2 && (rand() < 0.1 || t % 1000 < 400)) { print "?"; continue } # gaps
    if (part == 3 && rand() < 0.01) y *= 1e6                          # outliers
    if (part == 4) y *= 1e-6
    if (part == 5) y *= 1e6
    if (part == 6) y = walk += rand() - 0.5
    if (part == 7) y += 1e9 * (int(t / 500) % 2)                      # jumps
    printf "%.9g\n", y
  }
}' | "$sparc" learn - --horizons 1,6 --intervals --anomaly --quiet | awk -F, '
  NR > 1 && !($2 + 0 == $2 && $5 + 0 == $5 && $2 - $2 == 0 && $5 - $5 == 0) { print "line " NR ": " $0; exit 1 }
  END { print NR - 1 " steps" }'
