# SPDX-License-Identifier: MIT
"""Networks that learn while they run."""
from __future__ import annotations

import ctypes
import tempfile
from collections import namedtuple
from pathlib import Path
from typing import Any, Optional, Sequence

import numpy as np

from ._library import Guarded, Handle, address, array, integer, library, sparc_learner_report, text

Report = namedtuple("Report", [name for name, _ in sparc_learner_report._fields_])

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


def _value(name, value):
    if name not in _CHOICES:
        return text(value) if isinstance(value, str) else value
    if value not in _CHOICES[name]:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES[name])}")
    return _CHOICES[name].index(value)


class Learner(Guarded):
    """Learner(inputs=3, outputs=1) and the members of sparc_learner_config, choices by their names:
    Learner(inputs=1, goal='forecast', horizon=8, cell='rtu', H=32, rate=0.003). A forecast may have several horizons:
    Learner(inputs=1, goal='forecast', horizons=[1, 6]); NaN is a missing value."""

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
            if horizons:
                config.horizon = horizons[0]
            for name, value in {"inputs": inputs, **settings}.items():
                if name not in _NETWORK | _OWN:
                    raise TypeError(f"a learner has no setting {name!r}, expected one of "
                                    f"{', '.join(sorted(_NETWORK | _OWN))}")
                if value is not None:
                    setattr(config.network if name in _NETWORK else config, name, _value(name, value))

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

    @classmethod
    def restore(cls, path: Any) -> "Learner":
        """The learner of a file; it goes on to the bit."""
        return cls(_restore=path)

    def __reduce__(self):
        with self._lock, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.safetensors"
            library.sparc_learner_save(self._handle, None, None, 0, text(path))
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
        """Writes everything that going on needs; the file is a Model, too."""
        if labels is not None and len(labels) != self.outputs:
            raise ValueError(f"{len(labels)} labels, expected {self.outputs}")
        names = None if labels is None else (ctypes.c_char_p * len(labels))(*(str(label).encode() for label in labels))
        with self._lock:
            library.sparc_learner_save(self._handle, names, None, 0, text(path))


def _learner_of(data, frozen):
    """A learner as it was pickled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.safetensors"
        path.write_bytes(data)
        learner = Learner.restore(path)
    learner.freeze(frozen)
    return learner
