# SPDX-License-Identifier: MIT
"""Recurrent networks with adaptive spectra: libsparc for NumPy, PyTorch, scikit-learn, river and Gymnasium.

    cell = sparc.Cell("sparc", inputs=3, modes=16)
    params = cell.init(seed=1)
    run = cell.forward(params, x)              # x[B, T, 3]
    gradient = run.backward(dy)                # gradient.params, gradient.x, gradient.state0

    model = sparc.Model("runs/FordA-sparc-s1/best.safetensors")
    probabilities = model.predict(x)

    learner = sparc.Learner(inputs=1, objective="forecast")
    for x in stream: forecast = learner.step(x)

    run = sparc.Run("FordA", folder="runs/mine", cell="rtu").execute()
    ppo = sparc.PPO("repeat-previous", cell="sparc").train(100_000)

sparc.torch provides cells and networks as PyTorch modules, sparc.sklearn estimators, sparc.river online models, and
sparc.gymnasium environments. `python -m sparc` is the command-line tool.
"""
from ._library import Error, library, library_path
from .agents import PPO, Agent
from .cells import Cell, Streams, kinds
from .data import Dataset, load_split
from .environments import Environments, environment_names
from .learners import Learner
from .models import Model
from .networks import Network
from .runs import Run, frame, grid

__all__ = ["Agent", "Cell", "Dataset", "Environments", "Error", "Learner", "Model", "Network", "PPO", "Run", "Streams",
           "__version__", "environment_names", "frame", "grid", "kinds", "library_path", "load_split", "version"]


def version() -> str:
    """The version of the library."""
    return library.sparc_version().decode()


__version__ = version()
