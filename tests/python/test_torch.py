# SPDX-License-Identifier: MIT
"""Cells as layers of PyTorch; skipped where there is none."""
import copy
import io
import os
import pickle
import unittest
import warnings

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

    def test_copies(self):
        from sparc.torch import Layer
        layer, x = Layer("sparc", 3, 8, "variant=phase-only"), torch.randn(2, 5, 3)
        file = io.BytesIO()
        torch.save(layer, file)
        file.seek(0)
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), torch.load(file, weights_only=False)):
            self.assertTrue(torch.equal(other(x)[0], layer(x)[0]))
            self.assertIsNot(other.params, layer.params)
        fresh = Layer("sparc", 3, 8, "variant=phase-only", seed=1)
        fresh.load_state_dict(layer.state_dict())
        self.assertTrue(torch.equal(fresh(x)[0], layer(x)[0]))
        for thing in (sparc.Cell("sparc", 3, 8), sparc.Learner(inputs=1, goal="forecast", horizon=1)):
            file = io.BytesIO()
            torch.save(thing, file)
            file.seek(0)
            self.assertIs(type(torch.load(file, weights_only=False)), type(thing))

    def test_arrays_that_backward_reads(self):
        from sparc.torch import Layer
        layer, x = Layer("sparc", 3, 8), torch.randn(2, 5, 3)
        for changed in (lambda x, y: x.add_(1), lambda x, y: y.add_(1)):
            x = torch.randn(2, 5, 3)
            y, _ = layer(x)
            loss = y.sum()
            with torch.no_grad():
                changed(x, y)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_workers(self):
        from sparc.torch import Layer
        layer, x = Layer("sparc", 3, 16, threads=3), torch.randn(8, 300, 3)
        with torch.no_grad():
            want = torch.stack([layer(row[None])[0][0] for row in x])

        class Features(torch.utils.data.Dataset):

            def __len__(self):
                return len(x)

            def __getitem__(self, i):
                with torch.no_grad():
                    return layer(x[i][None])[0][0]

        loader = torch.utils.data.DataLoader(Features(), batch_size=2, num_workers=2, multiprocessing_context="fork",
                                             timeout=120)
        with warnings.catch_warnings():  # newer versions of Python warn of every fork beside threads
            warnings.simplefilter("ignore", DeprecationWarning)
            got = list(loader)
        self.assertTrue(torch.equal(torch.cat(got), want))


if __name__ == "__main__":
    unittest.main()
