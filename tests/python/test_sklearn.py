# SPDX-License-Identifier: MIT
"""Estimators of scikit-learn; skipped where there is none."""
import pickle
import tempfile
import unittest
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import sparc

try:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from sparc.sklearn import SparcClassifier, SparcForecaster, SparcRegressor
except ImportError as error:
    clone, missing = None, f"scikit-learn cannot be imported: {error}"
else:
    missing = ""

SMALL = {"layers": 1, "width": 8, "modes": 8, "updates": 60, "batch": 16, "threads": 1}


def waves(count, seed, lengths=(40, 41)):
    """Sines of two frequencies with noise, their class names, and their frequencies."""
    random = np.random.default_rng(seed)
    names = np.array(["slow", "fast"])[random.integers(0, 2, count)]
    frequency = np.where(names == "fast", 0.9, 0.3) + 0.05 * random.standard_normal(count)
    rows = [np.sin(f * np.arange(random.integers(*lengths)) + random.uniform(0, 6)) for f in frequency]
    rows = [row + 0.1 * random.standard_normal(len(row)) for row in rows]
    return rows, names, frequency


@unittest.skipIf(clone is None, missing)
class Estimators(unittest.TestCase):

    def test_classifier(self):
        rows, names, _ = waves(60, 1)
        X = np.stack(rows)
        classifier = SparcClassifier(**SMALL).fit(X, names)
        self.assertEqual(list(classifier.classes_), ["fast", "slow"])
        self.assertGreater(classifier.score(X, names), 0.9)
        p = classifier.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(classifier.classes_[p.argmax(axis=1)], classifier.predict(X))
        # aeon's layout, and lists, are the same sequences
        np.testing.assert_array_equal(classifier.predict_proba(X[:, None, :]), p)
        np.testing.assert_allclose(classifier.predict_proba(rows), p, atol=1e-6)

    def test_a_fit_is_a_file_of_the_tool(self):
        rows, names, _ = waves(40, 2)
        classifier = SparcClassifier(**SMALL).fit(rows, names)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            classifier.save(path)
            again = sparc.Model(path).predict(np.stack(rows).astype(np.float32))
        np.testing.assert_allclose(np.sort(again, axis=1), np.sort(classifier.predict_proba(rows), axis=1), atol=1e-6)

    def test_defaults_are_those_of_the_tool(self):
        rows, names, _ = waves(40, 9)
        classifier = SparcClassifier(threads=1).fit(rows, names)
        self.assertEqual(classifier.result_["readout"], "ridge")
        self.assertGreater(classifier.result_["best"]["accuracy"], 0.9)
        self.assertGreater(classifier.score(*waves(40, 10)[:2]), 0.9)
        gradients = SparcClassifier(readout="gradient", updates=3, threads=1).fit(rows, names)
        self.assertEqual(gradients.result_["readout"], "gradient")
        self.assertEqual(SparcClassifier(**SMALL).fit(rows, names).result_["updates"], SMALL["updates"])

    def test_clones_and_pickles(self):
        rows, names, _ = waves(40, 3)
        classifier = SparcClassifier(**SMALL, seed=4)
        self.assertEqual(clone(classifier).get_params(), classifier.get_params())
        classifier.set_params(seed=5).fit(rows, names)
        other = pickle.loads(pickle.dumps(classifier))
        np.testing.assert_array_equal(other.predict_proba(rows), classifier.predict_proba(rows))
        self.assertFalse(hasattr(clone(classifier), "checkpoint_"))
        again = clone(classifier).fit(rows, names)
        self.assertEqual(again.checkpoint_, classifier.checkpoint_)

    def test_unequal_lengths_and_channels(self):
        rows, names, _ = waves(60, 6, (30, 50))
        classifier = SparcClassifier(**{**SMALL, "updates": 200}).fit(rows, names)
        self.assertGreater(classifier.score(rows, names), 0.8)
        pairs = [np.stack([row, -row]) for row in rows]
        self.assertEqual(SparcClassifier(**SMALL).fit(pairs, names).n_channels_in_, 2)
        with self.assertRaisesRegex(ValueError, "X has 2 channels, expected 1"):
            classifier.predict(pairs)

    def test_selection_and_pipelines(self):
        rows, names, _ = waves(48, 7)
        X = np.stack(rows)
        pipeline = make_pipeline(FunctionTransformer(np.negative), SparcClassifier(**SMALL))
        self.assertGreater(cross_val_score(pipeline, X, names, cv=2).mean(), 0.6)
        search = GridSearchCV(SparcClassifier(**SMALL), {"cell": ["sparc", "rtu"]}, cv=2).fit(X, names)
        self.assertIn(search.best_params_["cell"], ("sparc", "rtu"))

    def test_regressor(self):
        rows, _, frequency = waves(120, 8)
        regressor = SparcRegressor(**{**SMALL, "updates": 200}).fit(np.stack(rows), frequency)
        self.assertGreater(regressor.score(np.stack(rows), frequency), 0.8)

    def test_forecaster(self):
        series = np.sin(0.3 * np.arange(400)) + 5
        forecaster = SparcForecaster(horizon=3, **{**SMALL, "updates": 600}).fit(series)
        error = abs(forecaster.predict(series[:200]) - series[202])
        self.assertLess(error, 0.3)
        self.assertGreater(forecaster.score(series), 0.8)
        self.assertEqual(forecaster.predict(series[:, None]).shape, (1,))
        with self.assertRaisesRegex(ValueError, "has 2 channels, expected 1"):
            forecaster.predict(np.zeros((50, 2)))
        with self.assertRaisesRegex(ValueError, "the series contains NaN"):
            SparcForecaster(**SMALL).fit(np.where(series > 5.9, np.nan, series))
        with self.assertRaisesRegex(ValueError, "has 3 steps, expected at least 5"):
            SparcForecaster(horizon=3, **SMALL).fit(series[:3])

    @unittest.skipIf(find_spec("pandas") is None, "there is no pandas")
    def test_columns_of_forecasts_have_names(self):
        import pandas
        t = np.arange(200)
        frame = pandas.DataFrame({"a": np.sin(0.2 * t), "b": 3 + np.cos(0.2 * t)})
        forecaster = SparcForecaster(**SMALL).fit(frame)
        want = forecaster.predict(frame)
        np.testing.assert_array_equal(forecaster.predict(frame[["b", "a"]].assign(other=1.0)), want)
        self.assertEqual(forecaster.score(frame[["b", "a"]]), forecaster.score(frame))
        with self.assertRaisesRegex(ValueError, "no column 'b', which it had in fit"):
            forecaster.predict(frame[["a"]])
        self.assertFalse(hasattr(forecaster.fit(frame.to_numpy()), "feature_names_in_"))

    def test_estimator_checks(self):
        from sklearn.utils.estimator_checks import check_estimator
        lengths = "sequences may have other lengths than those of fit"
        expected = {"check_n_features_in_after_fitting": lengths, "check_classifiers_train": lengths}
        settings = {"layers": 0, "modes": 8, "updates": 300, "batch": 16, "learning_rate": 0.03, "threads": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in (SparcClassifier, SparcRegressor):
                made = check_estimator(kind(**settings), expected_failed_checks=expected, on_fail=None, on_skip=None)
                failed = {row["check_name"]: row["exception"] for row in made if row["status"] == "failed"}
                self.assertEqual(failed, {})
                self.assertGreater(sum(row["status"] == "passed" for row in made), 30)

    def test_rate_is_deprecated(self):
        rows, names, _ = waves(20, 9)
        want = SparcClassifier(learning_rate=0.02, **SMALL).fit(rows, names).checkpoint_
        old = clone(SparcClassifier(**SMALL).set_params(rate=0.02))
        with self.assertWarnsRegex(DeprecationWarning, "use learning_rate"):
            self.assertEqual(old.fit(rows, names).checkpoint_, want)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(ValueError, "learning_rate and rate exclude each other"):
                old.set_params(learning_rate=0.01).fit(rows, names)

    @unittest.skipIf(find_spec("aeon") is None, "there is no aeon")
    def test_aeon(self):
        from aeon.datasets import load_basic_motions, load_unit_test
        from aeon.transformations.collection import Normalizer
        X, y = load_unit_test(split="train")  # [N, C, T]
        classifier = SparcClassifier(**SMALL).fit(X, y)
        self.assertEqual(classifier.predict(X).shape, y.shape)
        pipeline = make_pipeline(Normalizer(), SparcClassifier(**SMALL))
        self.assertEqual(pipeline.fit(X, y).predict(X).shape, y.shape)
        X, y = load_basic_motions(split="train")  # six channels
        self.assertEqual(SparcClassifier(**{**SMALL, "updates": 5}).fit(X, y).n_channels_in_, 6)
        ragged = [row[:, :60 + i % 7] for i, row in enumerate(X)]  # aeon's layout of different lengths
        self.assertEqual(len(SparcClassifier(**{**SMALL, "updates": 5}).fit(ragged, y).predict(ragged)), len(y))

    def test_refusals(self):
        rows, names, frequency = waves(20, 9)
        with self.assertRaisesRegex(ValueError, "NaN"):
            SparcClassifier(**SMALL).fit(np.full((4, 5), np.nan), names[:4])
        with self.assertRaisesRegex(ValueError, "NaN or infinity"):
            SparcClassifier(**SMALL).fit(np.full((4, 1, 5), np.nan), names[:4])
        with self.assertRaisesRegex(ValueError, r"inconsistent numbers of samples: \[20, 3\]"):
            SparcClassifier(**SMALL).fit(rows, names[:3])
        with self.assertRaisesRegex(ValueError, "one class"):
            SparcClassifier(**SMALL).fit(rows, ["a"] * 20)
        with self.assertRaisesRegex(sparc.Error, "unknown cell kind 'spark'"):
            SparcClassifier(**{**SMALL, "cell": "spark"}).fit(rows, names)
        with self.assertRaisesRegex(sparc.Error, "^modes is '-1', expected"):
            SparcClassifier(**{**SMALL, "modes": -1}).fit(rows, names)
        with self.assertRaisesRegex(ValueError, "y contains NaN or None"):
            SparcClassifier(**SMALL).fit(rows, np.array(["a", None] * 10, object))
        from sklearn.exceptions import NotFittedError
        with self.assertRaises(NotFittedError):
            SparcRegressor().predict(rows)


if __name__ == "__main__":
    unittest.main()
