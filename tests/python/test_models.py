# SPDX-License-Identifier: MIT
"""Models and learners: predictions are steps, learners learn, files go on and are models."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
import sparc
from sparc.__main__ import run_tool

CHECKPOINTS = Path(__file__).resolve().parents[1] / "checkpoints"


def wave(steps):
    t = np.arange(steps)
    return (20 + np.sin(0.3 * t) + 0.5 * np.sin(0.6 * t)).astype(np.float32)


class Models(unittest.TestCase):

    def test_predictions_are_steps(self):
        for path in sorted(CHECKPOINTS.glob("*.safetensors")):
            model = sparc.Model(path, threads=1)
            x = np.random.default_rng(2).standard_normal((3, 11, model.inputs)).astype(np.float32)
            whole = model.predict(x)
            for n in range(3):
                state = model.state()
                steps = np.array([model.step(state, x[n, t]) for t in range(11)])
                np.testing.assert_allclose(steps if whole.ndim == 3 else steps[-1], whole[n], rtol=2e-5, atol=2e-5)
            if model.labels:
                self.assertEqual(len(model.labels), model.outputs)
                np.testing.assert_allclose(whole.sum(-1), 1, rtol=1e-5)
            self.assertEqual(model.metadata("format"), "sparc-checkpoint")
            self.assertIsNone(model.metadata("nothing"))

    def test_mistakes(self):
        with self.assertRaisesRegex(sparc.Error, "No such file") as caught:
            sparc.Model("missing.safetensors")
        self.assertEqual(caught.exception.status, "io")
        model = sparc.Model(next(CHECKPOINTS.glob("*.safetensors")))
        with self.assertRaisesRegex(ValueError, "x has the shape"):
            model.predict(np.zeros((2, 3, model.inputs + 1)))
        with self.assertRaisesRegex(ValueError, r"state has the shape \(1,\), expected"):
            model.step(np.zeros(1, np.float32), np.zeros(model.inputs))


class Learners(unittest.TestCase):

    def test_forecasts(self):
        learner = sparc.Learner(inputs=1, objective="forecast", horizon=2, H=16, learning_rate=0.003)
        self.assertEqual((learner.objective, learner.outputs, learner.horizon), ("forecast", 1, 2))
        loss = baseline = 0
        for t, x in enumerate(wave(3000)):
            learner.step(x)
            report = learner.report
            if t >= 2500:
                self.assertTrue(report.scored)
                loss, baseline = loss + report.loss, baseline + report.baseline
        self.assertLess(loss, 0.1 * baseline)

    def test_several_horizons(self):
        learner = sparc.Learner(inputs=1, objective="forecast", horizons=[1, 6], H=4)
        self.assertEqual((learner.outputs, learner.horizons), (2, [1, 6]))
        for t, x in enumerate(wave(300)):
            y = learner.step(np.nan if t % 10 == 4 else x)
        low, high = learner.interval
        self.assertTrue((low < y).all() and (y < high).all())
        learner.step(1e3)
        self.assertGreater(learner.anomaly[0], 10)
        with self.assertRaisesRegex(ValueError, "9 horizons, expected at most 8"):
            sparc.Learner(inputs=1, objective="forecast", horizons=range(1, 10))

    def test_regression_and_classification(self):
        x = np.random.default_rng(3).standard_normal(500).astype(np.float32)
        numbers = sparc.Learner(inputs=1, outputs=1, cell="rtu", H=16)
        classes = sparc.Learner(inputs=1, outputs=2, objective="classify", embedding="tanh", width=8)
        for t in range(1, 500):
            numbers.step(x[t])
            numbers.observe(x[t - 1])
            self.assertAlmostEqual(classes.step(x[t]).sum(), 1, places=5)
            classes.observe(x[t - 1] > 0)
        self.assertEqual(numbers.report.targets, 499)
        self.assertEqual(classes.report.updates, 499)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.safetensors"
            whole, part = (sparc.Learner(inputs=1, objective="forecast", horizon=3, H=8, forecaster="network")
                           for _ in range(2))
            for t, x in enumerate(wave(200)):
                if t % 50 == 7:
                    part.save(path)
                    part = sparc.Learner.load(path)
                np.testing.assert_array_equal(whole.step(x), part.step(x))
            part.save(path)
            model, state = sparc.Model(path), None
            part.reset_state()
            part.freeze()
            state = model.state()
            for x in wave(20):
                np.testing.assert_allclose(part.step(x), model.step(state, x), rtol=1e-5)
            classes = sparc.Learner(inputs=1, outputs=2, objective="classify")
            classes.save(path, labels=["no", "yes"])
            self.assertEqual(sparc.Model(path).labels, ["no", "yes"])
            with self.assertRaisesRegex(ValueError, "1 labels, expected 2"):
                classes.save(path, labels=["no"])

    def test_mistakes(self):
        with self.assertRaisesRegex(TypeError, "no setting 'speed'"):
            sparc.Learner(inputs=1, outputs=1, speed=3)
        with self.assertRaisesRegex(ValueError, "objective is 'guess', expected one of regress, classify, forecast"):
            sparc.Learner(inputs=1, objective="guess")
        with self.assertRaisesRegex(sparc.Error, "cell gru .* cannot learn online") as caught:
            sparc.Learner(inputs=1, outputs=1, cell="gru")
        self.assertEqual(caught.exception.status, "unsupported")
        learner = sparc.Learner(inputs=1, outputs=1)
        with self.assertRaisesRegex(sparc.Error, "no prediction to score yet"):
            learner.observe(1)
        with self.assertRaisesRegex(sparc.Error, "channel 0 of the input is inf"):
            learner.step(np.inf)
        for settings, kind, message in (({"modes": 2**32 + 8}, ValueError, "modes is 4294967304, expected"),
                                         ({"modes": "8"}, TypeError, "modes is '8', expected a whole number"),
                                         ({"learning_rate": "fast"}, TypeError, "learning_rate is 'fast', expected a number")):
            with self.assertRaisesRegex(kind, message):
                sparc.Learner(inputs=2, outputs=1, **settings)

    def test_scores_and_periods(self):
        learner = sparc.Learner(inputs=1, objective="forecast", horizons=[1, 4])
        rng = np.random.default_rng(1)
        for t in range(400):
            learner.step(np.sin(2 * np.pi * t / 12) + 0.01 * rng.standard_normal())
        scores = learner.scores
        self.assertEqual(list(scores), [1, 4])
        self.assertEqual(scores[4].channels, 1)
        self.assertLess(scores[4].loss, scores[4].persistence)
        self.assertIn(12, learner.periods())
        with self.assertRaises(sparc.Error):
            learner.periods(1)
        with tempfile.TemporaryDirectory() as folder:
            learner.save(Path(folder) / "learner.safetensors")
            np.testing.assert_array_equal(sparc.Model(Path(folder) / "learner.safetensors").params, learner.params)

    def test_the_tool_continues(self):
        """`sparc learn --resume` and Learner.load continue each other's files bit-exactly."""
        rng = np.random.default_rng(2)
        x, y = rng.standard_normal((60, 2)).astype(np.float32), rng.integers(0, 2, 60)
        settings = {"forecast": {}, "regress": {"outputs": 1}, "classify": {"outputs": 2}}
        for objective, more in settings.items():
            learner = sparc.Learner(inputs=2, objective=objective, modes=8, **more)

            def feed(rows):
                for t in rows:
                    learner.step(x[t])
                    if objective != "forecast":
                        learner.observe(y[t])

            with self.subTest(objective), tempfile.TemporaryDirectory() as folder:
                path, lines = Path(folder) / "learner.safetensors", Path(folder) / "lines.csv"
                feed(range(30))
                learner.save(path, labels=["no", "yes"] if objective == "classify" else None)
                target = {"forecast": "", "regress": ",{}", "classify": ",{}"}[objective]
                label = (lambda t: ["no", "yes"][y[t]]) if objective == "classify" else (lambda t: y[t])
                lines.write_text("".join(f"{float(x[t, 0])!r},{float(x[t, 1])!r}{target.format(label(t))}\n"
                                         for t in range(30, 60)))
                run_tool(["learn", "--resume", "--model", str(path), str(lines)])
                feed(range(30, 60))
                again = sparc.Learner.load(path)
                self.assertEqual(again.report.steps, 60)
                np.testing.assert_array_equal(again.params, learner.params)
                before = path.read_bytes()
                again.save(path)  # names of classes and columns stay
                self.assertEqual(path.read_bytes(), before)

    def test_modes(self):
        one, two = (sparc.Learner(inputs=2, outputs=1, **{name: 8}) for name in ("modes", "H"))
        np.testing.assert_array_equal(one.step([1, 2]), two.step([1, 2]))


if __name__ == "__main__":
    unittest.main()
