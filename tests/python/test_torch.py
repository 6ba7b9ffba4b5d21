# SPDX-License-Identifier: MIT
"""Cells as layers of PyTorch; skipped where there is none."""
import unittest

try:
    import torch
except ImportError:
    torch = None
import sparc

SMALL = {"rglru": "block=4", "mamba3": "heads=2,head_dim=4,state=4"}


@unittest.skipUnless(torch, "there is no PyTorch")
class Layers(unittest.TestCase):

    def test_gradients(self):
        from sparc.torch import Layer
        torch.manual_seed(1)
        for kind in sparc.kinds():
            layer = Layer(kind, 3, 4, SMALL.get(kind)).double()
            x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
            state = (0.1 * torch.randn(2, layer.cell.sizes.state, dtype=torch.float64)).requires_grad_()
            mask = torch.ones(2, 5, dtype=torch.float64)
            mask[0, 2] = 0
            self.assertTrue(torch.autograd.gradcheck(lambda p, x, s: torch.func.functional_call(
                layer, {"params": p}, (x, mask, s)), (layer.params, x, state), nondet_tol=0))

    def test_training(self):
        from sparc.torch import Layer
        torch.manual_seed(2)
        layer, head = Layer("sparc", 1, 16), torch.nn.Linear(32, 1)
        optimiser = torch.optim.Adam([*layer.parameters(), *head.parameters()], 0.01)
        losses = []
        for _ in range(150):
            x = torch.randn(16, 12, 1)
            loss = ((head(layer(x)[0][:, -1]) - x[:, -4])**2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        self.assertLess(sum(losses[-10:]), 0.2 * sum(losses[:10]))
        self.assertIn("params", layer.state_dict())
        self.assertIn("sparc", repr(layer))


if __name__ == "__main__":
    unittest.main()
