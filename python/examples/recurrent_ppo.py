# SPDX-License-Identifier: MIT
"""Trains the RecurrentPPO of sb3-contrib, and this library's agent, on an environment of this library.

    python recurrent_ppo.py --env sparc/Cartpole-v0 --steps 60000 --log recurrent-ppo.csv
"""
import argparse
import csv

import numpy as np
import torch
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

import sparc
import sparc.gymnasium  # registers the environments


class Curve(BaseCallback):
    """Mean return of the episodes that ended in each rollout."""

    def __init__(self):
        super().__init__()
        self.rows, self._returns = [], []

    def _on_step(self):
        self._returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        return True

    def _on_rollout_end(self):
        if self._returns:
            self.rows.append(("RecurrentPPO", self.num_timesteps, np.mean(self._returns)))
            print(f"{self.num_timesteps:8d} steps   mean return {self.rows[-1][2]:.3f}", flush=True)
        self._returns = []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sparc/Cartpole-v0")
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", help="write both learning curves here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    ppo = sparc.PPO(arguments.env, streams=8, learning_rate=3e-4, seed=arguments.seed, threads=1).train(arguments.steps)
    rows = [("sparc", row["steps"], row["mean_return"]) for row in ppo.history if row["episodes"]]
    print(f"sparc: mean return {np.mean([row[2] for row in rows[-5:]]):.3f} in the last rollouts", flush=True)

    curve = Curve()
    model = RecurrentPPO("MlpLstmPolicy", make_vec_env(arguments.env, n_envs=8, seed=arguments.seed), n_steps=256,
                         batch_size=256, n_epochs=4, seed=arguments.seed, device="cpu",
                         policy_kwargs={"lstm_hidden_size": 64})
    model.learn(arguments.steps, callback=curve)
    rows += curve.rows
    if arguments.log:
        with open(arguments.log, "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["agent", "steps", "mean_return"])
            table.writerows((name, steps, f"{value:.6g}") for name, steps, value in rows)


if __name__ == "__main__":
    main()
