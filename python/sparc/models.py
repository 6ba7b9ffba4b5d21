# SPDX-License-Identifier: MIT
"""What `sparc train` and `sparc learn` leave in files, used on raw values."""
import ctypes
import io

import numpy as np

from ._library import Handle, address, array, library, sparc_read_options, text

_NPY = 4  # of sparc_data_format


class Model:
    """A trained model: probabilities of classes, or numbers, for whole sequences or one input at a time."""

    def __init__(self, path, threads=0):
        self._handle = Handle(lambda out: library.sparc_model_load(text(path), threads, out), "sparc_model_free")
        self.inputs = library.sparc_model_inputs(self._handle)
        self.outputs = library.sparc_model_outputs(self._handle)
        known = library.sparc_model_preprocessing(self._handle).contents
        self.labels = [known.labels[i].decode() for i in range(known.classes)]
        head = self.metadata("network.head")
        self._every_step = head == "steps"

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
        library.sparc_model_predict(self._handle, ctypes.byref(samples), address(y))
        return y

    def state(self):
        """The state of a sequence before its first input."""
        return np.zeros(library.sparc_model_state_size(self._handle), np.float32)

    def step(self, state, x):
        """Feeds x[inputs], changes state, and gives what the model says of the sequence so far."""
        x = array(np.atleast_1d(x), np.float32, (self.inputs,), "x")
        size = library.sparc_model_state_size(self._handle)
        if state.dtype != np.float32 or state.shape != (size,) or not state.flags.c_contiguous:
            raise ValueError(f"state is not one that state() gives: {size} float32")
        y = np.empty(self.outputs, np.float32)
        library.sparc_model_step(self._handle, address(state), address(x), address(y))
        return y
