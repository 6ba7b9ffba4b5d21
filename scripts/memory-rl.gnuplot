# SPDX-License-Identifier: MIT
# memory-rl.gnuplot: the figures of docs/memory-rl.md and docs/repeat-first-unmarked.md, drawn by memory-rl.sh, which
# sets `logs`, the folder of the logs and of the figures. Runs without a log are left out.

set grid back lc rgb "#dddddd"
set key outside bottom center horizontal reverse Left samplen 2
set ylabel "return"
set linetype 1 lw 1.8 lc rgb "#D55E00"
set linetype 2 lw 1.8 lc rgb "#0072B2"
set linetype 3 lw 1.8 lc rgb "#7A6FB0"
set linetype 4 lw 1.8 lc rgb "#009E73"
set linetype 5 lw 1.8 lc rgb "#CC79A7"
set linetype 6 lw 1.8 lc rgb "#B8860B"
set linetype 7 lw 1.8 lc rgb "#5f6b73"
set linetype 8 lw 1.8 lc rgb "#56B4E9" dt 2
set linetype 9 lw 1.8 lc rgb "#D55E00" dt 2
set linetype 10 lw 1.8 lc rgb "#7A6FB0" dt 2

log_of(name) = logs . "/" . name . ".tsv"
# those of the names whose logs (or reference curves) are there
present(task, names) = system("for n in " . names . "; do test -s " . logs . "/" . task . "-$n.tsv && echo $n; done | tr '\n' ' '")
compared(task, names) = system("for n in " . names . "; do grep -q \"^" . task . "-$n\t\" " . logs . "/reference.txt && echo $n; done | tr '\n' ' '")

# means over successive groups of n rollouts, at the groups' middle, and over the last n rollouts, every fifth of them
groups(name, n) = sprintf("< awk -v n=%d '/^#/ || $2 == \"-\" { next } { s += $2; if (++k == n) { print $1 - (n - 1) / 2, s / n; k = s = 0 } }' %s", n, log_of(name))
moving(name, n) = sprintf("< awk -v n=%d '/^#/ || $2 == \"-\" { next } { s += $2 - r[k %% n]; r[k++ %% n] = $2; if (k >= n && k %% 5 == 0) print $1, s / n }' %s", n, log_of(name))
reference(name) = sprintf("< awk '$1 == \"%s\"' %s/reference.txt", name, logs)

cells = "sparc rtu gru"
titles = "SPARC RTU GRU"
place(name) = name eq "sparc" ? 1 : name eq "rtu" ? 2 : 3
title_of(name) = word(titles, place(name))
thousand_steps(rollout) = rollout * 2.048
million_steps(rollout) = rollout * 2.048e-3

set terminal svg size 960,420 font "sans,12" background "white"
do for [task in "repeat-previous cartpole repeat-first noisy-pendulum"] {
  some = present(task, cells)
  if (words(some) > 0) {
    set output logs . "/" . task . ".svg"
    set multiplot layout 1,2
    set title task . ": the first 300,000 steps, groups of ten rollouts"
    set xlabel "thousand steps"
    set xrange [0:310]
    plot for [cell in some] groups(task . "-" . cell, 10) using (thousand_steps($1)):2 with lines lt place(cell) \
        title title_of(cell), \
      for [cell in compared(task, some)] reference(task . "-" . cell) using (thousand_steps($2)):3 with points pt 6 ps 0.6 \
        lt place(cell) lw 1 title title_of(cell) . ", JAX"
    set title "the whole run, mean of the last 100 rollouts"
    set xlabel "million steps"
    set xrange [0:4]
    plot for [cell in some] moving(task . "-" . cell, 100) using (million_steps($1)):2 with lines lt place(cell) \
      title title_of(cell)
    unset multiplot
  }
}

some = present("hopper-p", "sparc") . present("cheetah-p", "sparc")
if (words(some) == 2) {
  set output logs . "/robots.svg"
  set multiplot layout 1,2
  set xlabel "million steps"
  set xrange [0:*]
  do for [task in "hopper-p cheetah-p"] {
    set title task . ": SPARC, groups of ten rollouts"
    plot groups(task . "-sparc", 10) using (million_steps($1)):2 with lines lt 1 title ""
  }
  unset multiplot
}

task = "repeat-first-unmarked"
some = present(task, cells)
ways = "exact streams entropy entropy5 rate together together-exact together-exact-rtu together-gru"
others = present(task, ways)
if (words(some) > 0 && words(others) > 0) {
  set terminal svg size 960,500 font "sans,12" background "white"
  set output logs . "/" . task . ".svg"
  set multiplot layout 1,2
  set key outside bottom center horizontal maxcols 4
  set xlabel "million steps"
  set yrange [-0.55:*]
  set offsets 0, 0, 0.15, 0
  set title "the paper's settings, mean of the last 100 rollouts"
  set xrange [0:4]
  plot for [cell in some] moving(task . "-" . cell, 100) using (million_steps($1)):2 with lines lt place(cell) \
      title title_of(cell), \
    for [cell in compared(task, some)] reference(task . "-" . cell) using (million_steps($2)):3 with points pt 6 ps 0.5 \
      lt place(cell) lw 1 title title_of(cell) . ", JAX"
  set title "other settings"
  set xrange [0:1.02]
  plot for [i = 1:words(others)] moving(task . "-" . word(others, i), 100) using (million_steps($1)):2 with lines lt i \
    title word(others, i)
  unset multiplot
}
