# SPDX-License-Identifier: MIT
"""scikit-learn estimators that classify, regress or forecast sequences.

    classifier = SparcClassifier(seed=1)
    cross_val_score(classifier, X, y)

X is [N, T] for one channel, [N, C, T] as in aeon, or a list of arrays [T] or [C, T] of different lengths. Training is
`sparc train` in a process of its own: it stops when Python is interrupted, and `checkpoint_` is a file for the tool.
Parameters that are None have the defaults of the tool: up to 1,000 sequences are classified by a ridge readout on a bank
of filters unless a parameter of the network or its training is given.
"""
from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (_check_feature_names, check_array, check_consistent_length, check_is_fitted,
                                      column_or_1d)

from .__main__ import run_tool
from ._library import Error
from .models import Model

__all__ = ["SparcClassifier", "SparcForecaster", "SparcRegressor"]


def _is_table(X):
    """Whether X is to be read as [N, T]; else it is [N, C, T] or a list of sequences."""
    if hasattr(X, "iloc") or hasattr(X, "tocsr"):
        return True
    if isinstance(X, (list, tuple)):
        return not any(np.ndim(row) == 2 for row in X) and len({np.size(row) for row in X}) <= 1
    X = np.asarray(X)
    return X.ndim != 3 and not (X.dtype == object and X.ndim == 1)


def _sequences(X):
    """X as a list of float arrays [T, C], all with the same C."""
    if _is_table(X):
        X = check_array(X, dtype=np.float64)
    rows = []
    for row in X:
        row = np.asarray(row, dtype=np.float64)
        if row.ndim not in (1, 2) or 0 in row.shape:
            raise ValueError(f"a sequence has the shape {row.shape}, expected [T] or [C, T], none of them 0")
        if not np.isfinite(row).all():
            raise ValueError("X contains NaN or infinity")
        rows.append(np.ascontiguousarray(np.atleast_2d(row).T, np.float32))
    if not rows:
        raise ValueError("X has no sequence, expected at least one")
    channels = {row.shape[1] for row in rows}
    if len(channels) > 1:
        raise ValueError(f"sequences have {sorted(channels)} channels, expected the same number in all of them")
    if not all(np.isfinite(row).all() for row in rows):
        raise ValueError("X contains values that are too large for float32")
    return rows


def _by_length(rows):
    """Indices of the sequences of each length."""
    groups = {}
    for i, row in enumerate(rows):
        groups.setdefault(len(row), []).append(i)
    return groups.values()


def _write(rows, targets, folder):
    """The sequences as a file for the tool: NPZ for equal lengths, else ts."""
    if len({len(row) for row in rows}) == 1:
        path = Path(folder) / "data.npz"
        np.savez(path, x=np.stack(rows), y=targets)
        return path
    path = Path(folder) / "data.ts"
    lines = ["@problemName data", "@timeStamps false", "@missing false", f"@univariate {str(rows[0].shape[1] == 1).lower()}",
             f"@dimensions {rows[0].shape[1]}", "@equalLength false"]
    if np.issubdtype(np.asarray(targets).dtype, np.integer):
        lines.append("@classLabel true " + " ".join(str(label) for label in np.unique(targets)))
    else:
        lines.append("@targetLabel true")
    lines.append("@data")
    for row, target in zip(rows, targets):
        channels = (",".join(repr(float(value)) for value in row[:, c]) for c in range(row.shape[1]))
        lines.append(":".join(channels) + f":{target}")
    path.write_text("\n".join(lines) + "\n")
    return path


def _run(arguments):
    """Runs `sparc train` and returns the JSON object that it prints."""
    try:
        return json.loads(run_tool(["train", "--json", "--quiet", *arguments]).splitlines()[-1])
    except Error as error:  # options of the tool are parameters here
        raise Error(error.status, str(error).removeprefix("--")) from None


class _Estimator(BaseEstimator):
    """Base of the estimators: settings of `sparc train`, and the fitted model."""

    def __init__(self, cell=None, cell_options=None, modes=None, layers=None, width=None, updates=None, batch=None,
                 learning_rate=None, dropout=None, patience=None, validation=None, seed=0, threads=None,
                 rate="deprecated", readout=None):
        self.cell = cell
        self.cell_options = cell_options
        self.modes = modes
        self.layers = layers
        self.width = width
        self.updates = updates
        self.batch = batch
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.patience = patience
        self.validation = validation
        self.seed = seed
        self.threads = threads
        self.rate = rate
        self.readout = readout

    _OPTIONS = ("cell", "cell_options", "modes", "layers", "width", "updates", "batch", "learning_rate", "dropout",
                "patience", "validation", "seed", "threads", "readout")

    def _arguments(self):
        given = {name: getattr(self, name) for name in self._OPTIONS}
        if self.rate != "deprecated":  # the former name
            warnings.warn("rate is deprecated, use learning_rate", DeprecationWarning, stacklevel=4)
            if self.learning_rate is not None:
                raise ValueError("learning_rate and rate exclude each other, expected learning_rate")
            given["learning_rate"] = self.rate
        return [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]

    def _fitted_to(self, X):
        """The sequences of a fit; later ones must match their shape."""
        rows = _sequences(X)
        if len(rows) < 2:
            raise ValueError(f"X has {len(rows)} sample, expected a minimum of 2 is required: one is for validation")
        _check_feature_names(self, X, reset=True)
        self.n_channels_in_ = rows[0].shape[1]
        if _is_table(X):
            self.n_features_in_ = len(rows[0])
        return rows

    def _train(self, rows, targets, *more):
        with tempfile.TemporaryDirectory() as folder:
            path, run = _write(rows, targets, folder), Path(folder) / "run"
            self.result_ = _run([str(path), f"--out={run}", *self._arguments(), *more])
            best = run / "best.safetensors"
            self.checkpoint_ = (best if best.exists() else run / "last.safetensors").read_bytes()
        self._model = Model("checkpoint_", threads=self.threads or 0, _data=self.checkpoint_)
        return self

    def _loaded(self):
        check_is_fitted(self, "checkpoint_")
        if self._model is None:
            self._model = Model("checkpoint_", threads=self.threads or 0, _data=self.checkpoint_)
        return self._model

    def __getstate__(self):
        return {**super().__getstate__(), **({"_model": None} if hasattr(self, "_model") else {})}

    def save(self, path: Any) -> None:
        """Writes the model as a file for `sparc eval` and `sparc predict`."""
        check_is_fitted(self, "checkpoint_")
        temporary = f"{os.fspath(path)}.tmp.{os.getpid()}"
        Path(temporary).write_bytes(self.checkpoint_)
        os.replace(temporary, path)

    def _outputs(self, X):
        model = self._loaded()
        _check_feature_names(self, X, reset=False)
        rows = _sequences(X)
        if rows[0].shape[1] != self.n_channels_in_:
            raise ValueError(f"X has {rows[0].shape[1]} channels, expected {self.n_channels_in_} as in fit")
        outputs = np.empty((len(rows), model.outputs))
        for group in _by_length(rows):
            y = model.predict(np.stack([rows[i] for i in group]))
            outputs[group] = y if y.ndim == 2 else y[:, -1]
        return outputs


def _targets(y, rows):
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if y.dtype == object and any(label is None or label != label for label in y):
        raise ValueError("y contains NaN or None, expected a label for each sequence")
    check_consistent_length(rows, y)
    return y


class SparcClassifier(ClassifierMixin, _Estimator):
    """Classifies whole sequences."""

    def fit(self, X: Any, y: Any) -> "SparcClassifier":
        """Trains on sequences and the names of their classes."""
        rows = self._fitted_to(X)
        y = _targets(y, rows)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_[0]!r}, expected two or more classes")
        return self._train(rows, codes.astype(np.int64))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [N, classes], in the order of classes_."""
        outputs = self._outputs(X)
        return outputs[:, np.argsort([int(float(label)) for label in self._loaded().labels])]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sequence."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]


class SparcRegressor(RegressorMixin, _Estimator):
    """Predicts one number for a whole sequence."""

    def fit(self, X: Any, y: Any) -> "SparcRegressor":
        """Trains on sequences and a number for each."""
        rows = self._fitted_to(X)
        y = check_array(_targets(y, rows), dtype=np.float64, ensure_2d=False, input_name="y")
        return self._train(rows, y, "--objective=regress")

    def predict(self, X: Any) -> np.ndarray:
        """A number for each sequence."""
        return self._outputs(X)[:, 0]


class SparcForecaster(_Estimator):
    """Forecasts a series `horizon` steps ahead. fit takes one series [T] or [T, C]; predict takes such a series and returns
    the value of each channel `horizon` steps after its end."""

    def __init__(self, horizon=1, context=None, cell=None, cell_options=None, modes=None, layers=None, width=None,
                 updates=None, batch=None, learning_rate=None, dropout=None, patience=None, validation=None, seed=0,
                 threads=None, rate="deprecated", readout=None):
        super().__init__(cell, cell_options, modes, layers, width, updates, batch, learning_rate, dropout, patience,
                         validation, seed, threads, rate, readout)
        self.horizon = horizon
        self.context = context

    def _table(self, series):
        """The series as [T, C]; columns of a pandas frame are matched by their names in fit."""
        if hasattr(series, "columns") and hasattr(self, "feature_names_in_"):
            absent = [name for name in self.feature_names_in_ if name not in series.columns]
            if absent:
                raise ValueError(f"the series has no column {absent[0]!r}, which it had in fit")
            series = series[list(self.feature_names_in_)]
        values = np.asarray(series, np.float64)
        table = values[:, None] if values.ndim == 1 else values
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"the series has the shape {values.shape}, expected [T] or [T, C], none of them 0")
        if not np.isfinite(table).all():
            raise ValueError("the series contains NaN or infinity")
        return table

    def fit(self, series: Any, y: Any = None) -> "SparcForecaster":
        """Trains on one series."""
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        table = self._table(series)
        if len(table) < self.horizon + 2:
            raise ValueError(f"the series has {len(table)} steps, expected at least {self.horizon + 2} for horizon "
                             f"{self.horizon}")
        _check_feature_names(self, series, reset=True)
        more = ["--objective=forecast", f"--horizon={self.horizon}", "--time=time"]
        if self.context is not None:
            more.append(f"--context={self.context}")
        with tempfile.TemporaryDirectory() as folder:
            path, run = Path(folder) / "series.csv", Path(folder) / "run"
            header = ",".join(["time", *(f"c{c}" for c in range(table.shape[1]))])
            lines = (",".join([str(t), *(repr(float(v)) for v in row)]) for t, row in enumerate(table))
            path.write_text("\n".join([header, *lines]) + "\n")
            self.result_ = _run([str(path), f"--out={run}", *self._arguments(), *more])
            self.checkpoint_ = (run / "best.safetensors").read_bytes()
        self.n_channels_in_ = table.shape[1]
        self._model = Model("checkpoint_", threads=self.threads or 0, _data=self.checkpoint_)
        return self

    def _forecasts(self, table):
        """The forecasts [T, C] that the model makes along a series."""
        model = self._loaded()
        if table.shape[1] != self.n_channels_in_:
            raise ValueError(f"the series has {table.shape[1]} channels, expected {self.n_channels_in_} as in fit")
        return model.predict(table[None].astype(np.float32))[0]

    def predict(self, series: Any) -> Any:
        """The value, or the value of each channel, `horizon` steps after the end of a series."""
        check_is_fitted(self, "checkpoint_")
        y = self._forecasts(self._table(series))[-1].astype(np.float64)
        return y[0] if np.ndim(series) == 1 else y

    def score(self, series: Any, y: Any = None) -> float:
        """R2 of the forecasts along a series, each from the values up to its step; mean over channels."""
        check_is_fitted(self, "checkpoint_")
        table = self._table(series)
        if len(table) < self.horizon + 2:
            raise ValueError(f"the series has {len(table)} steps, expected at least {self.horizon + 2} for horizon "
                             f"{self.horizon}")
        return float(r2_score(table[self.horizon:], self._forecasts(table)[:-self.horizon]))
