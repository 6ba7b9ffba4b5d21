# SPDX-License-Identifier: MIT
"""Cells and networks as modules of PyTorch; skipped where there is none."""
import copy
import io
import json
import os
import pickle
import shutil
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

try:
    import torch
    from sparc.torch import Layer, Network
except ImportError:
    torch = None
import sparc
from sparc.__main__ import tool

SMALL = {"rglru": "block=4", "mamba3": "heads=2,head_dim=4,state=4"}
SEQUENTIAL = ("gru", "mamba3")  # have no chunked scan
CHECKPOINTS = sorted((Path(__file__).resolve().parents[1] / "checkpoints").glob("*.safetensors"))
COMPILER = shutil.which(os.environ.get("CXX", "g++"))


def called(module, *arguments):
    """The module as a function of its parameters, which come after the arguments, for gradcheck."""
    names = [name for name, _ in module.named_parameters()]

    def function(*values):
        inputs, params = values[:len(values) - len(names)], values[len(values) - len(names):]
        return torch.func.functional_call(module, dict(zip(names, params)), (*inputs, *arguments))

    return function


def random(*shape, scale=1.0):
    return (scale * torch.randn(*shape, dtype=torch.float64)).requires_grad_()


@unittest.skipUnless(torch, "there is no PyTorch")
class Layers(unittest.TestCase):

    def test_gradients(self):
        torch.manual_seed(1)
        mask = torch.ones(2, 5, dtype=torch.float64)
        mask[0, 2] = 0
        for kind in sparc.kinds():
            for chunk in (0,) if kind in SEQUENTIAL else (0, 2):
                layer = Layer(kind, 3, 4, SMALL.get(kind), chunk=chunk).double()
                given = (random(2, 5, 3), random(2, layer.state_size, scale=0.1))
                self.assertTrue(torch.autograd.gradcheck(called(layer, mask), (*given, *layer.parameters()),
                                                         nondet_tol=0), kind)

    def test_gradients_of_networks(self):
        torch.manual_seed(2)
        for kind in sparc.kinds():
            for settings in ({"layers": 1, "width": 4}, {"layers": 0, "head": "steps"},
                             {"layers": 1, "width": 4, "head": "last", "hidden": 3}):
                network = Network(3, 2, kind, 4, cell_options=SMALL.get(kind), **settings).double()
                self.assertTrue(torch.autograd.gradcheck(called(network), (random(2, 5, 3), *network.parameters()),
                                                         nondet_tol=0), (kind, settings))

    def test_names(self):
        layer = Layer("sparc", 3, 8)
        self.assertEqual([name for name, _ in layer.named_parameters()], [block.name for block in layer.cell.blocks])
        self.assertEqual(layer.content_re.shape, (8, 3))
        np.testing.assert_array_equal(layer.flat().detach().numpy(), layer.cell.init())
        network = Network(3, 2, "sparc", 8, layers=2, width=4)
        self.assertEqual(sorted(network.state_dict()), sorted(block.name for block in network.description.blocks))
        np.testing.assert_array_equal(network.flat().detach().numpy(), network.description.init())

    def test_layers_are_cells(self):
        torch.manual_seed(3)
        x, mask = torch.randn(3, 9, 3), (torch.rand(3, 9) > 0.2)
        for kind in sparc.kinds():
            layer = Layer(kind, 3, 8, SMALL.get(kind))
            y, state = layer(x, None, mask)
            run = layer.cell.forward(layer.cell.init(), x.numpy(), mask.numpy())
            np.testing.assert_array_equal(y.detach().numpy(), run.y)
            np.testing.assert_array_equal(state.detach().numpy(), run.state_last)
            # two pieces with the state between them are one
            first, between = layer(x[:, :4])
            second, last = layer(x[:, 4:], between)
            whole, end = layer(x)
            torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(last, end, rtol=1e-5, atol=1e-6)

    def test_training(self):
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
        self.assertIn("log_decay", layer.state_dict())
        self.assertIn("sparc", repr(layer))

    def test_copies(self):
        layer, x = Layer("sparc", 3, 8, "variant=phase-only"), torch.randn(2, 5, 3)
        network = Network(3, 2, "rtu", 8, layers=1, width=4)
        for module in (layer, network):
            file = io.BytesIO()
            torch.save(module, file)
            file.seek(0)
            for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), torch.load(file, weights_only=False)):
                self.assertTrue(torch.equal(other(x)[0], module(x)[0]))
                self.assertIsNot(next(other.parameters()), next(module.parameters()))
        fresh = Layer("sparc", 3, 8, "variant=phase-only", seed=1)
        self.assertFalse(torch.equal(fresh(x)[0], layer(x)[0]))
        fresh.load_state_dict(layer.state_dict())
        self.assertTrue(torch.equal(fresh(x)[0], layer(x)[0]))
        for thing in (sparc.Cell("sparc", 3, 8), sparc.Learner(inputs=1, objective="forecast", horizon=1)):
            file = io.BytesIO()
            torch.save(thing, file)
            file.seek(0)
            self.assertIs(type(torch.load(file, weights_only=False)), type(thing))

    def test_arrays_that_backward_reads(self):
        layer = Layer("sparc", 3, 8)
        for changed in (lambda x, y: x.add_(1), lambda x, y: y.add_(1)):
            x = torch.randn(2, 5, 3)
            y, _ = layer(x)
            loss = y.sum()
            with torch.no_grad():
                changed(x, y)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()

    def test_a_graph_is_used_twice(self):
        x = torch.randn(2, 5, 3)
        for module in (Layer("sparc", 3, 8), Network(3, 2, "sparc", 8, layers=1, width=4)):
            loss = (module(x)[0]**2).sum()
            first = torch.autograd.grad(loss, list(module.parameters()), retain_graph=True)
            second = torch.autograd.grad(loss, list(module.parameters()))
            for a, b in zip(first, second):
                self.assertTrue(torch.equal(a, b))

    def test_lengths_and_dropout(self):
        torch.manual_seed(4)
        network, x = Network(3, 2, "sparc", 8, layers=2, width=8, dropout=0.5), torch.randn(2, 9, 3)
        network.eval()
        whole, short = network(x)[0], network(x[1:, :6])[0]
        y, state = network(x, lengths=torch.tensor([9, 6]))
        torch.testing.assert_close(y[0], whole[0])
        torch.testing.assert_close(y[1], short[0], rtol=1e-5, atol=1e-6)
        self.assertTrue(state.isnan().all())
        network.train()
        torch.manual_seed(5)
        first = network(x)[0]
        self.assertFalse(torch.equal(first, network(x)[0]))
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, network(x)[0]))

    def test_refusals(self):
        layer = Layer("sparc", 3, 8)
        for x, message in ((torch.zeros(5, 3), r"expected \(streams, steps, 3\)"), (torch.zeros(2, 5, 4), "has the shape"),
                            (torch.zeros(0, 5, 3), "has the shape")):
            with self.assertRaisesRegex(ValueError, message):
                layer(x)
        with self.assertRaisesRegex(ValueError, "mask has the shape"):
            layer(torch.zeros(2, 5, 3), mask=torch.ones(2, 4))
        with self.assertRaisesRegex(TypeError, "x is torch.float64, but parameters are torch.float32"):
            layer(torch.zeros(2, 5, 3, dtype=torch.float64))
        with self.assertRaisesRegex(TypeError, "expected float32 or float64"):
            layer.bfloat16()(torch.zeros(2, 5, 3, dtype=torch.bfloat16))
        with self.assertRaisesRegex(RuntimeError, "does not support torch.vmap"):
            torch.vmap(lambda x: Layer("sparc", 3, 8)(x)[0])(torch.zeros(4, 2, 5, 3))
        layer = Layer("sparc", 3, 8)
        with self.assertRaisesRegex(TypeError, "x is ndarray, expected a torch.Tensor"):
            layer(np.zeros((2, 5, 3), np.float32))
        zeros, ones = torch.zeros(2, 5, 3), torch.ones(2, 5, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's own, of its scripts
            for transform in (lambda: torch.func.jvp(lambda x: layer(x)[0], (zeros,), (ones,)),
                              lambda: torch.func.grad(lambda x: layer(x)[0].sum())(zeros)):
                with self.assertRaisesRegex(RuntimeError, "do not support the transforms of torch.func"):
                    transform()
        with self.assertRaisesRegex(RuntimeError, "x is on cpu, expected meta"):
            layer.to("meta")(torch.zeros(2, 5, 3))
        with self.assertRaisesRegex(TypeError, "lengths are torch.float32"):
            Network(inputs=3, outputs=2, modes=8)(torch.zeros(2, 5, 3), lengths=torch.tensor([1.5, 2.0]))

    def test_functional_calls(self):
        layer, other, x = Layer("sparc", 3, 8, seed=1), Layer("sparc", 3, 8, seed=2), torch.randn(2, 5, 3)
        y, _ = torch.func.functional_call(layer, dict(other.named_parameters()), (x,))
        self.assertTrue(torch.equal(y, other(x)[0]))

    def test_autocast(self):
        front, layer, x = torch.nn.Linear(3, 3), Layer("sparc", 3, 8), torch.randn(2, 5, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            features = front(x)
            self.assertEqual(features.dtype, torch.bfloat16)
            y, _ = layer(features)
        self.assertEqual(y.dtype, torch.float32)
        self.assertTrue(torch.equal(y, layer(features.float())[0]))
        y.sum().backward()
        self.assertTrue(front.weight.grad.isfinite().all())

    def test_sizes_that_the_compiler_is_told(self):
        """The bound on what a forward keeps holds for all shapes."""
        from sparc import torch as module
        rng = np.random.default_rng(6)
        for kind in sparc.kinds():
            for chunk in (0,) if kind in SEQUENTIAL else (0, 1, 7, 64):
                description = Layer(kind, 3, 5 if kind != "rglru" else 8, SMALL.get(kind)).description
                for suffix in ("", "_f64"):
                    for _ in range(6):
                        B, T = int(rng.integers(1, 40)), int(rng.integers(1, 400))
                        bound = module._bound(module._saved_bytes, B, T, suffix, description, 1, chunk)
                        needed = module._saved_bytes(suffix, description, 1, chunk, B, T)
                        self.assertLessEqual(needed, bound, (kind, chunk, B, T))
                        self.assertLess(bound, 2 * needed + 2**18, (kind, chunk, B, T))

    def test_operators(self):
        tests = ("test_schema", "test_autograd_registration", "test_faketensor")
        x, layer = torch.randn(2, 5, 3), Layer("sparc", 3, 8)
        torch.library.opcheck(torch.ops.sparc.sequence.default,
                              (layer.flat().detach(), x, None, None, layer.description, 1, 0), test_utils=tests)
        network = Network(3, 2, "sparc", 8, layers=1, width=4)
        torch.library.opcheck(torch.ops.sparc.network.default,
                              (network.flat().detach(), x, None, None, None, None, network.config, 1), test_utils=tests)

    def test_export(self):
        x = torch.randn(2, 7, 3)
        sizes = {"x": {0: torch.export.Dim("B", min=1, max=64), 1: torch.export.Dim("T", min=1, max=512)}}
        for module in (Layer("sparc", 3, 8), Network(3, 2, "sparc", 8, layers=1, width=4).eval()):
            exported = torch.export.export(module, (x,), dynamic_shapes=sizes)
            other = torch.randn(5, 31, 3)
            self.assertTrue(torch.equal(exported.module()(other)[0], module(other)[0]))

    @unittest.skipUnless(COMPILER, "torch.compile needs a C++ compiler")
    def test_compile(self):

        class Model(torch.nn.Module):

            def __init__(self):
                super().__init__()
                self.front, self.layer, self.head = torch.nn.Linear(3, 4), Layer("sparc", 4, 8), torch.nn.Linear(16, 2)

            def forward(self, x):
                return self.head(torch.relu(self.layer(torch.tanh(self.front(x)))[0]))

        torch.manual_seed(7)
        model = Model()
        compiled = torch.compile(model, fullgraph=True)
        for shape in ((2, 5, 3), (3, 9, 3), (4, 17, 3)):  # the second shape makes sizes symbols
            x = torch.randn(shape)
            y = compiled(x)
            torch.testing.assert_close(y, model(x))
            got = torch.autograd.grad((y**2).sum(), list(model.parameters()))
            want = torch.autograd.grad((model(x)**2).sum(), list(model.parameters()))
            for a, b in zip(got, want):
                torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_workers(self):
        layer, x = Layer("sparc", 3, 16, threads=3), torch.randn(8, 300, 3)
        with torch.no_grad():
            want = torch.stack([layer(row[None])[0][0] for row in x])
        for method in ("fork", "spawn"):
            loader = torch.utils.data.DataLoader(Features(layer, x), batch_size=2, num_workers=2,
                                                 multiprocessing_context=method, timeout=120)
            with warnings.catch_warnings():  # newer versions of Python warn of every fork beside threads
                warnings.simplefilter("ignore", DeprecationWarning)
                got = list(loader)
            self.assertTrue(torch.equal(torch.cat(got), want), method)


class Features(torch.utils.data.Dataset if torch else object):
    """What a layer makes of sequences, computed in the workers of a DataLoader."""

    def __init__(self, layer, x):
        self.layer, self.x = layer, x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        with torch.no_grad():
            return self.layer(self.x[i][None])[0][0]


@unittest.skipUnless(torch, "there is no PyTorch")
class Files(unittest.TestCase):
    """Modules and the tool read each other's files."""

    def run_tool(self, *arguments):
        run = subprocess.run([tool(), *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_python_to_tool(self):
        torch.manual_seed(8)
        x, labels = torch.randn(12, 20, 2).numpy(), np.arange(12) % 3
        network = Network(2, 3, "sparc", 8, layers=2, width=8, dropout=0.1, seed=9).eval()
        mean, stddev = np.array([0.3, -0.2]), np.array([1.5, 0.7])
        with tempfile.TemporaryDirectory() as folder:
            path, data = Path(folder) / "model.safetensors", Path(folder) / "data.npz"
            network.save(path, labels=["0", "1", "2"], mean=mean, stddev=stddev)
            np.savez(data, x=x, y=labels)
            report = json.loads(self.run_tool("eval", path, data, "--json"))
            printed = self.run_tool("predict", path, data)
            again = Network.load(path).eval()
            model = sparc.Model(path)
        with torch.no_grad():
            logits = again(again.normalise(torch.from_numpy(x)))[0]
        self.assertTrue(torch.equal(logits, network(torch.from_numpy(((x - mean) / stddev).astype(np.float32)))[0]))
        want = torch.softmax(logits, -1).numpy()
        np.testing.assert_allclose(model.predict(x), want, atol=1e-5)
        rows = [line.replace("\t", ",").split(",") for line in printed.strip().splitlines()]
        numbers = np.array([[float(v) for v in row[-3:]] for row in rows if _is_number(row[-1])])
        np.testing.assert_allclose(numbers, want, atol=1e-5)
        loss = -np.log(want[np.arange(12), labels]).mean()
        self.assertAlmostEqual(report["loss"], loss, delta=1e-5)
        self.assertEqual(again.preprocessing.labels, ["0", "1", "2"])

    def test_tool_to_python(self):
        for path in CHECKPOINTS:
            model, network = sparc.Model(path), Network.load(path).eval()
            x = np.random.default_rng(10).standard_normal((5, 30, model.inputs)).astype(np.float32)
            with torch.no_grad():
                y = network(network.normalise(torch.from_numpy(x)))[0]
            if model.labels:
                y = torch.softmax(y, -1)
            elif network.preprocessing.target_mean is not None:
                continue
            np.testing.assert_allclose(y.numpy(), model.predict(x), atol=1e-5, err_msg=str(path))

    def test_training_run_to_python(self):
        rng = np.random.default_rng(11)
        y = np.arange(60) % 2
        x = (np.sin(np.arange(30)[None] * (0.3 + 0.6 * y[:, None])) + 0.1 * rng.standard_normal((60, 30))).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            data, run = Path(folder) / "data.npz", Path(folder) / "run"
            np.savez(data, x=x, y=y)
            self.run_tool("train", data, "--out", run, "--updates", 30, "--layers", 1, "--modes", 8, "--width", 8,
                          "--quiet", "--threads", 1)
            path = run / "last.safetensors"
            network, model = Network.load(path).eval(), sparc.Model(path)
            with torch.no_grad():
                got = torch.softmax(network(network.normalise(torch.from_numpy(x[:, :, None])))[0], -1)
            np.testing.assert_allclose(got.numpy(), model.predict(x), atol=1e-5)
            report = json.loads(self.run_tool("eval", path, data, "--json"))
            self.assertAlmostEqual(report["accuracy"], (got.argmax(-1).numpy() == y).mean(), delta=1e-9)


def _is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


if __name__ == "__main__":
    unittest.main()
