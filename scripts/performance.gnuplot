# SPDX-License-Identifier: MIT
# performance.gnuplot: the figures of docs/performance.md, drawn by performance.sh, which sets `points`, the folder of
# its columns, `folder`, where figures go, and `wide`, the steps of the runs over the width.

set terminal svg size 640,420 font "sans,12" background "white"
set grid back lc rgb "#dddddd"
set key top left reverse Left samplen 2
set style data linespoints
set format x "%g"
set autoscale xfix
set linetype 1 lw 1.6 ps 0.6 lc rgb "#1f5fa8" pt 7
set linetype 2 lw 1.6 ps 0.6 lc rgb "#c4542b" pt 5
set linetype 3 lw 1.6 ps 0.6 lc rgb "#1f5fa8" pt 6 dt 2
set linetype 4 lw 1.6 ps 0.6 lc rgb "#c4542b" pt 4 dt 2
set linetype 5 lw 1.6 ps 0.6 lc rgb "#3a8f4d" pt 9
set linetype 6 lw 1.6 ps 0.6 lc rgb "#3a8f4d" pt 8 dt 2

at(name) = points . "/" . name
mixers = "sparc rglru sparc-dense rglru-dense"
titles = "'SPARC, no projection' 'RG-LRU, no projection' 'SPARC, dense' 'RG-LRU, dense'"

set logscale xy
set ylabel "forward + backward, ms"

do for [key in "T B D"] {
  set output folder . "/time-" . (key eq "D" ? "width" : key) . ".svg"
  set xlabel key eq "T" ? "steps T (B = 4, width 512)" : key eq "B" ? "streams B (T = 512, width 512)" : \
    sprintf("width D (B = 4, T = %d)", wide)
  plot for [i = 1:4] at(key . "-" . word(mixers, i)) using 1:(1e3 * $2) title word(titles, i) lt i
}

unset logscale
set output folder . "/time-threads.svg"
set xlabel "threads"
set ylabel "speed-up over one thread"
set xtics 1
set xrange [0.9:*]
set yrange [0:*]
first(name) = real(system("head -n 1 " . at(name) . " | cut -d ' ' -f 2"))
kernels = "threads-sparc threads-sparc-dense threads-rglru threads-scan threads-fused"
labels = "'mixer, no projection' 'mixer, dense' 'RG-LRU, no projection' 'scan forward' 'fused forward'"
plot for [i = 1:5] at(word(kernels, i)) using 1:(first(word(kernels, i)) / $2) title word(labels, i) lt i, \
  x title "ideal" with lines lc rgb "#888888" dt 3
set xtics auto
set xrange [*:*]

set logscale x
set output folder . "/ratio-rglru.svg"
set key above maxrows 2
set xlabel sprintf("width D (B = 4, T = %d), or steps T (B = 4, width 512)", wide)
set ylabel "time of SPARC / time of RG-LRU"
set logscale y
set yrange [*:*]
plot at("D-ratio") using 1:($2 / $3) title "no projection, over the width" lt 1, \
  at("T-ratio") using 1:($2 / $3) title "no projection, over the steps" lt 2, \
  at("D-ratio-dense") using 1:($2 / $3) title "dense, over the width" lt 3, \
  at("T-ratio-dense") using 1:($2 / $3) title "dense, over the steps" lt 4, \
  1 title "" with lines lc rgb "#888888" dt 3

set output folder . "/growth.svg"
set terminal svg size 640,560 font "sans,12" background "white"
set key inside top left maxrows auto
set multiplot layout 2,1
set format x "10^{%L}"
set xlabel ""
set ylabel "forward + backward, ms"
curves = "mixer-B mixer-T mixer-H fused-B fused-T fused-H"
plot for [i = 1:6] at("growth-" . word(curves, i)) using 1:(1e3 * $2) title word(curves, i) . " grows" \
    with points lt i, \
  for [i = 1:6] at("growth-" . word(curves, i)) using 1:(1e3 * $3) title "" with lines lt i
unset logscale y
set xlabel "mode-steps B T H"
set ylabel "distance from the line, %"
set yrange [-25:25]
plot for [i = 1:6] at("growth-" . word(curves, i)) using 1:4 title "" lt i, \
  15 title "15 %" with lines lc rgb "#888888" dt 3, -15 title "" with lines lc rgb "#888888" dt 3
unset multiplot

set output folder . "/limit.svg"
set terminal svg size 760,640 font "sans,11" background "white"
unset logscale
unset grid
set grid xtics lc rgb "#dddddd"
set key above maxrows 2
set xlabel "% of the limit measured in the same run, 1 thread"
set ylabel ""
set format x "%g"
set xrange [*:*]
set yrange [*:*]
stats at("limit") using ($2 > $3 ? $2 : $3) nooutput
set xrange [0:1.05 * STATS_max]
set yrange [*:*] reverse
set offsets 0, 0, 0.6, 0.6
set boxwidth 0.4
set style fill solid 0.8
# horizontal bars: boxes from the axis, two a kernel
plot at("limit") using (0.5 * $2):($0 - 0.2):(0.5 * $2):(0.19):ytic(1) with boxxyerror lc rgb "#1f5fa8" \
  title "bytes, of a copy", \
  at("limit") using (0.5 * $3):($0 + 0.2):(0.5 * $3):(0.19) with boxxyerror lc rgb "#c4542b" \
  title "operations, of the peak"
