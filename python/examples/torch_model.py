# SPDX-License-Identifier: MIT
"""Puts a SPARC layer into a PyTorch model, which learns to recall the number that a marker pointed at.

    python torch_model.py --updates 500
"""
import argparse

import torch

from sparc.torch import Layer


class Recall(torch.nn.Module):

    def __init__(self):
        super().__init__()
        self.front = torch.nn.Linear(2, 16)
        self.memory = Layer("sparc", inputs=16, modes=32)
        self.head = torch.nn.Linear(self.memory.outputs, 1)

    def forward(self, x):
        y, _ = self.memory(torch.tanh(self.front(x)))
        return self.head(y[:, -1])[:, 0]


def batch(size=64, steps=60):
    """Numbers, a marker beside one of them, and that number."""
    values, where = torch.randn(size, steps), torch.randint(steps - 10, (size,))
    marker = torch.nn.functional.one_hot(where, steps).float()
    return torch.stack([values, marker], -1), values.gather(1, where[:, None])[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=500)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    model = Recall()
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for update in range(1, arguments.updates + 1):
        x, target = batch()
        loss = torch.nn.functional.mse_loss(model(x), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if update % 100 == 0 or update == arguments.updates:
            print(f"update {update}: loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
