# SPDX-License-Identifier: MIT
"""Online models with river's interface (learn_one, predict_one) over recurrent networks trained by exact RTRL.

    model = SparcOnlineRegressor(modes=32, learning_rate=0.003)
    for x, y in stream:
        y_pred = model.predict_one(x)
        model.learn_one(x, y)

predict_one(x) followed by learn_one(x, y) is one step of the stream, as in river's progressive validation: the network
takes x once. The features are those of the first x, sorted by name; a missing feature is NaN, other features are
ignored. Learners are recurrent, so the order of samples matters.
"""
from __future__ import annotations

import math
from typing import Any, Hashable, Optional

import numpy as np
from river import base, time_series

from .learners import Learner

__all__ = ["SparcOnlineClassifier", "SparcOnlineForecaster", "SparcOnlineRegressor"]


class _Online:
    """Shared by the models: the learner, created with the first sample, and the sample it has already taken."""

    def _begin(self, **settings):
        self._settings = {name: value for name, value in settings.items() if value is not None}
        self._learner: Optional[Learner] = None
        self._features: list[Hashable] = []
        self._last: Optional[np.ndarray] = None  # input of a prediction whose target is not yet known
        self._output: Optional[np.ndarray] = None

    def _vector(self, x: dict) -> np.ndarray:
        if not self._features:
            self._features = sorted(x, key=str)
            if not self._features:
                raise ValueError("x has no features, expected at least one")
        return np.array([x.get(name, math.nan) for name in self._features], np.float32)

    def _make(self, **more):
        return Learner(inputs=len(self._features), **self._settings, **more)

    def _step(self, x: dict) -> np.ndarray:
        """The output for x; each sample takes one step."""
        vector = self._vector(x)
        if self._learner is None:
            self._learner = self._first_learner()
        if self._last is None or not np.array_equal(self._last, vector, equal_nan=True):
            self._output, self._last = self._learner.step(vector), vector
        return self._output


class SparcOnlineRegressor(_Online, base.Regressor):
    """Predicts a number for each step of a stream."""

    def __init__(self, cell: str = "sparc", modes: int = 64, learning_rate: Optional[float] = None, seed: int = 0):
        self.cell, self.modes, self.learning_rate, self.seed = cell, modes, learning_rate, seed
        self._begin(cell=cell, H=modes, learning_rate=learning_rate, seed=seed)

    def _first_learner(self):
        return self._make(objective="regress", outputs=1)

    def predict_one(self, x: dict) -> float:
        """Predict the number for x; takes the step."""
        return float(self._step(x)[0])

    def learn_one(self, x: dict, y: float) -> "SparcOnlineRegressor":
        """Update the network with target y of x."""
        self._step(x)
        self._learner.observe([y])
        self._last = None
        return self


class SparcOnlineClassifier(_Online, base.Classifier):
    """Predicts a class for each step of a stream; at most `classes` classes, numbered in the order they appear."""

    def __init__(self, cell: str = "sparc", modes: int = 64, learning_rate: Optional[float] = None, classes: int = 16,
                 seed: int = 0):
        self.cell, self.modes, self.learning_rate, self.classes = cell, modes, learning_rate, classes
        self.seed = seed
        self._begin(cell=cell, H=modes, learning_rate=learning_rate, seed=seed)
        self._labels: list[Any] = []

    @property
    def _multiclass(self):
        return True

    def _first_learner(self):
        return self._make(objective="classify", outputs=self.classes)

    def predict_proba_one(self, x: dict) -> dict:
        """Probabilities of the classes seen so far; takes the step."""
        p = self._step(x)[:len(self._labels)].astype(np.float64)
        total = p.sum()
        return {label: float(value / total) for label, value in zip(self._labels, p)} if self._labels else {}

    def predict_one(self, x: dict) -> Any:
        """The most probable class for x; None before the first class."""
        p = self.predict_proba_one(x)
        return max(p, key=p.get) if p else None

    def learn_one(self, x: dict, y: Any) -> "SparcOnlineClassifier":
        """Update the network with class y of x."""
        self._step(x)
        if y not in self._labels:
            if len(self._labels) == self.classes:
                raise ValueError(f"{y!r} is class {self.classes + 1}, expected at most {self.classes}: classes={self.classes}")
            self._labels.append(y)
        self._learner.observe(self._labels.index(y))
        self._last = None
        return self


class SparcOnlineForecaster(_Online, time_series.base.Forecaster):
    """Forecasts a series up to `horizon` steps ahead with the mixture of `sparc learn`. learn_one(y) takes the next value,
    forecast(horizon) returns the values after it, as river's time series models do."""

    def __init__(self, horizon: int = 1, modes: int = 64, learning_rate: Optional[float] = None, seed: int = 0):
        if not 1 <= horizon <= 8:
            raise ValueError(f"horizon is {horizon}, expected 1 to 8")
        self.horizon, self.modes, self.learning_rate, self.seed = horizon, modes, learning_rate, seed
        self._begin(H=modes, learning_rate=learning_rate, seed=seed)
        self._features = ["y"]

    def _first_learner(self):
        return self._make(objective="forecast", horizons=list(range(1, self.horizon + 1)))

    def learn_one(self, y: float, x: Optional[dict] = None) -> "SparcOnlineForecaster":
        """Learn from the next value of the series; x is ignored."""
        if self._learner is None:
            self._learner = self._first_learner()
        self._output = self._learner.step([y])
        return self

    def forecast(self, horizon: int, xs: Optional[list] = None) -> list[float]:
        """The next `horizon` values; zeros before the first one. xs are ignored."""
        if self._output is None:
            return [0.0] * horizon
        if horizon > self.horizon:
            raise ValueError(f"horizon is {horizon}, expected at most {self.horizon}")
        return [float(value) for value in self._output[:horizon]]
