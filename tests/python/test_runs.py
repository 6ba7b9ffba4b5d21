# SPDX-License-Identifier: MIT
"""Data sets, networks, training runs, grids."""
import pickle
import signal
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import sparc

try:
    import pandas
except ImportError:
    pandas = None

TREE = Path(__file__).resolve().parents[2]
SMALL = {"layers": 1, "width": 8, "modes": 8, "batch": 16, "threads": 1, "seed": 1, "dropout": 0.0}


def waves(count, lengths=(30, 31)):
    """Sines of two frequencies, and which."""
    rng = np.random.default_rng(1)
    y = np.arange(count) % 2
    rows = [np.sin((0.3 + 0.6 * k) * np.arange(rng.integers(*lengths)) + rng.uniform(0, 6)) for k in y]
    return [row.astype(np.float32) for row in rows], y


class Data(unittest.TestCase):

    def test_arrays(self):
        rows, y = waves(12)
        for x in (np.stack(rows), np.stack(rows)[:, :, None], rows, [row[:, None] for row in rows]):
            data = sparc.Dataset.from_arrays(x, np.array(["slow", "fast"])[y])
            self.assertEqual((len(data), data.channels, data.classes, data.missing), (12, 1, ["fast", "slow"], 0))
            np.testing.assert_array_equal(data.labels, 1 - y)
            np.testing.assert_array_equal(data[-1][:, 0], rows[11])
        with self.assertRaises(IndexError):
            data[12]

    def test_unequal_lengths(self):
        rows, y = waves(20, (10, 40))
        pairs = [np.stack([row, -row], axis=1) for row in rows]
        data = sparc.Dataset.from_arrays(pairs, y)
        self.assertEqual((len(data), data.channels, data.classes), (20, 2, ["0", "1"]))
        np.testing.assert_array_equal(data.lengths, [len(row) for row in rows])
        for i, pair in enumerate(pairs):
            np.testing.assert_array_equal(data[i], pair)
        part = data.subset([3, 1])
        np.testing.assert_array_equal(part[0], pairs[3])
        mean, deviation = data.moments()
        np.testing.assert_allclose(mean, np.concatenate(pairs).mean(axis=0), atol=1e-6)
        data.normalise(mean, deviation)
        np.testing.assert_allclose(data[2], (pairs[2] - mean) / deviation, atol=1e-5)
        np.testing.assert_array_equal(part[0], pairs[3])  # it behaves as if it owned its values

    def test_numbers_and_missing_values(self):
        rows, y = waves(6)
        rows[2][4:6] = np.nan
        data = sparc.Dataset.from_arrays(np.stack(rows), 0.5 * y, objective="regress")
        np.testing.assert_allclose(np.concatenate(data.targets), 0.5 * y)
        self.assertEqual(data.missing, 2)
        self.assertEqual(data.fill_missing().missing, 0)
        self.assertTrue(np.isfinite(data[2]).all())

    def test_forecasts(self):
        x = np.cumsum(np.random.default_rng(1).standard_normal((2, 20, 2)), axis=1).astype(np.float32)
        targets = sparc.Dataset.from_arrays(x).forecast(3).targets
        np.testing.assert_allclose(targets[1][:17], x[1, 3:20] - x[1, :17], atol=1e-6)
        with self.assertRaisesRegex(TypeError, "targets for every step"):
            pickle.dumps(sparc.Dataset.from_arrays(x).forecast(3))

    def test_refusals(self):
        rows, y = waves(4)
        with self.assertRaisesRegex(ValueError, "y has 3 entries, expected 4"):
            sparc.Dataset.from_arrays(rows, y[:3])
        with self.assertRaisesRegex(ValueError, "expected the same number"):
            sparc.Dataset.from_arrays([np.zeros((3, 1)), np.zeros((3, 2))], [0, 1])
        with self.assertRaisesRegex(TypeError, "reading has no option 'colour'"):
            sparc.Dataset.load("x.csv", colour=1)
        with self.assertRaises(sparc.Error):
            sparc.Dataset.load("/nowhere/x.csv")
        with self.assertRaisesRegex(ValueError, "max_rows is 9223372036854775808, expected"):
            sparc.Dataset.load("/nowhere/x.csv", max_rows=2**63)
        with self.assertRaisesRegex(IndexError, "there is no sequence 4"):
            sparc.Dataset.from_arrays(rows, y)[4]

    def test_labels_and_targets_of_arrays(self):
        rows, _ = waves(3, (4, 9))
        data = sparc.Dataset.from_arrays(rows, ["up: fast, or not", "", "down"])  # "": unlabelled
        self.assertEqual((data.classes, list(data.labels)), (["down", "up: fast, or not"], [1, -1, 0]))
        for y in ([10, 9, 10], [10.0, 9.0, 10.0], np.array([[10], [9], [10]], np.uint8), ["10", "9", "10"]):
            data = sparc.Dataset.from_arrays(rows, y)
            self.assertEqual((data.classes, list(data.labels)), (["9", "10"], [1, 0, 1]))
        self.assertEqual(sparc.Dataset.from_arrays(rows, [True, False, True]).classes, ["0", "1"])
        # one target each, several, one of every step, several of every step
        for y in ([0.5, 1.5, -1], [[1, 2]] * 3, [2 * row for row in rows], [np.stack([row, -row], 1) for row in rows]):
            found = sparc.Dataset.from_arrays(rows, y, objective="regress").targets
            for one, want in zip(found, y):
                np.testing.assert_array_equal(one.ravel(), np.asarray(want, np.float32).ravel())
        self.assertEqual(found[1].shape, (len(rows[1]), 2))

    def test_arrays_that_are_refused(self):
        rows, y = waves(3, (4, 9))
        for bad, message in (([0.5, 1, 2], "not whole numbers"), ([np.nan, 1, 2], "not whole numbers"),
                              ([[1, 2]] * 3, r"shape \(3, 2\), expected \(3,\)"), (["a\0b", "a", "b"], "zero byte")):
            with self.assertRaisesRegex(ValueError, message):
                sparc.Dataset.from_arrays(rows, bad)
        for bad in ([1, [1], 2], [[1, 2], [1], [2]], [[[1]]] * 3, [[[[1]]]] * 3, [[]] * 3):
            with self.assertRaisesRegex(ValueError, "targets of different shapes"):
                sparc.Dataset.from_arrays(rows, bad, objective="regress")
        with self.assertRaisesRegex(sparc.Error, r"value 0 of target\[1\] is nan"):
            sparc.Dataset.from_arrays(rows, [1, np.nan, 2], objective="regress")
        with self.assertRaisesRegex(sparc.Error, r"value 2 of x\[1\] is inf"):
            sparc.Dataset.from_arrays([[1, 2, 3], [1, 2, np.inf]])
        with self.assertRaisesRegex(sparc.Error, r"all 2 values of x\[1\] are missing"):
            sparc.Dataset.from_arrays([[1, 2, 3], [np.nan, np.nan]])
        with self.assertRaisesRegex(sparc.Error, r"label_names\[2\]: the label 'x+\.*' has 300 bytes"):
            sparc.Dataset.from_arrays(rows, ["a", "b", "x" * 300])
        with self.assertRaisesRegex(ValueError, "objective is 'guess', expected one of classify, regress, forecast"):
            sparc.Dataset.from_arrays(rows, y, objective="guess")
        with self.assertRaisesRegex(ValueError, "no sequences, or empty ones"):
            sparc.Dataset.from_arrays([])

    def test_slices_and_pickles(self):
        for lengths in ((30, 31), (10, 40)):
            rows, y = waves(12, lengths)
            data = sparc.Dataset.from_arrays(rows, np.array(["slow", "fast"])[y], name="waves")
            part = pickle.loads(pickle.dumps(data[::2]))  # of one class, which keeps its number
            self.assertEqual((part.classes, list(part.labels), len(part)), (["fast", "slow"], [1] * 6, 6))
            for i in range(6):
                np.testing.assert_array_equal(part[i], data[2 * i])
        numbers = sparc.Dataset.from_arrays(rows, 0.5 * y, objective="regress")
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(numbers)).targets, numbers.targets)
        self.assertEqual(pickle.loads(pickle.dumps(sparc.Dataset.from_arrays(rows))).classes, [])

    @unittest.skipUnless(pandas, "there is no pandas")
    def test_frames(self):
        rows, y = waves(6, (5, 9))
        long = pandas.DataFrame([{"run": i, "t": t, "v": v, "kind": "ab"[y[i]]} for i, row in enumerate(rows)
                                 for t, v in enumerate(row)])
        data = sparc.Dataset.from_frame(long.sample(frac=1, random_state=1), id="run", time="t", label="kind")
        self.assertEqual(data.classes, ["a", "b"])
        for i, row in enumerate(rows):
            np.testing.assert_array_equal(data[i][:, 0], row)
        wide = pandas.DataFrame(np.arange(12.0).reshape(3, 4))
        wide["y"] = ["p", "q", "p"]
        data = sparc.Dataset.from_frame(wide, label="y")
        np.testing.assert_array_equal(data.labels, [0, 1, 0])
        np.testing.assert_array_equal(data[1][:, 0], [4, 5, 6, 7])
        with self.assertRaisesRegex(ValueError, "the frame has no column 'z', expected one of 0, 1, 2, 3, y"):
            sparc.Dataset.from_frame(wide, label="z")

    def test_files_and_splits(self):
        rows, y = waves(40)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "waves.csv"
            path.write_text("\n".join(",".join([str(label), *(repr(float(v)) for v in row)])
                                      for label, row in zip(y, rows)) + "\n")
            data = sparc.Dataset.load(path, label_column="1", format="csv")
            np.testing.assert_array_equal(data.labels, y)
            parts = sparc.load_split(path, label_column="1", format="csv", validation=0.25)
        self.assertIsNone(parts["test"])
        self.assertEqual((len(parts["fit"]), len(parts["validation"])), (30, 10))


class Runs(unittest.TestCase):

    def test_a_run(self):
        rows, y = waves(60)
        x = np.stack(rows)
        with tempfile.TemporaryDirectory() as folder:
            events = []
            Path(folder, "a").mkdir()
            Path(folder, "b").mkdir()
            run = sparc.Run((x, y), Path(folder) / "a" / "run", updates=40, validate_every=20, **SMALL)
            run.execute(events.append)
            stages = [event["stage"] for event in events]
            self.assertEqual((stages[0], stages[-1], stages.count("update")), ("started", "finished", 40))
            self.assertIn("validated", stages)
            result = run.result
            self.assertTrue(result["finished"] and result["done"] == 40 and result["best"]["score"] > 0.6)
            model = run.model()
            self.assertGreater(model.evaluate(x, y).accuracy, 0.6)
            np.testing.assert_allclose(model.predict(list(x)), model.predict(x), atol=1e-6)
            self.assertEqual([row["update"] for row in run.metrics() if "loss" in row][-1], 40)
            want = (run.folder / "last.safetensors").read_bytes()

            # stopped by its callback, continued by another object: the same bytes
            other = sparc.Run((x, y), Path(folder) / "b" / "run", updates=40, validate_every=20, **SMALL)
            other.execute(lambda event: event.get("update", 0) < 13)
            self.assertEqual((other.result["finished"], other.result["done"]), (0, 13))
            again = sparc.Run.load(Path(folder) / "b" / "run", threads=2).execute()
            self.assertEqual(again.result["finished"], 1)
            self.assertEqual((Path(folder) / "b" / "run" / "last.safetensors").read_bytes(), want)

    def test_data_of_a_run(self):
        rows, y = waves(40)
        runs = [sparc.Run(data, updates=5, **SMALL).execute() for data in ((rows, y), sparc.Dataset.from_arrays(rows, y))]
        self.assertEqual(*(run.checkpoint.read_bytes() for run in runs))
        data = sparc.Dataset.from_arrays(rows, y)
        model = runs[0].model()
        np.testing.assert_array_equal(model.predict(data), model.predict(np.stack(rows)))
        self.assertEqual(model.evaluate(data), model.evaluate(rows, y))
        with self.assertRaisesRegex(ValueError, "y is missing"):
            model.evaluate(rows)
        self.assertEqual((runs[0].config["updates"], runs[0].config["cell"]), (5, "sparc"))
        numbers = sparc.Dataset.from_arrays(rows, 0.5 * y, objective="regress")
        self.assertEqual(sparc.Run(numbers, updates=5, **SMALL).execute().model().labels, [])
        for data, kind, message in ((np.stack(rows), TypeError, "data is ndarray, expected a name"),
                                     ((rows,), ValueError, "data has no labels"),
                                     ((rows, y, y), ValueError, "data has 3 entries")):
            with self.assertRaisesRegex(kind, message):
                sparc.Run(data, updates=5, **SMALL)
        with self.assertRaisesRegex(TypeError, "updates is 'x', expected a whole number"):
            sparc.Run((rows, y), updates="x")

    def test_data_of_a_run_are_kept(self):
        rows, y = waves(40)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            sparc.Run((rows, y), path, updates=3, **SMALL).execute()
            before = path.with_name("run.npz").read_bytes()
            with self.assertRaisesRegex(ValueError, "holds a run of other data"):
                sparc.Run((rows, 1 - y), path, updates=3, resume=True, **SMALL)
            with self.assertRaisesRegex(sparc.Error, "holds a run already"):
                sparc.Run((rows, y), path, updates=3, **SMALL).execute()
            self.assertEqual(path.with_name("run.npz").read_bytes(), before)
            self.assertEqual(sparc.Run((rows, y), path, updates=3, resume=True, **SMALL).execute().result["done"], 3)
            sparc.Run((rows, 1 - y), path, updates=3, force=True, **SMALL).execute()

    def test_interrupts(self):
        """Ctrl-C that arrives within the library, without a callback, saves and stops; the run continues bit-exactly."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        rows, y = waves(60)
        with tempfile.TemporaryDirectory() as folder:
            run = sparc.Run((rows, y), Path(folder) / "run", updates=10**6, **SMALL)
            timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                run.execute()
            timer.join()
            done = run.result["done"]
            self.assertTrue(0 < done == run.result["saved"] < 10**6)
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
            again = sparc.Run.load(Path(folder) / "run")
            again.execute(lambda event: event.get("update", 0) < done + 2)
            self.assertEqual(again.result["done"], done + 2)

    def test_exceptions_and_settings(self):
        rows, y = waves(30, (20, 30))
        run = sparc.Run((rows, y), updates=20, **SMALL)

        def interrupt(event):
            if event.get("update") == 5:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            run.execute(interrupt)
        self.assertEqual(run.result["done"], 5)
        self.assertEqual(run.execute().result["done"], 20)
        with self.assertRaisesRegex(TypeError, "a run has no setting 'colour'"):
            sparc.Run("tracking", colour=1)
        with self.assertRaisesRegex(sparc.Error, "unknown cell kind 'spark'"):
            sparc.Run("tracking", cell="spark")

    @unittest.skipUnless(pandas, "there is no pandas")
    def test_grids(self):
        table = sparc.grid("figure1", "--results", str(TREE / "docs" / "results"))
        self.assertTrue({"task", "method", "mean", "sd", "rank"} <= set(table.columns))
        self.assertIn("sparc", set(table.method))
        with self.assertRaises(sparc.Error):
            sparc.grid("nothing-of-the-kind")


class Networks(unittest.TestCase):

    def test_gradients_and_steps(self):
        rng = np.random.default_rng(2)
        network = sparc.Network(3, 2, "sparc", 8, layers=1, width=4, head="last")
        params, x = network.init(1, np.float64), rng.standard_normal((2, 6, 3))
        run = network.forward(params, x)
        dy = rng.standard_normal(run.y.shape)
        gradient = run.backward(dy)
        self.assertTrue((run.backward(dy).params == gradient.params).all())
        for i in rng.integers(0, params.size, 12):
            moved = params.copy()
            moved[i] += 1e-6
            change = ((network.forward(moved, x).y - run.y) * dy).sum() / 1e-6
            self.assertAlmostEqual(change, gradient.params[i], delta=1e-4)
        prepared, states = network.prepare(params), np.zeros((2, network.sizes.state))
        for t in range(6):
            y = network.step(prepared, states, x[:, t], np.full(2, float(t > 0)))
        np.testing.assert_allclose(y, run.y, atol=1e-12)
        np.testing.assert_allclose(states, run.state_last, atol=1e-12)

    def test_files(self):
        network = sparc.Network(1, 2, "rtu", 8, layers=0, head="mean")
        params, x = network.init(3), np.random.default_rng(4).standard_normal((3, 9, 1)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            network.save(params, path, labels=["no", "yes"], metadata={"author": "me"})
            model = sparc.Model(path)
            other, again, known = sparc.Network.load(path)
            with self.assertRaisesRegex(sparc.Error, "not finite"):
                network.save(params * np.nan, path)
        self.assertEqual((model.labels, model.metadata("author"), known.labels), (["no", "yes"], "me", ["no", "yes"]))
        np.testing.assert_array_equal(again, params)
        y = other.forward(again, x).y
        np.testing.assert_allclose(model.predict(x), np.exp(y) / np.exp(y).sum(axis=1, keepdims=True), atol=1e-6)


if __name__ == "__main__":
    unittest.main()
