#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the SPARC mixer without content projection, forward and backward, in eager PyTorch beside `sparc bench`.

One line of JSON per goal, with the keys of `sparc bench goals --json`. Both sides have one thread, take turns, and
count by their shortest pass. The rival forms the coefficients of all tokens at once and walks only the recurrence
step by step; automatic differentiation does the rest. Before anything is timed its outputs and gradients are
compared, in double, with a golden vector, and the tool checks the same file. Neither the build nor a test needs this.

Exit status: 0 every demand reached, 1 one missed or a wrong answer, 77 PyTorch is not installed.
"""

import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import time
import warnings

# numpy may be missing, and is not needed
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
try:
    import torch
except ImportError as error:
    print(f"torch-rival.py: PyTorch is not here ({error}); install it with: pip install torch", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
KAPPA_R, KAPPA_P = math.log(16), math.pi / 2
MODAL = ("log_decay", "log_freq", "log_gain", "gate_phase", "gate_retention")
CONTROLS = ("ctrl_retention", "ctrl_phase")
# B, T, D, demand, stretch
GOALS = ((4, 256, 512, 10, 14), (4, 256, 128, 15, 20))


def mixer(p, x, content, mask=None, state=None):
    """x (B, T, D) steers, content (B, T, 2 H) is written; returns the states as (B, T, 2 H), re | im."""
    r, q = (torch.tanh(x @ p[name][:-1] + p[name][-1]).unsqueeze(-1) for name in CONTROLS)
    nu = torch.exp(p["log_decay"])
    decay = nu * torch.exp(KAPPA_R * r)
    clock = -torch.expm1(-decay)
    angle = torch.exp(p["log_freq"]) + clock * (KAPPA_P * q)
    transition = torch.polar(torch.exp(-decay), angle)
    norm = torch.sqrt(torch.expm1(-2 * decay) / torch.expm1(-2 * nu))
    gate = 2 * torch.sigmoid(p["gate_phase"] * q + p["gate_retention"] * r)
    write = torch.complex(*torch.tanh(content).chunk(2, -1)) * (torch.exp(p["log_gain"]) * norm * gate)
    if mask is not None:
        transition = transition * mask.unsqueeze(-1)

    h = torch.zeros_like(write[:, 0]) if state is None else torch.complex(*state.chunk(2, -1))
    states = []
    for kept, new in zip(transition.unbind(1), write.unbind(1)):
        h = torch.addcmul(new, kept, h)
        states.append(h)
    h = torch.stack(states, 1)
    return torch.cat((h.real, h.imag), -1)


# ---- truth ----------------------------------------------------------------------------------------


def read_vector(path):
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        piece = bytearray(data[8 + size + begin : 8 + size + end])
        tensors[name] = torch.frombuffer(piece, dtype=torch.float64).reshape(entry["shape"])
    return tensors


def verify(tool, path):
    """The rival and the tool both give the answers of a golden vector; returns the largest E_norm of the rival."""
    v = read_vector(path)
    inputs = {name: v[name].requires_grad_() for name in v if name.startswith("param.") or name in ("x", "state0")}
    p = {name.removeprefix("param."): value for name, value in inputs.items()}
    content = v["x"] @ torch.cat((p["content_re"], p["content_im"])).T
    out = mixer(p, v["x"], content, v["mask"], v["state0"])
    out.backward(v["cot"])
    pairs = {"out": (out, v["out"])} | {"grad." + name: (i.grad, v["grad." + name]) for name, i in inputs.items()}
    worst = 0.0
    for name, (got, want) in pairs.items():
        error = ((got - want).abs().max() / max(1.0, want.abs().max().item())).item()
        if not error <= 1e-11:
            sys.exit(f"torch-rival.py: {path.name}: {name} is off by E_norm {error:.1e}: another function is timed")
        worst = max(worst, error)
    subprocess.run([tool, "check", "--quiet", path], check=True, stdout=subprocess.DEVNULL)
    return worst


# ---- time -----------------------------------------------------------------------------------------


def problem_of(B, T, D):
    return f"mixer:B{B}:T{T}:D{D}:noproj"


def tool_seconds(tool, problem):
    """one call for everything, as a user would make it"""
    run = subprocess.run([tool, "bench", "--json", problem, "-T", "1"], check=True, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return next(row["seconds"] for row in rows if row["stage"] == "one call")


def rival_pass(B, T, D):
    """a function that runs forward and backward once and returns the seconds"""
    H = D // 2
    torch.manual_seed(1)
    square = torch.empty(H).uniform_(0.9**2, 0.999**2)
    p = {"log_decay": torch.log(-0.5 * torch.log(square)), "log_freq": torch.log(torch.rand(H) * 6.28 + 1e-3)}
    p |= {"log_gain": torch.zeros(H), "gate_phase": 0.3 * torch.randn(H), "gate_retention": 0.3 * torch.randn(H)}
    p |= {name: torch.randn(D + 1) / math.sqrt(D) for name in CONTROLS}
    x, cotangent = torch.randn(B, T, D).requires_grad_(), torch.randn(B, T, 2 * H)
    inputs = [x] + [p[name].requires_grad_() for name in MODAL + CONTROLS]

    def run():
        for i in inputs:
            i.grad = None
        start = time.perf_counter()
        mixer(p, x, x).backward(cotangent)
        return time.perf_counter() - start

    return run


def measure(tool, shape, rounds, seconds):
    run, problem = rival_pass(*shape), problem_of(*shape)
    run()
    ours, rivals = [tool_seconds(tool, problem)], []
    for _ in range(rounds):
        end = time.perf_counter() + seconds
        while not rivals or time.perf_counter() < end:
            rivals.append(run())
        ours.append(tool_seconds(tool, problem))
    return min(rivals), min(ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", nargs="?", default=ROOT / "build" / "sparc", help="default: build/sparc")
    parser.add_argument("--rounds", type=int, default=3, help="turns of PyTorch between those of the tool")
    parser.add_argument("--seconds", type=float, default=2, help="of each turn of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    error = verify(options.tool, ROOT / "tests" / "vectors" / "sparc-paper.safetensors")
    missed = False
    for B, T, D, demand, stretch in GOALS:
        rival, ours = measure(options.tool, (B, T, D), options.rounds, options.seconds)
        value = rival / ours
        verdict = "stretch" if value >= stretch else "demand" if value >= demand else "MISSED"
        missed |= value < demand
        row = {"goal": f"eager PyTorch / mixer f+b without projection, ({B},{T},{D}), 1 thread", "value": value}
        row |= {"demand": demand, "stretch": stretch, "verdict": verdict, "at_most": False, "unit": "ratio"}
        row |= {"problems": [problem_of(B, T, D)], "quick": False, "rival_seconds": rival, "seconds": ours}
        row |= {"torch": torch.__version__, "rival_e_norm": error}
        print(json.dumps(row, separators=(",", ":")), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
