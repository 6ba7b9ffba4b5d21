# SPDX-License-Identifier: MIT
"""Trained models: predictions for whole sequences and for streams."""
from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple, Optional

import numpy as np

from ._library import (Error, Guarded, Handle, address, array, integer, library, numbers, sparc_arrays, sparc_evaluation,
                       text)
from .data import Dataset
from .networks import Network, Preprocessing, config_of

__all__ = ["Evaluation", "Model"]


class Evaluation(NamedTuple):
    """Scores of a model on examples: mean loss, accuracy of classes; nmse, mse and r2 of regression."""

    examples: int
    loss: float
    accuracy: float
    nmse: float
    mse: float
    r2: float


def _read(path):
    """The bytes of a file, which a pickle keeps."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Error("io", f"cannot read '{os.fspath(path)}': {error.strerror}") from None


class Arrays:
    """Sequences of NumPy arrays as samples of the library. Those that are contiguous float32 are not copied."""

    def __init__(self, x: Any, channels: int, labels: Any = None, targets: Any = None, every_step: bool = False):
        self.rows = rows_of(x, channels)
        self.lengths = np.array([len(row) for row in self.rows], np.int32)
        self._x = (ctypes.c_void_p * len(self.rows))(*map(address, self.rows))
        self._labels = array(labels, np.int32, (len(self.rows),), "labels")
        self._targets, pointers, width = None, None, 0
        if targets is not None:
            self._targets = [np.require(t, np.float32, ["C", "A"]) for t in targets]
            if len(self._targets) != len(self.rows):
                raise ValueError(f"there are {len(self._targets)} targets, expected {len(self.rows)}")
            width = self._targets[0].shape[-1] if self._targets[0].ndim else 1
            for target, length in zip(self._targets, self.lengths):
                if target.size != width * (length if every_step else 1):
                    raise ValueError(f"a target has the shape {target.shape}, expected {width} numbers"
                                     f"{' for every step' if every_step else ''}")
            self._pointers = pointers = (ctypes.c_void_p * len(self.rows))(*map(address, self._targets))
        self.struct = sparc_arrays(len(self.rows), channels, ctypes.addressof(self._x), address(self.lengths),
                                   address(self._labels), None if pointers is None else ctypes.addressof(pointers), width,
                                   int(every_step))
        self.samples = library.sparc_samples_of_arrays(ctypes.byref(self.struct))


def rows_of(x: Any, channels: int) -> list[np.ndarray]:
    """x[N, T, channels], [N, T] of one channel, or a list of [T, channels] or [T], as a list of float32 [T, channels]."""
    if isinstance(x, Dataset):
        x = [x[i] for i in range(len(x))]
    if isinstance(x, np.ndarray) and x.dtype != object:
        if x.ndim == 2:
            x = x[:, :, None]
        if x.ndim != 3 or x.shape[2] != channels or 0 in x.shape:
            raise ValueError(f"x has the shape {x.shape}, expected sequences, steps and {channels} inputs")
        return list(numbers(x, np.float32, "x"))
    rows = []
    for i, row in enumerate(x):
        row = numbers(row, np.float32, f"sequence {i}")
        row = row[:, None] if row.ndim == 1 and channels == 1 else row
        if row.ndim != 2 or row.shape[1] != channels or 0 in row.shape:
            raise ValueError(f"sequence {i} has the shape {row.shape}, expected steps and {channels} inputs")
        rows.append(row)
    if not rows:
        raise ValueError("x has no sequence, expected at least one")
    return rows


class Model(Guarded):
    """A trained model: probabilities of classes, or numbers, for whole sequences or one input at a time."""

    inputs: int
    outputs: int
    labels: list[str]

    def __init__(self, path: Any, threads: int = 0, _data: Optional[bytes] = None):
        super().__init__()
        data = _read(path) if _data is None else bytes(_data)
        threads = integer(threads, "threads")
        handle = Handle(lambda out: library.sparc_model_parse(data, len(data), text(path), threads, out),
                        "sparc_model_free")
        info = library.sparc_model_info_of(handle)
        known = info.preprocessing.contents
        self._fix(_arguments=(os.fspath(path), threads, data), _handle=handle, inputs=info.inputs, outputs=info.outputs,
                  _state_size=info.state_size)
        self.labels = [known.labels[i].decode() for i in range(known.classes)]
        self._fix(_every_step=self.metadata("network.head") == "steps")

    def __reduce__(self):
        # the bytes that it was made of: the file may be another one by now
        return type(self), self._arguments

    def metadata(self, key: str) -> Optional[str]:
        """An entry of the file's metadata, None if absent."""
        value = library.sparc_model_metadata(self._handle, text(key))
        return None if value is None else value.decode()

    @property
    def network(self) -> Network:
        """The description of the network."""
        return Network(**config_of(library.sparc_model_info_of(self._handle).network))

    @property
    def params(self) -> np.ndarray:
        """The parameters, flat; network.split(params) has them by name."""
        params = np.empty(library.sparc_model_info_of(self._handle).parameters, np.float32)
        library.sparc_model_params(self._handle, address(params))
        return params

    @property
    def preprocessing(self) -> Preprocessing:
        """Normalisation and labels."""
        known = library.sparc_model_info_of(self._handle).preprocessing.contents

        def numbers(pointer, count):
            return np.array(pointer[:count]) if count else None

        return Preprocessing(numbers(known.mean, known.channels), numbers(known.stddev, known.channels),
                             self.labels or None, numbers(known.target_mean, known.targets),
                             numbers(known.target_stddev, known.targets))

    def predict(self, x: Any) -> np.ndarray:
        """Predictions for x[N, T, inputs], [N, T] of one channel, a list of sequences of different lengths, or a Dataset:
        [N, outputs], or [N, T, outputs] of a model of every step, with T the greatest length and zeros after shorter
        sequences."""
        arrays = Arrays(x, self.inputs)
        n = len(arrays.rows)
        shape = (n, int(arrays.lengths.max()), self.outputs) if self._every_step else (n, self.outputs)
        y = np.zeros(shape, np.float32)
        with self._lock:
            library.sparc_model_predict(self._handle, ctypes.byref(arrays.samples), address(y))
        return y

    def evaluate(self, x: Any, y: Any = None) -> Evaluation:
        """Compares predictions for x with labels (names of `labels`), or with numbers; a Dataset has its own."""
        if isinstance(x, Dataset):
            x, own, _ = x.content()
            y = own if y is None else y
        if y is None:
            raise ValueError("y is missing: what should have been predicted")
        if self.labels:
            names = {name: i for i, name in enumerate(self.labels)}
            unknown = sorted({str(label) for label in y} - set(names))
            if unknown:
                raise ValueError(f"y has the labels {', '.join(unknown)}, expected {', '.join(names)}")
            arrays = Arrays(x, self.inputs, labels=[names[str(label)] for label in y])
        else:
            targets = [np.atleast_1d(np.asarray(row, np.float32)) for row in y]
            arrays = Arrays(x, self.inputs, targets=targets, every_step=self._every_step)
        found = sparc_evaluation()
        with self._lock:
            library.sparc_model_evaluate(self._handle, ctypes.byref(arrays.samples), ctypes.byref(found))
        return Evaluation(*(getattr(found, name) for name in Evaluation._fields))

    def state(self) -> np.ndarray:
        """The initial state of a sequence."""
        return np.zeros(self._state_size, np.float32)

    def step(self, state: np.ndarray, x: Any) -> np.ndarray:
        """Advances state by x[inputs] and returns the prediction for the sequence so far."""
        x = array(np.atleast_1d(x), np.float32, (self.inputs,), "x")
        state = array(state, np.float32, (self._state_size,), "state", written=True)
        y = np.empty(self.outputs, np.float32)
        with self._lock:
            library.sparc_model_step(self._handle, address(state), address(x), address(y))
        return y
