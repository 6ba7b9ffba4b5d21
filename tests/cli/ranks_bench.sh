#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ranks_bench.sh: `mpirun -n R sparc bench scale`: what is measured, and the model. Skipped (77) without mpirun or without MPI
# in the build.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/cli/ranks.bash
. "$(dirname "${BASH_SOURCE[0]}")/ranks.bash"
if [ -n "$(no_ranks)" ]; then
  echo "skipped: $(no_ranks)"
  exit 77
fi
cd "$scratch"

on 2 bench scale --quick --seconds 0.01 --json >out 2>err || fail "exit code $?"
[ "$(grep -c '"scaling":"strong"' out)" = 2 ] || fail "there is not one row of one rank and one of two"
[ "$(grep -c '"scaling":"weak"' out)" = 1 ] || fail "there is no row of weak scaling"
grep -q '"ranks":2.*"batch":64.*"network":"measured"' out || fail "the model has no prediction for these ranks"
for ranks in 64 1024; do
  for network in measured '10 Gbit/s' '25 Gbit/s' '100 Gbit/s'; do
    [ "$(grep -c "\"ranks\":$ranks[,.].*\"network\":\"$network\"" out)" = 2 ] || fail "no model of $ranks ranks: $network"
  done
done
[ "$(grep -c '"demand":1.8' out)" = 1 ] || fail "two ranks are held to no demand"

# number KEY FILE: of the row
number() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" "$2"; }
# what the time went to is all of it, but for ranks that end later than others
grep '"scaling":"weak"' out >weak
awk -v all="$(number update_ms weak)" -v a="$(number compute_ms weak)" -v b="$(number communication_ms weak)" \
  -v c="$(number waiting_ms weak)" 'BEGIN { exit !(a > 0 && b > 0 && c >= 0 && a + b + c <= 1.01 * all && a + b + c > 0.5 * all) }' ||
  fail "compute, communication and waiting are not the update: $(cat weak)"

got=0
on 2 bench peak >out 2>err || got=$?
[ "$got" = 2 ] || fail "exit code $got, expected 2"
[ "$(grep -c '^sparc bench: 2 ranks measure the suite scale, not peak; start it without mpirun' err)" = 1 ] ||
  fail "no message, or several: $(cat err)"
