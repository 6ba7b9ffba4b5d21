# SPDX-License-Identifier: MIT
"""Arrays that the library must not be given, objects shared by threads, forked processes, pickles."""
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import unittest
import warnings
from pathlib import Path

import numpy as np
import sparc

CHECKPOINTS = sorted((Path(__file__).resolve().parents[1] / "checkpoints").glob("*.safetensors"))
SECONDS = 120


def on_threads(count, work):
    """Runs work(i) on threads and raises what one of them raised."""
    failures = []

    def run(i):
        try:
            work(i)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(SECONDS)
    if failures:
        raise failures[0]
    if any(t.is_alive() for t in threads):
        raise AssertionError("a thread hangs")


class Arrays(unittest.TestCase):

    def test_state_of_a_model(self):
        model = sparc.Model(CHECKPOINTS[0])
        good, x = model.state(), np.zeros(model.inputs)
        model.step(good, x)
        read_only = model.state()
        read_only.flags.writeable = False
        unaligned = np.zeros(4 * good.size + 1, np.uint8)[1:].view(np.float32)
        for state, message in ((read_only, "state is read-only"), (good.astype(np.float64), "state is float64"),
                                (good[:-1], "state has the shape"), (list(good), "state is list"), (None, "state is NoneType"),
                                (np.zeros(2 * good.size, np.float32)[::2], "state is not contiguous"),
                                (good.byteswap().view(good.dtype.newbyteorder()), "state is >f4"),
                                (unaligned, "state is not contiguous")):
            with self.assertRaisesRegex((TypeError, ValueError), message):
                model.step(state, x)

    def test_inputs_are_copied_if_need_be(self):
        cell = sparc.Cell("sparc", 3, 8)
        params, x = cell.init(), np.random.default_rng(1).standard_normal((2, 5, 3)).astype(np.float32)
        want = cell.forward(params, x).y
        unaligned = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
        read_only = x.copy()
        read_only.flags.writeable = False
        for same in (np.asfortranarray(x), x[:, :, ::-1].copy()[:, :, ::-1], unaligned, read_only, x.astype(">f4"),
                     x.tolist()):
            np.testing.assert_array_equal(cell.forward(params, same).y, want)

    def test_numbers_that_would_be_dropped(self):
        cell = sparc.Cell("sparc", 3, 8)
        params, x = cell.init(), np.ones((1, 4, 3))
        for values, message in ((x + 1j, "x is complex"), (np.ma.array(x, mask=x > 0), "x is a masked array")):
            with self.assertRaisesRegex(TypeError, message):
                cell.forward(params, values)
            with self.assertRaisesRegex(TypeError, message):
                sparc.Dataset.from_arrays(values)

    def test_a_replaced_state_or_trace(self):
        cell = sparc.Cell("sparc", 3, 8)
        stream, x = cell.stream(cell.init(), sensitivities=True), np.zeros(3)
        stream.step(x)
        for name in ("state", "trace"):
            good = getattr(stream, name)
            read_only = good.copy()
            read_only.flags.writeable = False
            for bad in (good[:4].copy(), good.astype(np.float64), np.zeros(2 * good.size, np.float32)[::2], read_only,
                        None, "state"):
                setattr(stream, name, bad)
                with self.assertRaisesRegex((TypeError, ValueError), name):
                    stream.step(x)
                with self.assertRaisesRegex((TypeError, ValueError), name):
                    stream.gradient(np.zeros(cell.sizes.output))
            setattr(stream, name, good.copy())
            stream.step(x)
        for bad in (np.zeros(3, np.float32), np.zeros(cell.sizes.params), [0.0] * cell.sizes.params):
            with self.assertRaisesRegex((TypeError, ValueError), "dparams"):
                stream.gradient(np.zeros(cell.sizes.output), bad)

    def test_sizes_cannot_be_changed(self):
        cell = sparc.Cell("sparc", 3, 8)
        run = cell.forward(cell.init(), np.zeros((1, 4, 3)))
        for thing, name in ((cell, "sizes"), (cell, "inputs"), (run, "y"), (sparc.Model(CHECKPOINTS[0]), "outputs"),
                            (sparc.Learner(inputs=1, outputs=1), "inputs")):
            with self.assertRaisesRegex(AttributeError, f"{name} of a {type(thing).__name__} cannot be changed"):
                setattr(thing, name, 1)
            with self.assertRaisesRegex(AttributeError, "cannot be deleted"):
                delattr(thing, name)
        with self.assertRaisesRegex(ValueError, "inputs is 4294967299, expected -2147483648 to 2147483647"):
            sparc.Cell("sparc", 2**32 + 3, 8)


class Threads(unittest.TestCase):

    def test_a_model_is_shared(self):
        for path in CHECKPOINTS:
            model = sparc.Model(path, threads=2)
            x = np.random.default_rng(1).standard_normal((8, 400, model.inputs)).astype(np.float32)
            want = [model.predict(x[:, :100 + 60 * i]) for i in range(4)]
            state, steps = model.state(), []
            for t in range(200):
                steps.append(model.step(state, x[0, t]))

            def work(i):
                state = model.state()
                for t in range(200):
                    np.testing.assert_array_equal(model.step(state, x[0, t]), steps[t])
                    if t % 20 == i:
                        length = (t + i) % 4  # other lengths need other memory
                        np.testing.assert_array_equal(model.predict(x[:, :100 + 60 * length]), want[length])

            on_threads(4, work)

    def test_a_cell_and_a_run_are_shared(self):
        cell = sparc.Cell("sparc", 3, 8)
        params, x = cell.init(), np.random.default_rng(2).standard_normal((2, 30, 3)).astype(np.float32)
        run = cell.forward(params, x)
        want = run.backward(np.ones_like(run.y)).params

        def work(i):
            for k in range(40):
                cell.forward(params, x[:, :1 + (7 * k + i) % 29])
                np.testing.assert_array_equal(run.backward(np.ones_like(run.y)).params, want)

        on_threads(4, work)

    def test_a_stream_and_a_learner_are_shared(self):
        cell = sparc.Cell("sparc", 3, 8)
        stream, learner = cell.stream(cell.init(), sensitivities=True), sparc.Learner(inputs=1, objective="forecast", horizon=1, H=8)

        def work(i):
            for t in range(100):
                stream.gradient(stream.step(np.full(3, np.sin(t))))
                self.assertTrue(np.isfinite(learner.step(np.sin(t + i))).all())
                if t % 25 == i:
                    pickle.dumps(learner)

        on_threads(4, work)
        self.assertEqual(learner.report.steps, 400)


def _forward(cell, params, x, threads):
    run = cell.forward(params, x, threads=threads)
    return run.y, run.backward(np.ones_like(run.y)).params


def _step(model, x):
    state = model.state()
    return np.array([model.step(state, row) for row in x])


# what the children of test_children inherit
_inherited = {}


def _child(queue):
    given = _inherited
    queue.put((*_forward(given["cell"], given["params"], given["x"], 3), given["model"].predict(given["z"]),
               given["learner"].step(0.5)))


@unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
class Forks(unittest.TestCase):

    def setUp(self):
        # newer versions of Python warn of every fork beside threads
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", DeprecationWarning)

    def test_children(self):
        """They use objects of a parent whose threads have worked, while another of its threads works."""
        cell, model = sparc.Cell("sparc", 3, 16), sparc.Model(CHECKPOINTS[0], threads=2)
        params, rng = cell.init(), np.random.default_rng(3)
        x, z = rng.standard_normal((4, 300, 3)), rng.standard_normal((9, 40, model.inputs))
        learner = sparc.Learner(inputs=1, objective="forecast", horizon=1, H=8)
        learner.step(0.1)
        _inherited.update(cell=cell, params=params, x=x, model=model, z=z, learner=learner)
        want = (*_forward(cell, params, x, 3), model.predict(z), copy.deepcopy(learner).step(0.5))
        over = threading.Event()

        def busy():
            while not over.is_set():
                model.predict(z)

        other = threading.Thread(target=busy)
        other.start()
        try:
            context = multiprocessing.get_context("fork")
            for _ in range(3):
                queue = context.Queue()
                child = context.Process(target=_child, args=(queue,))
                child.start()
                for got, expected in zip(queue.get(timeout=SECONDS), want):
                    np.testing.assert_array_equal(got, expected)
                child.join(SECONDS)
                self.assertEqual(child.exitcode, 0)
        finally:
            over.set()
            other.join(SECONDS)

    def test_a_pool(self):
        cell, rng = sparc.Cell("rtu", 3, 16), np.random.default_rng(4)
        params, x = cell.init(), rng.standard_normal((4, 300, 3))
        want = _forward(cell, params, x, 3)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            # cells go to the workers as pickles
            for got in pool.starmap_async(_forward, [(cell, params, x, 3)] * 4).get(SECONDS):
                for g, w in zip(got, want):
                    np.testing.assert_array_equal(g, w)


class Pickles(unittest.TestCase):

    def copies(self, thing):
        return copy.copy(thing), copy.deepcopy(thing), *(pickle.loads(pickle.dumps(thing, protocol))
                                                         for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1))

    def test_cells(self):
        for kind, options in (("sparc", "variant=phase-only"), ("rglru", "block=4"), ("gru", None)):
            cell = sparc.Cell(kind, 3, 8, options)
            params, x = cell.init(), np.random.default_rng(5).standard_normal((2, 9, 3))
            for other in self.copies(cell):
                self.assertEqual((other.kind, other.options, other.sizes), (cell.kind, cell.options, cell.sizes))
                np.testing.assert_array_equal(other.forward(params, x).y, cell.forward(params, x).y)

    def test_streams(self):
        cell = sparc.Cell("sparc", 3, 8)
        stream, x = cell.stream(cell.init(), sensitivities=True), np.random.default_rng(6).standard_normal((9, 3))
        for t in range(4):
            stream.step(x[t])
        others = [pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)]
        for t in range(4, 9):
            y = stream.step(x[t])
            gradient = stream.gradient(np.ones_like(y))
            for other in others:
                np.testing.assert_array_equal(other.step(x[t]), y)
                np.testing.assert_array_equal(other.gradient(np.ones_like(y)), gradient)

    def test_models(self):
        for path in CHECKPOINTS:
            model = sparc.Model(path)
            x = np.random.default_rng(7).standard_normal((2, 9, model.inputs))
            for other in self.copies(model):
                self.assertEqual((other.labels, other.metadata("network.cell")),
                                 (model.labels, model.metadata("network.cell")))
                np.testing.assert_array_equal(other.predict(x), model.predict(x))

    def test_learners(self):
        learner = sparc.Learner(inputs=1, objective="forecast", horizon=3, H=8)
        for t in range(50):
            learner.step(np.sin(0.3 * t))
        others = self.copies(learner)
        for t in range(50, 80):
            y = learner.step(np.sin(0.3 * t))
            for other in others:
                np.testing.assert_array_equal(other.step(np.sin(0.3 * t)), y)
        self.assertEqual(others[0].report, learner.report)
        learner.freeze()
        frozen = copy.deepcopy(learner)
        updates = frozen.report.updates
        frozen.step(1.0)
        self.assertEqual(frozen.report.updates, updates)

    def test_a_damaged_pickle(self):
        model = sparc.Model(CHECKPOINTS[0])
        function, (path, threads, data) = model.__reduce__()
        with self.assertRaises(sparc.Error) as caught:
            function(path, threads, data[:-5])
        self.assertEqual(caught.exception.status, "format")


class Loading(unittest.TestCase):

    def test_the_error_names_the_library(self):
        run = subprocess.run([sys.executable, "-c", "import sparc"], capture_output=True, text=True,
                             env={**os.environ, "SPARC_LIBRARY": "/nowhere/libsparc.so"})
        self.assertIn("libsparc cannot be loaded from /nowhere/libsparc.so", run.stderr)


if __name__ == "__main__":
    unittest.main()
