#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""device-bounds.py [--out FOLDER]: how fast three GPUs could run the kernels at best, beside the paper's times.

Arithmetic, no measurement: docs/gpu/counts.json (scripts/device-counts.py) has the bytes and issue slots of every kernel,
DEVICES data sheets. A kernel takes at least the larger of its bytes over the bandwidth and its slots over the issue
rate; kernels follow each other; launches, caches and latency are not in it. --out writes bounds.md.
"""
import argparse
import json
import pathlib
import sys

# name, architecture of the counts, bytes per second, multiprocessors, Hz; a multiprocessor issues 4 x 32 lanes per clock
DEVICES = (("A100 80 GB", "sm_80", 2039e9, 108, 1.41e9), ("H100 SXM", "sm_90", 3350e9, 132, 1.98e9),
           ("RTX PRO 6000 Server", "sm_120", 1597e9, 188, 2.49e9))
LANES = 128

# B, T, width, the paper's milliseconds forward + backward and backward, on its RTX PRO 6000
PAPER = ((4, 2048, 2048, 2.617, 1.225), (2, 4096, 2048, 2.510, 1.289), (1, 8192, 2048, 1.690, 0.911),
         (4, 2048, 2560, 1.824, 1.081), (2, 4096, 2560, 1.846, 1.105), (1, 8192, 2560, 1.847, 1.091),
         (1, 2048, 2048, 1.900, 0.853), (2, 2048, 2048, 2.026, 0.942), (4, 2048, 2048, 1.541, 0.890),
         (8, 2048, 2048, 2.548, 1.710), (16, 2048, 2048, 4.570, 3.044), (32, 2048, 2048, 8.542, 5.614))
PAPER_SPEEDUP = (3.1, 4.7)  # of SPARC's scan over RG-LRU's

SCAN_FORWARD = (("SPARC: scan, b given, forward",), ("RG-LRU: scan, a and b given, forward",))
SCAN_BACKWARD = (("SPARC: scan, b given, backward",), ("RG-LRU: scan, a and b given, backward",))
MIXER_FORWARD = (("SPARC: controls", "SPARC: forward strip"), ("RG-LRU: forward strip, gates given",))
MIXER_BACKWARD = (("SPARC: adjoint strip", "SPARC: dx and controller gradient"), ("RG-LRU: adjoint strip",))
STAGES = (("scan forward", SCAN_FORWARD), ("scan backward", SCAN_BACKWARD),
          ("mixer forward, no projection", MIXER_FORWARD), ("mixer backward", MIXER_BACKWARD))


class Counts:
    def __init__(self, rows):
        self.rows = {row["title"]: row for row in rows}

    def bytes(self, titles, variant="bf16"):
        return sum(self.rows[t][variant]["loaded"] + self.rows[t][variant]["stored"] for t in titles)

    def slots(self, title, architecture):
        return self.rows[title]["bf16"][architecture]["slots"]

    def has(self, titles):
        """whether all kernels were counted for all devices"""
        return all(t in self.rows and all("slots" in self.rows[t]["bf16"].get(d[1], {}) for d in DEVICES) for t in titles)

    def seconds(self, titles, device):
        """of a mode: memory, issue, and the sum over kernels of the larger one"""
        _, architecture, bandwidth, units, clock = device
        pairs = [(self.bytes([t]) / bandwidth, self.slots(t, architecture) / (units * clock * LANES)) for t in titles]
        return sum(p[0] for p in pairs), sum(p[1] for p in pairs), sum(max(p) for p in pairs)


def stage_table(counts):
    yield "| stage, us per 10^6 modes: memory / issue | " + " | ".join(d[0] for d in DEVICES) + " |"
    yield "|---|" + "---|" * len(DEVICES)
    for name, cells in STAGES:
        for cell, titles in zip(("SPARC", "RG-LRU, without its gates" if "mixer" in name else "RG-LRU"), cells):
            if not counts.has(titles):
                yield f"| {name}, {cell} | " + " | ".join("not counted" for _ in DEVICES) + " |"
                continue
            limits = [counts.seconds(titles, d) for d in DEVICES]
            yield f"| {name}, {cell} | " + " | ".join(f"{1e12 * m:.1f} / {1e12 * i:.1f}" for m, i, _ in limits) + " |"


def ratio_table(counts):
    yield "| RG-LRU / SPARC at equal width | bytes BF16 | bytes FP32 | " + " | ".join(d[0] for d in DEVICES) + " |"
    yield "|---|---|---|" + "---|" * len(DEVICES)
    for name, (sparc, rglru) in STAGES[:2]:
        if not counts.has(sparc + rglru):
            yield f"| {name} | | | " + " | ".join("not counted" for _ in DEVICES) + " |"
            continue
        bounds = [counts.seconds(rglru, d)[2] / counts.seconds(sparc, d)[2] for d in DEVICES]
        yield (f"| {name} | {counts.bytes(rglru) / counts.bytes(sparc):.2f} | "
               f"{counts.bytes(rglru, 'fp32') / counts.bytes(sparc, 'fp32'):.2f} | " + " | ".join(f"{b:.2f}" for b in bounds) + " |")
    yield f"| the paper's measurement | | | | | {PAPER_SPEEDUP[0]} to {PAPER_SPEEDUP[1]} |"


def paper_table(counts):
    yield "| B, T, width | 10^6 modes | paper, ms: f+b (b) | " + " | ".join(f"{d[0]}: f+b (b)" for d in DEVICES) + " | paper / bound |"
    yield "|---|---|---|" + "---|" * len(DEVICES) + "---|"
    for B, T, width, both, backward in PAPER:
        modes = B * T * width / 2
        limits = [[1e3 * modes * counts.seconds(stage[0], d)[2] for stage in (MIXER_FORWARD, MIXER_BACKWARD)] for d in DEVICES]
        cells = [f"{f + b:.3f} ({b:.3f})" for f, b in limits]
        yield (f"| {B}, {T}, {width} | {modes / 1e6:.1f} | {both:.3f} ({backward:.3f}) | " + " | ".join(cells) +
               f" | {both / sum(limits[-1]):.1f} |")


def line_through(points):
    n = len(points)
    mean_x, mean_y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, y in points)
    return mean_y - slope * mean_x, slope


def slope_lines(counts):
    """the paper's batch sweep: bytes per coordinate at the data sheet's bandwidth"""
    sweep = [(B, both) for B, T, width, both, _ in PAPER[8:]]  # its smallest batches take another path
    constant, slope = line_through(sweep)
    coordinates = 2048 * 2048
    moved = slope * 1e-3 * DEVICES[2][2] / coordinates
    ours = (counts.bytes(MIXER_FORWARD[0]) + counts.bytes(MIXER_BACKWARD[0])) / 2
    yield (f"The paper's batch sweep (width 2048, T 2048) is {constant:.2f} ms + {slope:.3f} ms B from B = 4 on: {moved:.0f} bytes per real coordinate "
           f"at 1597 GB/s. The kernels here move {ours:.1f}; x, y, dy and dx once are 8.")


def page(counts):
    yield "<!-- made by scripts/device-bounds.py --out: do not edit -->"
    yield ""
    yield "Bounds, not measurements: bytes and slots of [counts.md](counts.md) over the rates of data sheets. BF16, one chunk."
    for lines in (stage_table, ratio_table, paper_table):
        yield ""
        yield from lines(counts)
    yield ""
    yield from slope_lines(counts)


def main():
    docs = pathlib.Path(__file__).resolve().parent.parent / "docs" / "gpu"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=pathlib.Path, default=docs / "counts.json")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    text = "\n".join(page(Counts(json.loads(arguments.counts.read_text())))) + "\n"
    print(text, end="")
    if arguments.out:
        (arguments.out / "bounds.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
