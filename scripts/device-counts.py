#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""device-counts.py BUILD [--check] [--out FOLDER]: bytes and issue slots per mode of every kernel of devices.

Bytes are those of the arrays that a plan passes to a kernel, each element once (src/bench/device/recorder.h). Issue slots are
instructions that warps execute, per mode and token, from the machine code: nvcc compiles the kernels, nvdisasm prints them,
sass.py runs them. Counts are differences between two lengths of a sequence: what happens once per launch is not in them. For
RG-LRU a mode is a pair of real coordinates, so that both cells have the same width.

Needs nvcc and nvdisasm (NVCC and NVDISASM name them); where one is missing, NVIDIA's packages for Python are put into
BUILD/nvidia once. Without nvdisasm it prints the instructions of the PTX text, each once, marked as such. --out writes counts.md
and counts.json; --check fails when a kernel has more slots than its row allows. --plant compiles without unrolling, which
--check must notice.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import sass

ARCHITECTURES = (80, 90, 120)
MAIN = 120  # whose figures the targets are
PAPER_H = 1024  # modes of width 2048

# kernel of the table: plan, its kernels, bytes BF16 and FP32 and slots of the design, share of the tokens that
# it sees; matrix products are counted for one architecture only
Row = collections.namedtuple("Row", "title plan kernels bytes slots share products", defaults=(1, False))
ROWS = (
    Row("SPARC: scan, b given, forward", "scan-sparc", ("given_controls", "strip_forward"), (8.3, 16.3), 96),
    Row("SPARC: scan, b given, backward", "scan-sparc", ("strip_adjoint", "given_controls_adjoint"), None, None),
    Row("RG-LRU: scan, a and b given, forward", "scan-rglru", ("strip_forward",), (16, 24), 52),
    Row("RG-LRU: scan, a and b given, backward", "scan-rglru", ("strip_adjoint",), (32, 40), 90),
    Row("SPARC: controls", "sparc", ("controls",), (4, 8), 22),
    Row("SPARC: forward strip", "sparc", ("strip_forward",), (8.3, 16.3), 218),
    Row("SPARC: adjoint strip", "sparc", ("strip_adjoint",), (12.8, 24.8), 348),
    Row("SPARC: dx and controller gradient", "sparc", ("controls_adjoint", "input_gradient", "controller_gradient"),
        (12, 24), 30),
    Row("SPARC: summary of chunks", "sparc-chunks", ("strip_summary",), (4, 8), None, 0.5),
    Row("SPARC: adjoint summary of chunks", "sparc-chunks", ("strip_adjoint_summary",), (4, 8), 76, 0.5),
    Row("RTU, LRU: forward strip, content in float", "rtu", ("strip_forward",), (12.3, 16.3), 53),
    Row("RTU, LRU: adjoint strip, content in float", "rtu", ("strip_adjoint",), None, None),
    Row("RG-LRU: forward strip, gates given", "rglru", ("strip_forward",), (16, 32), 135),
    Row("RG-LRU: adjoint strip", "rglru", ("strip_adjoint",), (28, 56), 250),
    Row("RG-LRU: gates, forward (blocks of 256)", "rglru", ("open_gates",), (12, None), None, 1, True),
    Row("RG-LRU: gates, backward, and dx", "rglru", ("gates_adjoint", "gate_gradient", "input_copy"), (28, None), None,
        1, True),
)
SLACK = 5  # slots above the design that are accepted

# text of the kernels, architectures to compile it for, and whose rows
VARIANTS = (("bf16", ARCHITECTURES, None), ("fp32", (MAIN,), "sparc"), ("bf16-fast", (MAIN,), "sparc"))
EXACT = ["--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"]
FAST = ["--fmad=true", "--prec-div=false", "--prec-sqrt=false", "--ftz=true"]
FP32, MUFU, SFU = ("FFMA", "FMUL", "FADD"), ("MUFU",), ("MUFU", "FRND", "F2I", "I2F", "F2F")


def find_tool(name, wheels):
    candidates = [os.environ.get(name.upper()), shutil.which(name), f"/usr/local/cuda/bin/{name}", *wheels.glob(f"**/bin/{name}")]
    return next((c for c in candidates if c and os.access(c, os.X_OK)), None)


def find_tools(wheels):
    """nvcc and nvdisasm; None where there is neither a tool nor a package"""
    names = ("nvcc", "nvdisasm")
    if not all(find_tool(name, wheels) for name in names) and not wheels.exists():
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if subprocess.run([sys.executable, "-m", "venv", wheels], **quiet).returncode == 0:
            subprocess.run([wheels / "bin" / "pip", "install", *(f"nvidia-cuda-{name}" for name in names)], **quiet)
    return tuple(find_tool(name, wheels) for name in names)


# ---- compiling ------------------------------------------------------------------------------------------


class Code:
    """machine code of a text, compiled once and kept in the build folder"""

    def __init__(self, folder, compiler, disassembler, planted=False):
        self.folder, self.compiler, self.disassembler, self.seen = folder, compiler, disassembler, {}
        self.options = ["-DUNROLL=_Pragma(\"unroll 1\")"] if planted else []

    def compiled(self, text, architecture, kind, fast):
        options = [f"-arch=sm_{architecture}", f"-{kind}", "-w", "--std=c++17", *(FAST if fast else EXACT), *self.options]
        key = hashlib.sha256("\0".join([text.read_text(), *options]).encode()).hexdigest()[:24]
        path = self.folder / f"{key}.{kind}"
        if not path.exists():
            partial = path.with_suffix(".partial")
            subprocess.run([self.compiler, *options, "-o", partial, text], check=True)
            partial.rename(path)
        return path

    def kernels(self, text, architecture, fast):
        path = self.compiled(text, architecture, "cubin", fast)
        if path not in self.seen:
            listing = subprocess.run([self.disassembler, "-c", path], check=True, capture_output=True, text=True).stdout
            self.seen[path] = sass.read_kernels(listing)
        return self.seen[path]

    def ptx(self, text, architecture, fast):
        """instructions of every kernel, each once"""
        counts, name = collections.Counter(), None
        for line in self.compiled(text, architecture, "ptx", fast).read_text().splitlines():
            entry = re.match(r"\.(?:visible )?\.?entry (\w+)", line.replace(".visible ", ""))
            name = entry.group(1) if entry else name
            if name and re.match(r"\s+(@!?%p\d+ )?[a-z]+[\w.]*\s.*;", line) and not line.strip().startswith("."):
                counts[name] += 1
        return counts


# ---- counting -------------------------------------------------------------------------------------------


def marginal(launches, value):
    """per token, from the two lengths"""
    totals = collections.Counter()
    for launch in launches:
        totals[launch["tokens"]] += value(launch)
    (short, low), (long, high) = sorted(totals.items())
    return (high - low) / (long - short)


def issued(code, text, launch, architecture, fast):
    """counts by opcode of the first group; kept beside the machine code, as the same code gives the same counts"""
    path = code.compiled(text, architecture, "cubin", fast)
    key = json.dumps([launch["kernel"], launch["arguments"]])
    kept = path.with_suffix(".counts")
    counts = json.loads(kept.read_text()) if kept.exists() else {}
    if key not in counts:
        kernel = code.kernels(text, architecture, fast)[launch["kernel"]]
        counts[key] = sass.Group(kernel, architecture, launch["arguments"]).run()
        kept.write_text(json.dumps(counts))
    return collections.Counter(counts[key])


def count_row(row, variant, launches, folder, code, architectures, whose):
    plan = f"{row.plan}-{variant}"
    mine = [l for l in launches if l["plan"] == plan and l["kernel"] in row.kernels]
    modes = PAPER_H * row.share
    result = {"loaded": marginal(mine, lambda l: l["loaded"]) / PAPER_H,
              "stored": marginal(mine, lambda l: l["stored"]) / PAPER_H}
    text, fast = folder / f"{plan}.cu", variant.endswith("fast")
    if whose not in (None, row.plan):
        architectures = ()
    for architecture in architectures if not row.products else architectures[-1:]:
        if code.disassembler:
            runs = {id(l): issued(code, text, l, architecture, fast) for l in mine}
            per_mode = lambda names: marginal(mine, lambda l: 32 * l["groups"] * sum(
                runs[id(l)][n] for n in names or runs[id(l)])) / modes
            result[f"sm_{architecture}"] = {"slots": per_mode(None), "fp32": per_mode(FP32), "mufu": per_mode(MUFU),
                                            "sfu": per_mode(SFU)}
        elif code.compiler:
            counts = code.ptx(text, architecture, fast)
            result[f"sm_{architecture}"] = {"ptx": sum(counts[k] for k in row.kernels)}
    return result


def count_all(build, code, folder, quick, titles):
    output = subprocess.run([build / "tests" / "device_counts", folder], check=True, capture_output=True, text=True)
    launches = [json.loads(line) for line in output.stdout.splitlines()]
    return [{"title": row.title, "design_slots": row.slots, "design_bytes": row.bytes,
             **{variant: count_row(row, variant, launches, folder, code, architectures[-1:] if quick else architectures,
                                   "none" if quick and variant != "bf16" else whose)
                for variant, architectures, whose in VARIANTS}} for row in ROWS if titles in row.title]


# ---- output ---------------------------------------------------------------------------------------------


def figure(value, digits=0):
    return "" if value is None else f"{value:.{digits}f}"


def bytes_of(count):
    return count["loaded"] + count["stored"]


def table(counts, method):
    main = f"sm_{MAIN}"
    yield "| kernel | bytes BF16 (FP32) | design | slots sm_80 | sm_90 | sm_120 | design | above | FP32 io | `fast` | fp32 | MUFU |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for row in counts:
        bf16, fp32 = row["bf16"], row["fp32"]
        design = row["design_bytes"] or (None, None)
        slots = [bf16.get(f"sm_{a}", {}).get(method) for a in ARCHITECTURES]
        above = slots[-1] - row["design_slots"] if row["design_slots"] and slots[-1] and method == "slots" else None
        yield "| " + " | ".join([
            row["title"], f"{bytes_of(bf16):.1f} ({bytes_of(fp32):.1f})",
            figure(design[0], 1) + (f" ({design[1]:.1f})" if design[1] else ""), *[figure(s) for s in slots],
            figure(row["design_slots"]), "" if above is None else f"{above:+.0f}",
            figure(fp32.get(main, {}).get(method)), figure(row["bf16-fast"].get(main, {}).get(method)),
            figure(bf16.get(main, {}).get("fp32")), figure(bf16.get(main, {}).get("mufu"))]) + " |"


def page(counts, code):
    method = "slots" if code.disassembler else "ptx"
    what = {"slots": "Issue slots: instructions that warps execute, from the machine code (SASS).",
            "ptx": "No nvdisasm: the columns of slots are instructions of the PTX text, each once, not slots."}[method]
    yield "<!-- made by scripts/device-counts.py --out: do not edit -->"
    yield ""
    yield (f"Per mode and token (RG-LRU: per pair of coordinates), width 2048, BF16 inputs and outputs, exact arithmetic. {what}")
    yield "FP32 io and `fast` are slots on sm_120 with float inputs and outputs, and with the hardware's approximations."
    yield ""
    yield from table(counts, method)


def too_many(counts):
    for row in counts:
        slots = row["bf16"].get(f"sm_{MAIN}", {}).get("slots")
        if row["design_slots"] and slots and slots > row["design_slots"] + SLACK:
            yield f"{row['title']}: {slots:.1f} slots, at most {row['design_slots'] + SLACK} are accepted"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help=f"BF16 and sm_{MAIN} alone")
    parser.add_argument("--plant", action="store_true", help="compile without unrolling: --check must fail")
    parser.add_argument("--rows", default="", help="only rows whose title has this text")
    arguments = parser.parse_args()
    folder = arguments.build / "device-counts"
    folder.mkdir(exist_ok=True)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
    code = Code(folder, *find_tools(arguments.build / "nvidia"), planted=arguments.plant)
    if not code.compiler:
        print("device-counts.py: no nvcc: bytes only", file=sys.stderr)
    counts = count_all(arguments.build, code, folder, arguments.quick, arguments.rows)
    text = "\n".join(page(counts, code)) + "\n"
    print(text, end="")
    if arguments.out:
        (arguments.out / "counts.md").write_text(text)
        (arguments.out / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")
    failures = list(too_many(counts))
    for failure in failures:
        print(f"above: {failure}", file=sys.stderr)
    return 1 if arguments.check and failures else 0


if __name__ == "__main__":
    sys.exit(main())
