#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench-torch.py: forward and backward of a SPARC layer, against the same layer written in PyTorch, eager and compiled.

    scripts/bench-torch.py --batch 32 --steps 784 --width 64

Needs torch, the package and a C++ compiler. The layer of PyTorch computes controls, content and coefficients of all steps
by whole-array operations and loops over time for the recurrence alone. Compiled are its array part and chunks of the loop:
unrolled over all steps, the graph takes longer to compile than anything here takes to run. Every row has the
distance of outputs and gradients from the library's."""
import argparse
import statistics
import time

import torch

from sparc.torch import Layer


def coefficients(p, x, kappa_r: float, kappa_p: float):
    """lambda and b of all steps [B, T, H], complex numbers as pairs."""
    r, q = (torch.tanh(x @ p[name][:-1] + p[name][-1]).unsqueeze(-1) for name in ("ctrl_retention", "ctrl_phase"))
    nu, theta = torch.exp(p["log_decay"]), torch.exp(p["log_freq"])
    e = nu * torch.exp(kappa_r * r)
    rho, clock = torch.exp(-e), -torch.expm1(-e)
    angle = theta + clock * kappa_p * q
    norm = torch.sqrt(torch.expm1(-2 * e) / torch.expm1(-2 * nu))
    gate = torch.sigmoid(p["gate_phase"] * q + p["gate_retention"] * r)
    scale = torch.exp(p["log_gain"]) * norm * 2 * gate
    return (rho * torch.cos(angle), rho * torch.sin(angle), scale * torch.tanh(x @ p["content_re"].T),
            scale * torch.tanh(x @ p["content_im"].T))


def recurrence(h_re, h_im, a_re, a_im, b_re, b_im):
    """h_t = lambda_t h_{t-1} + b_t, one step after the other."""
    out = []
    for t in range(a_re.shape[1]):
        h_re, h_im = (a_re[:, t] * h_re - a_im[:, t] * h_im + b_re[:, t],
                      a_re[:, t] * h_im + a_im[:, t] * h_re + b_im[:, t])
        out.append(torch.cat([h_re, h_im], -1))
    return torch.stack(out, 1), h_re, h_im


def in_torch(layer, chunk, wrap):
    """The layer as a function of x; wrap is what makes functions of its two parts."""
    options = dict(pair.split("=") for pair in layer.options.split(","))
    kappa = float(options["kappa_r"]), float(options["kappa_p"])
    first, second = wrap(coefficients), wrap(recurrence)

    def run(x):
        parts = first(dict(layer.named_parameters()), x, *kappa)
        h_re = h_im = x.new_zeros(x.shape[0], layer.modes)
        ys = []
        for t in range(0, x.shape[1], chunk):
            y, h_re, h_im = second(h_re, h_im, *(part[:, t:t + chunk] for part in parts))
            ys.append(y)
        return torch.cat(ys, 1)

    return run


def measure(function, layer, x, dy, repeats):
    """Median seconds of forward and backward, outputs and gradients."""
    seconds = []
    for _ in range(repeats + 1):  # the first one warms up
        layer.zero_grad()
        x.grad = None
        start = time.perf_counter()
        y = function(x)
        y.backward(dy)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:]), y.detach(), torch.cat([p.grad.reshape(-1) for p in layer.parameters()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("batch", 32), ("steps", 784), ("width", 64), ("modes", 64), ("repeats", 5), ("threads", 1),
                        ("chunk", 28)):
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    layer = Layer("sparc", a.width, a.modes, threads=a.threads)
    x = torch.randn(a.batch, a.steps, a.width, requires_grad=True)
    dy = torch.randn(a.batch, a.steps, layer.outputs)
    print(f"B {a.batch}, T {a.steps}, D {a.width}, H {a.modes}, {a.threads} threads, torch {torch.__version__}, kernels "
          f"{layer.cell.kernel}")
    own, y, gradient = measure(lambda x: layer(x)[0], layer, x, dy, a.repeats)
    print(f"{'sparc':14s} {1e3 * own:9.2f} ms", flush=True)
    for name, chunk, wrap in (("torch eager", a.steps, lambda f: f),
                              ("torch.compile", a.chunk, lambda f: torch.compile(f, dynamic=False))):
        seconds, other, dother = measure(in_torch(layer, chunk, wrap), layer, x, dy, a.repeats)
        print(f"{name:14s} {1e3 * seconds:9.2f} ms   {seconds / own:6.1f} times   outputs differ by "
              f"{(other - y).abs().max():.1e}, gradients by {(dother - gradient).abs().max() / gradient.abs().max():.1e} of the "
              "greatest", flush=True)


if __name__ == "__main__":
    main()
