# SPDX-License-Identifier: MIT
"""Online models in river's style; skipped where there is none. Batched streams."""
import copy
import pickle
import unittest

import numpy as np

import sparc

try:
    from river import evaluate, metrics, time_series

    from sparc.river import SparcOnlineClassifier, SparcOnlineForecaster, SparcOnlineRegressor
except ImportError as error:
    evaluate, missing = None, f"river cannot be imported: {error}"
else:
    missing = ""


class Batches(unittest.TestCase):

    def test_streams_are_single_streams(self):
        rng = np.random.default_rng(1)
        cell = sparc.Cell("sparc", 3, 8)
        params, x = cell.init(), rng.standard_normal((20, 4, 3)).astype(np.float32)
        dy = rng.standard_normal((4, cell.sizes.output)).astype(np.float32)
        plain, exact = sparc.Streams(cell, params, 4), sparc.Streams(cell, params, 4, sensitivities=True)
        singles = [cell.stream(params, sensitivities=True) for _ in range(4)]
        want = np.zeros(cell.sizes.params, np.float32)
        for t in range(20):
            reset = [t == 7, False, t == 11, False]
            y = exact.step(x[t], reset)
            np.testing.assert_array_equal(plain.step(x[t], reset), y)
            for i, single in enumerate(singles):
                np.testing.assert_array_equal(single.step(x[t, i], reset[i]), y[i])
                single.gradient(dy[i], want)
            got, dx = exact.gradient(dy, np.zeros(cell.sizes.params, np.float32) if t == 0 else got)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        # the gradient of the last input, by differences of a network in double
        def last(moved):
            states = sparc.Streams(cell, params, 4)
            for t in range(20):
                y = states.step(moved if t == 19 else x[t], [t == 7, False, t == 11, False])
            return (y.astype(np.float64) * dy).sum()

        for i, d in ((0, 0), (2, 1)):
            up, down = x[19].copy(), x[19].copy()
            up[i, d] += 1e-2
            down[i, d] -= 1e-2
            self.assertAlmostEqual((last(up) - last(down)) / 2e-2, dx[i, d], delta=1e-2)
        with self.assertRaisesRegex(ValueError, "have no sensitivities"):
            plain.gradient(dy)
        with self.assertRaisesRegex(ValueError, "there was no step yet"):
            sparc.Streams(cell, params, 4, sensitivities=True).gradient(dy)
        other = pickle.loads(pickle.dumps(exact))
        for one, two in ((exact.gradient(dy), other.gradient(dy)), ([exact.step(x[3])], [other.step(x[3])])):
            for a, b in zip(one, two):
                np.testing.assert_array_equal(a, b)


@unittest.skipIf(evaluate is None, missing)
class Online(unittest.TestCase):

    def test_regressor(self):
        rng = np.random.default_rng(2)
        values = rng.standard_normal(1500)
        stream = [({"a": values[t], "b": float(rng.standard_normal())}, values[t - 2]) for t in range(2, 1500)]
        model = SparcOnlineRegressor(modes=16, learning_rate=0.01)
        score = evaluate.progressive_val_score(stream, model, metrics.MAE())
        self.assertLess(score.get(), 0.6)  # of the mean 0.8
        again = SparcOnlineRegressor(modes=16, learning_rate=0.01)
        for x, y in stream[:50]:
            again.learn_one(x, y)
        other = pickle.loads(pickle.dumps(again))
        self.assertEqual(other.predict_one(stream[50][0]), again.predict_one(stream[50][0]))
        self.assertEqual(again.predict_one(stream[51][0]), again.predict_one(stream[51][0]))
        self.assertEqual(again.clone().modes, 16)
        self.assertEqual(copy.deepcopy(again).learning_rate, 0.01)

    def test_classifier(self):
        rng = np.random.default_rng(3)
        bits = rng.integers(0, 2, 1500)
        stream = [({"bit": float(bits[t])}, "one" if bits[t - 1] else "zero") for t in range(1, 1500)]
        model = SparcOnlineClassifier(modes=16, learning_rate=0.01, classes=3)
        self.assertIsNone(model.predict_one({"bit": 0.0}))
        score = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
        self.assertGreater(score.get(), 0.75)
        p = model.predict_proba_one({"bit": 1.0})
        self.assertAlmostEqual(sum(p.values()), 1)

    def test_forecaster(self):
        model = SparcOnlineForecaster(horizon=3, modes=8)
        for t in range(300):
            model.learn_one(np.sin(0.3 * t))
        np.testing.assert_allclose(model.forecast(3), np.sin(0.3 * np.arange(300, 303)), atol=0.1)
        with self.assertRaisesRegex(ValueError, "expected at most 3"):
            model.forecast(4)
        self.assertIsInstance(model, time_series.base.Forecaster)

    def test_features_that_change(self):
        model = SparcOnlineRegressor(modes=8)
        for t in range(20):
            model.learn_one({"a": np.sin(t), "b": 1.0} if t % 3 else {"c": 3.0, "b": 1.0}, np.sin(t))
        other = copy.deepcopy(model)
        self.assertEqual(model.predict_one({"a": 0.1, "b": 2.0}), other.predict_one({"b": 2.0, "a": 0.1, "d": "new"}))
        with self.assertRaisesRegex(ValueError, "x has no features"):
            SparcOnlineRegressor().predict_one({})

    def test_rivers_own_checks(self):
        from river import checks
        for model in (SparcOnlineRegressor(modes=8), SparcOnlineClassifier(modes=8)):
            for check in checks.yield_checks(model):
                name = getattr(check, "__name__", None) or check.func.__name__
                with self.subTest(f"{type(model).__name__} {name}"):
                    check(model.clone())


if __name__ == "__main__":
    unittest.main()
