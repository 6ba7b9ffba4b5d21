# SPDX-License-Identifier: MIT
"""Networks that learn while they run."""
from __future__ import annotations

import ctypes
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from ._library import Guarded, Handle, address, array, assign, integer, library, sparc_forecast_score, sparc_metadata, text
from .models import Model

__all__ = ["ForecastScore", "Learner", "Report"]


class Report(NamedTuple):
    """Counts of a learner, and how good its last answer was of which the truth is known (judged: there is one)."""

    steps: int
    truths: int
    updates: int
    judged: int
    loss: float
    naive: float
    right: int
    gradient_norm: float
    last: float


class ForecastScore(NamedTuple):
    """Mean squared errors over `channels`, 0 if there were none, of forecasts, of persistence and of the seasonal naive
    forecast; how many forecasts had an interval, and how many of these covered the value."""

    channels: int
    loss: float
    persistence: float
    seasonal_naive: float
    intervals: int
    covered: int


_CHOICES = {
    "goal": ["numbers", "classes", "forecast"],
    "embedding": ["none", "linear", "tanh"],
    "encoder": ["local", "exact"],
    "init": ["control", "classification"],
    "features": ["output", "relu", "policy"],
    "forecaster": ["network", "mixture"],
}
_NETWORK = {"cell", "cell_options", "kernel", "H", "inputs", "embedding", "width", "layers", "features", "init"}
_OWN = {"goal", "outputs", "hidden", "horizon", "seed", "rate", "recurrent_rate", "decay", "clip", "every", "encoder",
        "normalise", "memory", "forecaster", "coverage"}


_RENAMED = {"modes": "H"}
_STREAM = [f"stream.{key}" for key in ("columns", "classes", "outputs", "decimal", "id", "time", "names")]


def _set(config, name, value):
    """One setting of a configuration, by the name that it has in Python."""
    member = _RENAMED.get(name, name)
    if member not in _NETWORK | _OWN:
        known = sorted((_NETWORK | _OWN | set(_RENAMED)) - set(_RENAMED.values()))
        raise TypeError(f"a learner has no setting {name!r}, expected one of {', '.join(known)}")
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES[name])}")
        value = _CHOICES[name].index(value)
    assign(config.network if member in _NETWORK else config, member, value, name)


class Learner(Guarded):
    """A network that learns while it runs, with exact sensitivities.

        learner = sparc.Learner(inputs=3, outputs=1)
        y = learner.step(x); learner.learn(target)
        learner = sparc.Learner(inputs=1, goal="forecast", horizon=8, cell="rtu", modes=32, rate=0.003)
        y = learner.step(x)

    Settings are the members of sparc_learner_config (sparc/learner.h), choices by their names, and modes for H. A forecast
    may have several horizons: horizons=[1, 6]. NaN is a missing value."""

    goal: str
    inputs: int
    outputs: int
    horizon: int
    horizons: list[int]

    def __init__(self, inputs: Optional[int] = None, _restore: Any = None, **settings: Any):
        super().__init__()
        if _restore is None:
            config = library.sparc_learner_defaults()
            horizons = [integer(h, "horizons") for h in settings.pop("horizons", None) or []]
            if len(horizons) > 1 + len(config.more_horizons):
                raise ValueError(f"{len(horizons)} horizons, expected at most {1 + len(config.more_horizons)}")
            for k, h in enumerate(horizons[1:]):
                config.more_horizons[k] = h
            if horizons or settings.get("goal") == "forecast":
                config.horizon = horizons[0] if horizons else 1
            for name, value in {"inputs": inputs, **settings}.items():
                if value is not None:
                    _set(config, name, value)

            def create(out):
                library.sparc_learner_create(ctypes.byref(config), out)
        else:

            def create(out):
                library.sparc_learner_restore(text(_restore), out)

        handle = Handle(create, "sparc_learner_free")
        resolved = library.sparc_learner_config_of(handle)
        self._fix(_handle=handle, goal=_CHOICES["goal"][resolved.goal], inputs=resolved.network.inputs,
                  outputs=resolved.outputs, horizon=resolved.horizon,
                  horizons=[resolved.horizon] + [h for h in resolved.more_horizons if h])
        self._frozen = False
        self._labels: Optional[list[str]] = None
        self._stream: dict[str, str] = {}

    @classmethod
    def restore(cls, path: Any) -> "Learner":
        """The learner of a file that save() or `sparc learn` wrote; it continues bit-exactly, and keeps names of columns and
        classes."""
        learner, model = cls(_restore=path), Model(path, threads=1)
        learner._labels = model.labels or None
        learner._stream = {key: value for key in _STREAM if (value := model.metadata(key)) is not None}
        return learner

    def __reduce__(self):
        with self._lock, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.safetensors"
            self.save(path)
            return _learner_of, (path.read_bytes(), self._frozen)

    def step(self, x: Any) -> np.ndarray:
        """Takes x[inputs] and gives the answer y[outputs]; of a forecast it first learns from x."""
        x = array(np.atleast_1d(x), np.float32, (self.inputs,), "x")
        y = np.empty(self.outputs, np.float32)
        with self._lock:
            library.sparc_learner_step(self._handle, address(x), address(y))
        return y

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The prediction interval (low[outputs], high[outputs]) of the last forecast by a mixture; NaN: none yet."""
        low, high = np.empty(self.outputs, np.float32), np.empty(self.outputs, np.float32)
        with self._lock:
            library.sparc_learner_interval(self._handle, address(low), address(high))
        return low, high

    @property
    def anomaly(self) -> np.ndarray:
        """How far x[inputs] of the last step lay from its forecast; above 1: outside the interval. NaN: there is none."""
        score = np.empty(self.inputs, np.float32)
        with self._lock:
            library.sparc_learner_anomaly(self._handle, address(score))
        return score

    @property
    def scores(self) -> dict[int, ForecastScore]:
        """Of each horizon: the forecasts whose target the last input was."""
        found, score = {}, sparc_forecast_score()
        with self._lock:
            for k, horizon in enumerate(self.horizons):
                library.sparc_learner_forecast_score(self._handle, k, ctypes.byref(score))
                found[horizon] = ForecastScore(*(getattr(score, name) for name in ForecastScore._fields))
        return found

    def periods(self, channel: int = 0) -> list[int]:
        """The periods that a mixture has detected in a channel, at most two."""
        found = (ctypes.c_int * 2)()
        with self._lock:
            library.sparc_learner_periods(self._handle, integer(channel, "channel"), found)
        return [period for period in found if period]

    @property
    def params(self) -> np.ndarray:
        """A copy of the parameters as they are now, flat; Network.load() of a saved learner has them by name."""
        with self._lock:
            size = library.sparc_network_sizes_of(library.sparc_learner_network(self._handle)).params
            pointer = ctypes.cast(library.sparc_learner_params(self._handle), ctypes.POINTER(ctypes.c_float))
            return np.ctypeslib.as_array(pointer, (size,)).copy()

    def learn(self, truth: Any) -> None:
        """Tells the truth about the answer of `horizon` steps ago: numbers[outputs], or the number of a class."""
        if self.goal == "classes":
            label = integer(int(truth), "truth")
            with self._lock:
                library.sparc_learner_learn_class(self._handle, label)
        else:
            truth = array(np.atleast_1d(truth), np.float32, (self.outputs,), "truth")
            with self._lock:
                library.sparc_learner_learn(self._handle, address(truth))

    def begin(self) -> None:
        """The next input starts a new sequence."""
        with self._lock:
            library.sparc_learner_begin(self._handle)

    def freeze(self, frozen: bool = True) -> None:
        """Stops learning, or goes on with it."""
        with self._lock:
            library.sparc_learner_freeze(self._handle, bool(frozen))
            self._frozen = bool(frozen)

    @property
    def report(self) -> Report:
        """Counts, and how good the last answer was of which the truth is known."""
        with self._lock:
            r = library.sparc_learner_report_of(self._handle)
        return Report(*(getattr(r, name) for name in Report._fields))

    def save(self, path: Any, labels: Optional[Sequence[Any]] = None) -> None:
        """Writes everything that continuing needs, here or by `sparc learn --resume`, whose columns are then the inputs,
        followed by the targets or the label. The file is a Model, too."""
        if labels is not None and len(labels) != self.outputs:
            raise ValueError(f"{len(labels)} labels, expected {self.outputs}")
        known = self._labels if labels is None else [str(label) for label in labels]
        stream = self._stream if self._stream and known == self._labels else self._columns(known)
        names = None if known is None else (ctypes.c_char_p * len(known))(*(label.encode() for label in known))
        extra = (sparc_metadata * len(stream))(*((key.encode(), value.encode()) for key, value in stream.items()))
        with self._lock:
            library.sparc_learner_save(self._handle, names, extra if stream else None, len(stream), text(path))

    def _columns(self, labels):
        """How `sparc learn` reads lines for this learner: all inputs, then all targets or one label."""
        outputs = labels or [str(k) for k in range(self.outputs)]
        roles = {"numbers": "t" * self.outputs, "classes": "l", "forecast": ""}[self.goal]
        stream = {"stream.columns": "i" * self.inputs + roles, "stream.outputs": json.dumps(outputs), "stream.decimal": ".",
                  "stream.id": ""}
        if self.goal == "classes":
            if any("," in label for label in outputs):  # which the tool separates classes by
                return {}
            stream["stream.classes"] = ",".join(outputs)
        return stream


def _learner_of(data, frozen):
    """A learner as it was pickled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.safetensors"
        path.write_bytes(data)
        learner = Learner.restore(path)
    learner.freeze(frozen)
    return learner
