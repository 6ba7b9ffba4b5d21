#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench_device.sh: `sparc bench paper --device`: refusals, every table as JSON and as a page, and the committed bits, on
# the driver that needs no GPU.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# usage
expect 2 bench --device cuda step:H8:D8
complains "--device goes with the suite paper alone: sparc bench paper --device cuda"
expect 2 bench --device cuda
complains "--device goes with the suite paper alone"
expect 2 bench paper --device opnecl
complains "unknown backend 'opnecl'; did you mean 'opencl'?"
expect 2 bench --fast paper
complains "--fast needs --device"
expect 2 bench paper --device cuda --plan
complains "--device and --plan exclude each other"

# without a driver nothing is measured, and no page is left
mkdir "$scratch/none"
OCL_ICD_VENDORS=$scratch/none expect 1 bench paper --device opencl --html "$scratch/page.html"
complains "backend opencl has no device: install a driver"
no_output
[ ! -e "$scratch/page.html" ] || fail "a page without a device"

if [ -z "${FAKE_CUDA:-}" ] || ! command -v "${CXX:-g++}" >/dev/null; then
  echo "skipped: no driver over fibres in this build, or no C++ compiler"
  exit 0
fi
export SPARC_CUDA_DRIVER=$FAKE_CUDA SPARC_CUDA_COMPILER=$FAKE_CUDA XDG_CACHE_HOME=$FAKE_CUDA_CACHE

expect 0 bench paper --device cuda --quick --seconds 0.01 --json --html "$scratch/page.html"
complains "page.html has these tables, to send back"
prints '{"table":"device","name":"CPU shim","platform":"NVIDIA CUDA","driver":"CUDA 13.0, sm_90","backend":"cuda"'
prints '"shapes":"REDUCED: T / '
for table in 'panel a' 'panel b' 'panel c' 'panel d' 'naive fixed tokens' agreement bits; do prints "{\"table\":\"$table\","; done
[ "$(grep -c '"table":"bits".*"verdict":"equal"' "$scratch/out")" = 6 ] || fail "mixers have other bits than the committed ones"
[ "$(grep -c '"table":"agreement".*"verdict":"agrees"' "$scratch/out")" = 9 ] || fail "tensors beyond tolerance"
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin]
device = rows[0]
assert device["copy_gb_per_s"] > 0 and device["memory_mib"] == 4096
for r in rows:
    if r["table"] == "panel a":
        assert 0 < r["sparc_bytes_per_token"] < r["rglru_bytes_per_token"] and r["backward_bytes_ratio"] > 1, r
        assert abs(r["rglru_forward_ms"] / r["sparc_forward_ms"] / r["forward_speedup"] - 1) < 1e-6, r
    if r["table"] in ("panel b", "panel c", "panel d"):
        assert r["projection"] in ("no", "yes") and r["sparc_bytes_per_token"] < r["rglru_bytes_per_token"], r
        both = r["sparc_forward_ms"] + r["sparc_backward_ms"], r["rglru_forward_ms"] + r["rglru_backward_ms"]
        assert abs(both[0] / both[1] / r["time_ratio"] - 1) < 1e-6 and r["memory_ratio"] < 1, r
    if r["table"].startswith("naive"):
        assert r["naive_ms"] > r["ms"] > 0 and abs(r["paper_speedup"] - 137.1) < .1, r' \
    <"$scratch/out" || fail "the tables are not as promised"
fi
for text in 'CPU shim' 'REDUCED' 'Panel (a)' 'Panel (d)' 'Agreement' 'equal'; do
  grep -qF -- "$text" "$scratch/page.html" || fail "the page does not have: $text"
done
if command -v xmllint >/dev/null; then xmllint --noout "$scratch/page.html" || fail "the page is not well-formed"; fi
