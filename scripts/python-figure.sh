#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# python-figure.sh: docs/python/agents.svg from the learning curves beside it, which python/examples/cartpole.py and
# recurrent_ppo.py wrote (--log); by gnuplot.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../docs/python"
gnuplot <<'PLOT'
set terminal svg size 900,340 font 'Helvetica,13' background '#ffffff'
set output 'agents.svg'
set datafile separator ','
set multiplot layout 1,2
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror out
set xlabel 'environment steps'
set xtics 20000
set format x '%.0s%c'
set key bottom right samplen 2
set title 'CartPole-v1 without velocities (Gymnasium)'
set ylabel 'mean return of the episodes of a rollout'
set yrange [0:520]
plot 475 lc rgb '#999999' dt 2 title '475', \
  'cartpole.csv' every ::1 using 1:2 with lines lw 2 lc rgb '#0b6e4f' title 'sparc'
set title 'sparc/Cartpole-v0 (this library)'
unset ylabel
set yrange [0:1.05]
plot '< grep "^sparc," recurrent-ppo.csv' using 2:3 with lines lw 2 lc rgb '#0b6e4f' title 'sparc', \
  '< grep "^RecurrentPPO," recurrent-ppo.csv' using 2:3 with lines lw 2 lc rgb '#c1440e' title 'RecurrentPPO (sb3-contrib)'
PLOT
