# SPDX-License-Identifier: MIT
"""A program that mypy --strict accepts: the types of the package. It is not run."""
from pathlib import Path

import numpy as np

import sparc
from sparc import PPO, Agent, Cell, Dataset, Environments, Learner, Model, Network, Run, Streams


def train(folder: Path) -> float:
    x = np.zeros((10, 5, 1), np.float32)
    data: Dataset = Dataset.from_arrays(x, [0, 1] * 5)
    run: Run = Run(data, folder=folder, updates=3)
    run.execute(lambda event: event["stage"] != "failed")
    model: Model = run.model()
    y: np.ndarray = model.predict(x)
    return float(y.sum())


def cells() -> list[str]:
    cell: Cell = Cell("sparc", 3, 8)
    params = cell.init(seed=1)
    run = cell.forward(params, np.zeros((1, 2, 3)))
    gradient = run.backward(np.ones_like(run.y))
    norm: float = float(np.abs(gradient.params).sum())
    streams: Streams = Streams(cell, params, n=2, sensitivities=True)
    streams.step(np.zeros((2, 3)))
    size: int = cell.sizes.params
    print(norm, size, cell.blocks[0].name.upper())
    return sparc.kinds()


def agents(path: str) -> float:
    ppo: PPO = PPO("repeat-previous", cell="sparc")
    ppo.train(64, lambda trainer, report: report["rollout"] < 3)
    ppo.save(path)
    agent: Agent = Agent(path)
    action, state = agent.predict(np.zeros(agent.shape.observation))
    envs: Environments = Environments("repeat-previous", n=2)
    step = envs.step(np.zeros(2))
    learner: Learner = Learner(inputs=1, objective="forecast")
    learner.step(0.5)
    network: Network = Network(inputs=1, outputs=2)
    print(network.sizes.params, step.rewards.sum(), state.shape, action, learner.report.steps)
    return float(ppo.evaluate(3).mean())


version: str = sparc.__version__
