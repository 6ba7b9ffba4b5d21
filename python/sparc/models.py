# SPDX-License-Identifier: MIT
"""What `sparc train` and `sparc learn` leave in files, used on raw values."""
import ctypes
import io
import os

import numpy as np

from ._library import Error, Guarded, Handle, address, array, integer, library, sparc_read_options, text

_NPY = 4  # of sparc_data_format


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Error("io", f"cannot read '{path}': {error.strerror}") from None


class Model(Guarded):
    """A trained model: probabilities of classes, or numbers, for whole sequences or one input at a time."""

    def __init__(self, path, threads=0, _data=None):
        super().__init__()
        data = _read(path) if _data is None else bytes(_data)
        threads = integer(threads, "threads")
        handle = Handle(lambda out: library.sparc_model_parse(data, len(data), text(path), threads, out),
                        "sparc_model_free")
        known = library.sparc_model_preprocessing(handle).contents
        self._fix(_arguments=(os.fspath(path), threads, data), _handle=handle, inputs=library.sparc_model_inputs(handle),
                  outputs=library.sparc_model_outputs(handle), _state_size=library.sparc_model_state_size(handle))
        self.labels = [known.labels[i].decode() for i in range(known.classes)]
        self._fix(_every_step=self.metadata("network.head") == "steps")

    def __reduce__(self):
        # the bytes that it was made of: the file may be another one by now
        return type(self), self._arguments

    def metadata(self, key):
        """An entry of the file, None if it has none of that name."""
        value = library.sparc_model_metadata(self._handle, text(key))
        return None if value is None else value.decode()

    def predict(self, x):
        """Answers for x[N, T, inputs], or [N, T] of one channel: [N, outputs], or [N, T, outputs] of a model that answers
        every step."""
        x = np.ascontiguousarray(x, np.float32)
        if x.ndim == 2:
            x = x[:, :, None]
        if x.ndim != 3 or x.shape[2] != self.inputs or 0 in x.shape:
            raise ValueError(f"x has the shape {x.shape}, expected sequences, steps and {self.inputs} inputs")
        # the file format in memory is the way to hand over an array: a callback cannot return a structure to C
        packed = io.BytesIO()
        np.save(packed, x)
        packed = packed.getvalue()
        options = sparc_read_options(format=_NPY, unlabelled=1)
        data = Handle(lambda out: library.sparc_dataset_parse(packed, len(packed), b"x", ctypes.byref(options), out),
                      "sparc_dataset_free")
        samples = library.sparc_samples_of_dataset(data)
        shape = (x.shape[0], x.shape[1], self.outputs) if self._every_step else (x.shape[0], self.outputs)
        y = np.empty(shape, np.float32)
        with self._lock:
            library.sparc_model_predict(self._handle, ctypes.byref(samples), address(y))
        return y

    def state(self):
        """The state of a sequence before its first input."""
        return np.zeros(self._state_size, np.float32)

    def step(self, state, x):
        """Feeds x[inputs], changes state, and gives what the model says of the sequence so far."""
        x = array(np.atleast_1d(x), np.float32, (self.inputs,), "x")
        state = array(state, np.float32, (self._state_size,), "state", written=True)
        y = np.empty(self.outputs, np.float32)
        with self._lock:
            library.sparc_model_step(self._handle, address(state), address(x), address(y))
        return y
