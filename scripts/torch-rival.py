#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times cells forward and backward in PyTorch beside `sparc bench`: SPARC's mixer, eagerly, and nn.GRU.

One line of JSON per goal, with the keys of `sparc bench goals --json`. Both sides have one thread, take turns, and
count by their shortest pass. The rival of the mixer (without content projection) forms the coefficients of all tokens
at once and walks only the recurrence step by step; automatic differentiation does the rest. Before anything is timed
its outputs and gradients are compared, in double, with a golden vector, and the tool checks the same file. Where
onnxruntime and onnx are installed, its GRU is the rival of ours: one step in a call each, many steps in a call each, and
a step of its many, which share one product with the inputs, against one step of ours. Neither the build nor a test needs
this.

Exit status: 0 every demand reached, 1 one missed or a wrong result, 77 PyTorch is not installed.
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
MIXERS = ((4, 256, 512, 10, 14), (4, 256, 128, 15, 20))
# B, T, width, demand
GRU = (16, 256, 512, 1.5)
# steps in one call, width, demand
GRU_STEP = (1000, 128, 1.5)


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


# ---- reference ------------------------------------------------------------------------------------


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
    """The rival and the tool both reproduce a golden vector; returns the largest E_norm of the rival."""
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


def tool_seconds(tool, problem, stage):
    run = subprocess.run([tool, "bench", "--json", problem, "-T", "1"], check=True, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return next(row["seconds"] for row in rows if row["stage"] == stage)


def timed(run, inputs=()):
    """a function that runs once and returns the seconds"""

    def once():
        for i in inputs:
            i.grad = None
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return once


def mixer_pass(B, T, D):
    H = D // 2
    torch.manual_seed(1)
    square = torch.empty(H).uniform_(0.9**2, 0.999**2)
    p = {"log_decay": torch.log(-0.5 * torch.log(square)), "log_freq": torch.log(torch.rand(H) * 6.28 + 1e-3)}
    p |= {"log_gain": torch.zeros(H), "gate_phase": 0.3 * torch.randn(H), "gate_retention": 0.3 * torch.randn(H)}
    p |= {name: torch.randn(D + 1) / math.sqrt(D) for name in CONTROLS}
    x, cotangent = torch.randn(B, T, D).requires_grad_(), torch.randn(B, T, 2 * H)
    inputs = [x] + [p[name].requires_grad_() for name in MODAL + CONTROLS]
    return timed(lambda: mixer(p, x, x).backward(cotangent), inputs)


def gru_pass(B, T, width):
    torch.manual_seed(1)
    gru = torch.nn.GRU(width, width, batch_first=True)
    x, cotangent = torch.randn(B, T, width).requires_grad_(), torch.randn(B, T, width)
    return timed(lambda: gru(x)[0].backward(cotangent), [x, *gru.parameters()])


def gru_step_pass(steps, width):
    """onnxruntime's GRU over a sequence of one stream; None where it is not installed"""
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError:
        return None
    draw = numpy.random.default_rng(1)
    shapes = {"W": (1, 3 * width, width), "R": (1, 3 * width, width), "B": (1, 6 * width)}
    weights = [onnx.numpy_helper.from_array((0.1 * draw.standard_normal(shape)).astype("f"), name)
               for name, shape in shapes.items()]
    node = onnx.helper.make_node("GRU", ["X", "W", "R", "B"], ["Y"], hidden_size=width, linear_before_reset=1)
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "gru", [tensor("X", onnx.TensorProto.FLOAT, (steps, 1, width))],
                                   [tensor("Y", onnx.TensorProto.FLOAT, (steps, 1, 1, width))], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    x = {"X": draw.standard_normal((steps, 1, width)).astype("f")}
    once = timed(lambda: session.run(None, x))
    return lambda: once() / steps


def measure(options, run, problem, stage):
    run()
    ours, rivals = [tool_seconds(options.tool, problem, stage)], []
    for _ in range(options.rounds):
        end = time.perf_counter() + options.seconds
        while not rivals or time.perf_counter() < end:
            rivals.append(run())
        ours.append(tool_seconds(options.tool, problem, stage))
    return min(rivals), min(ours)


def compare(options, goal, run, problem, stage, demand, stretch=None, parts=1, **further):
    """measures and prints one goal; true: its demand, if it has one, is reached. The rival's seconds are those of one of
    the `parts` of ours."""
    rival, ours = measure(options, run, problem, stage)
    ours /= parts
    value = rival / ours
    verdict = "stretch" if stretch and value >= stretch else "demand"
    if demand is None:
        verdict = "information"
    elif value < demand:
        verdict = "MISSED"
    row = {"goal": goal, "value": value, "demand": demand, "stretch": stretch, "verdict": verdict, "at_most": False}
    row |= {"unit": "ratio", "problems": [problem], "quick": False, "rival_seconds": rival, "seconds": ours} | further
    print(json.dumps(row, separators=(",", ":")), flush=True)
    return demand is None or value >= demand


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", nargs="?", default=ROOT / "build" / "sparc", help="default: build/sparc")
    parser.add_argument("--rounds", type=int, default=3, help="turns of PyTorch between those of the tool")
    parser.add_argument("--seconds", type=float, default=2, help="of each turn of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    error = verify(options.tool, ROOT / "tests" / "vectors" / "sparc-paper.safetensors")
    versions = {"torch": torch.__version__}
    good = True
    for B, T, D, demand, stretch in MIXERS:
        goal = f"eager PyTorch / mixer f+b without projection, ({B},{T},{D}), 1 thread"
        problem = f"mixer:B{B}:T{T}:D{D}:noproj"
        # one call for everything, as a user would make it
        good &= compare(options, goal, mixer_pass(B, T, D), problem, "one call", demand, stretch, rival_e_norm=error,
                      **versions)
    B, T, width, demand = GRU
    good &= compare(options, f"PyTorch nn.GRU / GRU f+b, ({B},{T},{width}), 1 thread", gru_pass(B, T, width),
                  f"mixer:B{B}:T{T}:D{width}:H{width}:cell=gru", "forward+backward", demand, **versions)
    steps, width, demand = GRU_STEP
    one, many = gru_step_pass(1, width), gru_step_pass(steps, width)
    if one and many:
        step, sequence = f"step:H{width}:D{width}:cell=gru", f"mixer:B1:T{steps}:D{width}:H{width}:cell=gru"
        good &= compare(options, f"onnxruntime GRU, one step / GRU step, {width} x {width}", one, step, "step", demand)
        good &= compare(options, f"onnxruntime GRU, a step of {steps} in one call / GRU step, {width} x {width}", many, step,
                      "step", demand)
        good &= compare(options, f"onnxruntime GRU / GRU, {steps} steps in one call, {width} x {width}", many, sequence,
                      "forward", None, parts=steps)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
