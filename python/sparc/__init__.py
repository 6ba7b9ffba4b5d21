# SPDX-License-Identifier: MIT
"""Recurrent cells with adaptive spectra: NumPy arrays in, NumPy arrays out, by libsparc.

    cell = sparc.Cell("sparc", inputs=3, modes=16)
    params = cell.init(seed=1)
    run = cell.forward(params, x)              # x[B, T, 3]
    gradient = run.backward(dy)                # gradient.params, gradient.x, gradient.state0

    model = sparc.Model("runs/FordA-sparc-s1/best.safetensors")
    probabilities = model.predict(x)

    learner = sparc.Learner(inputs=1, goal="forecast")
    for x in stream: forecast = learner.step(x)

sparc.torch has cells as layers of PyTorch.
"""
from ._library import Error, library, library_path
from .agents import PPO, Agent
from .cells import Cell, kinds
from .environments import Environments, environment_names
from .learners import Learner
from .models import Model
from .networks import Network

__all__ = ["Agent", "Cell", "Environments", "Error", "Learner", "Model", "Network", "PPO", "environment_names", "kinds", "library_path", "version", "__version__"]


def version():
    """The version of the library."""
    return library.sparc_version().decode()


__version__ = version()
