# SPDX-License-Identifier: MIT
"""Online learning with exact gradients (RTRL)."""
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
    """Counts of a learner, and the score of the last prediction whose target is known (scored: the last call had one)."""

    steps: int
    targets: int
    updates: int
    scored: int
    loss: float
    baseline: float
    correct: int
    gradient_norm: float
    last_target: float


class ForecastScore(NamedTuple):
    """Mean squared errors over `channels` (0: none) of the forecasts, of persistence and of the seasonal naive forecast;
    the number of forecasts with an interval, and of intervals that cover the value."""

    channels: int
    loss: float
    persistence: float
    seasonal_naive: float
    intervals: int
    covered: int


_CHOICES = {
    "objective": ["regress", "classify", "forecast"],
    "embedding": ["none", "linear", "tanh"],
    "encoder": ["local", "exact"],
    "init": ["control", "classification"],
    "features": ["output", "relu", "policy"],
    "forecaster": ["network", "mixture"],
}
_NETWORK = {"cell", "cell_options", "kernel", "H", "inputs", "embedding", "width", "layers", "features", "init"}
_OWN = {"objective", "outputs", "hidden", "horizon", "seed", "learning_rate", "recurrent_lr_scale", "weight_decay",
        "max_gradient_norm", "update_every", "encoder", "normalise", "normaliser_window", "forecaster", "coverage"}


_RENAMED = {"modes": "H"}
_STREAM = [f"stream.{key}" for key in ("columns", "classes", "outputs", "decimal", "id", "time", "names")]


def _set(config, name, value):
    """Assign one setting by its Python name."""
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
    """An online learner with exact gradients (RTRL).

        learner = sparc.Learner(inputs=3, outputs=1)
        y = learner.step(x); learner.observe(target)
        learner = sparc.Learner(inputs=1, objective="forecast", horizon=8, cell="rtu", modes=32, learning_rate=0.003)
        y = learner.step(x)

    Settings are the members of sparc_learner_config (sparc/learner.h), with names for enumerations and modes for H. A
    forecaster may have several horizons: horizons=[1, 6]. NaN is a missing value."""

    objective: str
    inputs: int
    outputs: int
    horizon: int
    horizons: list[int]

    def __init__(self, inputs: Optional[int] = None, _file: Any = None, **settings: Any):
        super().__init__()
        if _file is None:
            config = library.sparc_learner_defaults()
            horizons = [integer(h, "horizons") for h in settings.pop("horizons", None) or []]
            if len(horizons) > 1 + len(config.more_horizons):
                raise ValueError(f"{len(horizons)} horizons, expected at most {1 + len(config.more_horizons)}")
            for k, h in enumerate(horizons[1:]):
                config.more_horizons[k] = h
            if horizons or settings.get("objective") == "forecast":
                config.horizon = horizons[0] if horizons else 1
            for name, value in {"inputs": inputs, **settings}.items():
                if value is not None:
                    _set(config, name, value)

            def create(out):
                library.sparc_learner_create(ctypes.byref(config), out)
        else:

            def create(out):
                library.sparc_learner_load(text(_file), out)

        handle = Handle(create, "sparc_learner_free")
        resolved = library.sparc_learner_info_of(handle).config.contents
        self._fix(_handle=handle, objective=_CHOICES["objective"][resolved.objective],
                  inputs=resolved.network.inputs, outputs=resolved.outputs, horizon=resolved.horizon,
                  horizons=[resolved.horizon] + [h for h in resolved.more_horizons if h])
        self._frozen = False
        self._labels: Optional[list[str]] = None
        self._stream: dict[str, str] = {}

    @classmethod
    def load(cls, path: Any) -> "Learner":
        """Load a learner saved by save() or `sparc learn`. It continues bit-exactly and keeps the names of columns and
        classes."""
        learner, model = cls(_file=path), Model(path, threads=1)
        learner._labels = model.labels or None
        learner._stream = {key: value for key in _STREAM if (value := model.metadata(key)) is not None}
        return learner

    def __reduce__(self):
        with self._lock, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.safetensors"
            self.save(path)
            return _learner_of, (path.read_bytes(), self._frozen)

    def step(self, x: Any) -> np.ndarray:
        """Take x[inputs] and return the prediction y[outputs]; a forecaster first learns from x."""
        x = array(np.atleast_1d(x), np.float32, (self.inputs,), "x")
        y = np.empty(self.outputs, np.float32)
        with self._lock:
            library.sparc_learner_step(self._handle, address(x), address(y))
        return y

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Prediction interval (low[outputs], high[outputs]) of the last forecast of a mixture; NaN: none yet."""
        low, high = np.empty(self.outputs, np.float32), np.empty(self.outputs, np.float32)
        with self._lock:
            library.sparc_learner_interval(self._handle, address(low), address(high), None)
        return low, high

    @property
    def anomaly(self) -> np.ndarray:
        """Distance of the last x[inputs] from its forecast, in half widths of the interval; above 1: outside. NaN: none."""
        score = np.empty(self.inputs, np.float32)
        with self._lock:
            library.sparc_learner_interval(self._handle, None, None, address(score))
        return score

    @property
    def scores(self) -> dict[int, ForecastScore]:
        """Scores per horizon of the forecasts whose target was the last input."""
        found, score = {}, sparc_forecast_score()
        with self._lock:
            for k, horizon in enumerate(self.horizons):
                library.sparc_learner_forecast_score(self._handle, k, ctypes.byref(score))
                found[horizon] = ForecastScore(*(getattr(score, name) for name in ForecastScore._fields))
        return found

    def periods(self, channel: int = 0) -> list[int]:
        """Seasonal periods that a mixture has detected in a channel, at most two."""
        found = (ctypes.c_int * 2)()
        with self._lock:
            library.sparc_learner_periods(self._handle, integer(channel, "channel"), found)
        return [period for period in found if period]

    @property
    def params(self) -> np.ndarray:
        """A flat copy of the current parameters; Network.load() of a saved learner has them by name."""
        with self._lock:
            info = library.sparc_learner_info_of(self._handle)
            return np.ctypeslib.as_array(info.params, (info.param_count,)).copy()

    def observe(self, target: Any) -> None:
        """Supply the target of the prediction made `horizon` steps ago, numbers[outputs] or the index of a class, and update
        the weights."""
        if self.objective == "classify":
            label = integer(int(target), "target")
            with self._lock:
                library.sparc_learner_observe_class(self._handle, label)
        else:
            target = array(np.atleast_1d(target), np.float32, (self.outputs,), "target")
            with self._lock:
                library.sparc_learner_observe(self._handle, address(target))

    def reset_state(self) -> None:
        """Start a new sequence with the next input."""
        with self._lock:
            library.sparc_learner_reset_state(self._handle)

    def freeze(self, frozen: bool = True) -> None:
        """Stop (True) or continue (False) learning."""
        with self._lock:
            library.sparc_learner_freeze(self._handle, bool(frozen))
            self._frozen = bool(frozen)

    @property
    def report(self) -> Report:
        """Counts, and the score of the last prediction whose target is known."""
        with self._lock:
            r = library.sparc_learner_report_of(self._handle)
        return Report(*(getattr(r, name) for name in Report._fields))

    def save(self, path: Any, labels: Optional[Sequence[Any]] = None) -> None:
        """Write the complete learner. load() and `sparc learn --resume` continue it; for the latter, columns are the inputs
        followed by the targets or the label. The file is also a Model."""
        if labels is not None and len(labels) != self.outputs:
            raise ValueError(f"{len(labels)} labels, expected {self.outputs}")
        known = self._labels if labels is None else [str(label) for label in labels]
        stream = self._stream if self._stream and known == self._labels else self._columns(known)
        names = None if known is None else (ctypes.c_char_p * len(known))(*(label.encode() for label in known))
        extra = (sparc_metadata * len(stream))(*((key.encode(), value.encode()) for key, value in stream.items()))
        with self._lock:
            library.sparc_learner_save(self._handle, names, extra if stream else None, len(stream), text(path))

    def _columns(self, labels):
        """Metadata of the columns for `sparc learn`: all inputs, then all targets or one label."""
        outputs = labels or [str(k) for k in range(self.outputs)]
        roles = {"regress": "t" * self.outputs, "classify": "l", "forecast": ""}[self.objective]
        stream = {"stream.columns": "i" * self.inputs + roles, "stream.outputs": json.dumps(outputs), "stream.decimal": ".",
                  "stream.id": ""}
        if self.objective == "classify":
            if any("," in label for label in outputs):  # the tool separates classes by commas
                return {}
            stream["stream.classes"] = ",".join(outputs)
        return stream


def _learner_of(data, frozen):
    """Unpickle a learner."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.safetensors"
        path.write_bytes(data)
        learner = Learner.load(path)
    learner.freeze(frozen)
    return learner
