# SPDX-License-Identifier: MIT
"""Forecasts a stream while it runs: every value is learned from as it comes.

    python forecast_stream.py < values.txt

Without a pipe it makes its own stream, whose period changes half-way.
"""
import argparse
import sys

import numpy as np

import sparc


def changing(steps):
    """A wave with noise, slower in its second half."""
    rng, phase = np.random.default_rng(1), 0.0
    for t in range(steps):
        phase += 0.5 if t < steps // 2 else 0.3
        yield np.sin(phase) + 0.05 * rng.standard_normal()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--horizon", type=int, default=3)
    arguments = parser.parse_args()
    piped = sys.stdin is not None and not sys.stdin.isatty()
    values = [float(line) for line in sys.stdin if line.strip()] if piped else []
    learner = sparc.Learner(inputs=1, objective="forecast", horizon=arguments.horizon)
    error = baseline = scored = 0
    for value in values or changing(arguments.steps):
        learner.step(value)
        report = learner.report
        if report.scored:
            error, baseline, scored = error + report.loss, baseline + report.baseline, scored + 1
    low, high = learner.interval
    print(f"{scored} forecasts {arguments.horizon} steps ahead: mean squared error {error / scored:.4f}, of persistence "
          f"{baseline / scored:.4f}; the next lies between {low[0]:.3f} and {high[0]:.3f}")


if __name__ == "__main__":
    main()
