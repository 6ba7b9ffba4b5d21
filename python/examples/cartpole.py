# SPDX-License-Identifier: MIT
"""Trains an agent on CartPole-v1 without velocities: it sees where cart and pole are, and must remember how they move.

    python cartpole.py --log cartpole.csv --out agent.safetensors
"""
import argparse
import csv

import gymnasium
import numpy as np

import sparc


SOLVED = 475  # mean return that CartPole-v1 asks for


class Positions(gymnasium.ObservationWrapper):
    """Hides the velocities of cart and pole."""

    def __init__(self, env):
        super().__init__(env)
        space = env.observation_space
        self.observation_space = gymnasium.spaces.Box(space.low[::2], space.high[::2], dtype=space.dtype)

    def observation(self, observation):
        return observation[::2]


def make():
    return Positions(gymnasium.make("CartPole-v1"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cell", default="sparc")
    parser.add_argument("--steps", type=int, default=1_500_000, help="train for so many steps at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--log", help="write the learning curve here")
    parser.add_argument("--out", help="write the agent here")
    arguments = parser.parse_args()

    ppo = sparc.PPO(make, cell=arguments.cell, streams=8, learning_rate=arguments.learning_rate, seed=arguments.seed,
                    threads=arguments.threads)

    def show(ppo, report):
        """Shows progress, and stops once the last rollouts and then 100 episodes of the greedy agent are good enough."""
        if report["rollout"] % 10 == 0:
            print(f"{report['steps']:8d} steps   mean return {report['mean_return']:6.1f}", flush=True)
        last = [row["mean_return"] for row in ppo.history[-5:]]
        return not (np.mean(last) >= SOLVED and np.mean(ppo.evaluate(episodes=100, seed=2000)) >= SOLVED)

    try:
        ppo.train(arguments.steps, show)
    finally:
        if arguments.log:
            with open(arguments.log, "w", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["steps", "mean_return"])
                rows.writerows((row["steps"], f"{row['mean_return']:.6g}") for row in ppo.history)
        if arguments.out:
            ppo.save(arguments.out)
    returns = ppo.evaluate(episodes=100, seed=1000)
    print(f"100 episodes: mean return {np.mean(returns):.1f}, least {np.min(returns):.0f}")


if __name__ == "__main__":
    main()
