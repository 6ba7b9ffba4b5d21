# SPDX-License-Identifier: MIT
"""Data sets: labelled sequences from arrays, lists of different lengths, pandas frames and files.

    data = sparc.Dataset.from_arrays(x, y)         # x[N, T, C], or a list of [T, C]
    data = sparc.Dataset.from_frame(frame, id="run", time="t", label="class")
    data = sparc.Dataset.read("gun.csv", label_column="class")
"""
from __future__ import annotations

import ctypes
import io
import operator
from typing import Any, Optional, Sequence

import numpy as np

from ._library import (Guarded, Handle, address, array, assign, integer, library, numbers, sparc_data_options,
                       sparc_data_split, sparc_read_options, text)

__all__ = ["Dataset", "load_split"]

_CHOICES = {
    "format": ["auto", "ucr", "ts", "csv", "npy", "idx", "cifar", "npz"],
    "goal": ["classify", "regress", "forecast"],
}
_OPTIONS = sorted({name for name, _ in sparc_read_options._fields_} -
                  {"labels_data", "labels_size", "classes", "class_count", "like"})


def read_options(settings: dict, options: Optional[sparc_read_options] = None) -> sparc_read_options:
    """The members of sparc_read_options by their names, choices by theirs; options: what to start from."""
    options = sparc_read_options() if options is None else options
    for name, value in settings.items():
        if name not in _OPTIONS:
            raise TypeError(f"reading has no option {name!r}, expected one of {', '.join(_OPTIONS)}")
        if value is None:
            continue
        if name in _CHOICES:
            if value not in _CHOICES[name]:
                raise ValueError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES[name])}")
            value = _CHOICES[name].index(value)
        assign(options, name, value, name)
    return options


def sequences(x: Any) -> list[np.ndarray]:
    """x[N, T, C], [N, T] of one channel, or a list of [T, C] or [T], as a list of float32 [T, C] with one C."""
    rows = [numbers(row, np.float32, "x") for row in x]
    rows = [row[:, None] if row.ndim == 1 else row for row in rows]
    if not rows or any(row.ndim != 2 or 0 in row.shape for row in rows):
        raise ValueError("x has no sequences, or empty ones, expected [N, T], [N, T, C], or a list of [T] or [T, C]")
    channels = {row.shape[1] for row in rows}
    if len(channels) > 1:
        raise ValueError(f"sequences have {sorted(channels)} channels, expected the same number in all of them")
    return rows


def packed(x: Any, y: Any = None, goal: str = "classify") -> tuple[bytes, str]:
    """Sequences and labels as the bytes of a file, and the ending of its name: NPZ for equal lengths, else ts."""
    rows = sequences(x)
    if y is not None and len(y) != len(rows):
        raise ValueError(f"y has {len(y)} entries, expected {len(rows)}, one for each sequence")
    if len({len(row) for row in rows}) == 1:
        file = io.BytesIO()
        named = {"x": np.stack(rows)}
        if y is not None:
            y = np.asarray(y)
            named["y"] = y.astype(str) if y.dtype == object else y
        np.savez(file, **named)
        return file.getvalue(), ".npz"
    if y is not None and np.ndim(y[0]) != 0:
        raise ValueError("targets of sequences of different lengths are one number each")
    labels = None if y is None else [str(label) for label in y]
    if labels is not None and goal == "classify" and any(c in label for label in labels for c in " :,\t\n"):
        raise ValueError("labels of sequences of different lengths have no blanks, colons or commas")
    lines = ["@problemName data", "@timeStamps false", f"@missing {str(any(np.isnan(r).any() for r in rows)).lower()}",
             f"@univariate {str(rows[0].shape[1] == 1).lower()}", f"@dimensions {rows[0].shape[1]}", "@equalLength false"]
    if labels is None:
        lines.append("@classLabel false")
    elif goal == "classify":
        lines.append("@classLabel true " + " ".join(sorted(set(labels))))
    else:
        lines.append("@targetLabel true")
    lines.append("@data")
    for i, row in enumerate(rows):
        channels = [",".join("?" if v != v else repr(float(v)) for v in row[:, c]) for c in range(row.shape[1])]
        lines.append(":".join(channels + ([] if labels is None else [labels[i]])))
    return ("\n".join(lines) + "\n").encode(), ".ts"


class Dataset(Guarded):
    """Labelled sequences in the library. Made by read(), from_arrays(), from_frame() or load_split()."""

    name: str
    count: int
    channels: int
    classes: list[str]

    def __init__(self, _handle: Handle):
        super().__init__()
        self._fix(_handle=_handle, name=library.sparc_dataset_name(_handle).decode(),
                  count=library.sparc_dataset_count(_handle), channels=library.sparc_dataset_channels(_handle),
                  classes=[library.sparc_dataset_label(_handle, k).decode()
                           for k in range(library.sparc_dataset_classes(_handle))])

    @classmethod
    def read(cls, path: Any, **options: Any) -> "Dataset":
        """Reads a file: UCR, ts, CSV, NPY, NPZ, IDX or CIFAR, plain or gzip. Options are the members of
        sparc_read_options (sparc/data.h): format="csv", label_column="class", goal="regress", ..."""
        c = read_options(options)
        return cls(Handle(lambda out: library.sparc_dataset_read(text(path), ctypes.byref(c), out), "sparc_dataset_free"))

    @classmethod
    def _parse(cls, data, name, options):
        return cls(Handle(lambda out: library.sparc_dataset_parse(data, len(data), text(name), ctypes.byref(options), out),
                          "sparc_dataset_free"))

    @classmethod
    def from_arrays(cls, x: Any, y: Any = None, goal: str = "classify", name: str = "data") -> "Dataset":
        """Sequences x[N, T, C], [N, T], or a list of [T, C] or [T]; y are names or numbers of classes, or with
        goal="regress" numbers. NaN is a missing value."""
        data, ending = packed(x, y, goal)
        options = read_options({"goal": goal, "unlabelled": int(y is None)})
        return cls._parse(data, name + ending, options)

    @classmethod
    def from_frame(cls, frame: Any, id: Optional[str] = None, time: Optional[str] = None, label: Optional[str] = None,
                   goal: str = "classify", name: str = "frame") -> "Dataset":
        """A pandas frame. Long format, one step a row: `id` tells the sequences apart and `time` orders their steps.
        Without them one sequence a row, whose values are the other columns. label: the column of labels; None: none."""
        for column in (id, time, label):
            if column is not None and column not in frame.columns:
                raise ValueError(f"the frame has no column {column!r}, expected one of {', '.join(map(str, frame.columns))}")
        values = [column for column in frame.columns if column not in (id, time, label)]
        if id is None and time is None:
            y = None if label is None else frame[label].tolist()
            return cls.from_arrays(frame[values].to_numpy(np.float32), y, goal, name)
        order = frame if time is None else frame.sort_values(time, kind="stable")
        groups = [order] if id is None else [group for _, group in order.groupby(id, sort=True)]
        y = None
        if label is not None:
            for group in groups:
                if group[label].nunique(dropna=False) != 1:
                    raise ValueError(f"a sequence has several values of {label!r}, expected one label for each {id!r}")
            y = [group[label].iloc[0] for group in groups]
        return cls.from_arrays([group[values].to_numpy(np.float32) for group in groups], y, goal, name)

    def content(self) -> tuple[list[np.ndarray], Any, str]:
        """The sequences, their labels (names of classes, or numbers; None: none) and the goal: what from_arrays() takes."""
        rows = [self[i] for i in range(len(self))]
        targets = self.targets
        if targets is not None:
            if library.sparc_dataset_target_steps(self._handle):
                raise TypeError(f"{self!r} has targets for every step: keep the series, and the horizon of the forecasts")
            numbers = np.stack(targets)
            return rows, numbers[:, 0] if numbers.shape[1] == 1 else numbers, "regress"
        labels = self.labels
        if len(labels) and labels.min() < 0:
            return rows, None, "classify"
        return rows, [self.classes[k] for k in labels], "classify"

    def __reduce__(self):
        return _dataset_of, (*self.content(), self.name, self.classes)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: Any) -> Any:
        """The values [T, C] of one sequence, or the data set of a slice."""
        if isinstance(i, slice):
            return self.subset(range(*i.indices(len(self))))
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no sequence {i}, expected 0 to {len(self) - 1}")
        i %= len(self)
        with self._lock:
            shape = (library.sparc_dataset_length(self._handle, i), self.channels)
            pointer = ctypes.cast(library.sparc_dataset_series(self._handle, i), ctypes.POINTER(ctypes.c_float))
            return np.ctypeslib.as_array(pointer, shape).copy()

    @property
    def lengths(self) -> np.ndarray:
        """The steps of each sequence."""
        return np.array([library.sparc_dataset_length(self._handle, i) for i in range(len(self))], np.int32)

    @property
    def labels(self) -> np.ndarray:
        """The number of each sequence's class, an index of `classes`; -1: unlabelled."""
        return np.array([library.sparc_dataset_class(self._handle, i) for i in range(len(self))], np.int32)

    @property
    def targets(self) -> Optional[list[np.ndarray]]:
        """Numbers to be learned, [targets] or [T, targets] for each sequence; None: there are none."""
        width = library.sparc_dataset_targets(self._handle)
        if not width:
            return None
        found = []
        for i in range(len(self)):
            pointer = ctypes.cast(library.sparc_dataset_target(self._handle, i), ctypes.POINTER(ctypes.c_float))
            steps = library.sparc_dataset_length(self._handle, i)
            shape = (steps, width) if library.sparc_dataset_target_steps(self._handle) else (width,)
            found.append(np.ctypeslib.as_array(pointer, shape).copy())
        return found

    @property
    def missing(self) -> int:
        """How many values are missing, which are NaN."""
        return library.sparc_dataset_missing(self._handle)

    def subset(self, indices: Sequence[int], name: Optional[str] = None) -> "Dataset":
        """These sequences, in this order; values are shared."""
        chosen = array(np.asarray(indices, np.int32), np.int32, (len(indices),), "indices")
        return Dataset(Handle(lambda out: library.sparc_dataset_subset(self._handle, address(chosen), len(chosen),
                                                                       text(name), out), "sparc_dataset_free"))

    def fill_missing(self) -> "Dataset":
        """Replaces missing values by straight lines between their neighbours, in place."""
        with self._lock:
            library.sparc_dataset_fill_missing(self._handle)
        return self

    def forecast(self, horizon: int) -> "Dataset":
        """Makes the targets of every step what each channel changes by within `horizon` steps, in place."""
        with self._lock:
            library.sparc_dataset_forecast(self._handle, integer(horizon, "horizon"))
        return self

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of each channel."""
        mean, deviation = np.empty(self.channels), np.empty(self.channels)
        library.sparc_normalisation_fit(self._handle, address(mean), address(deviation))
        return mean, deviation

    def normalise(self, mean: Any, deviation: Any) -> "Dataset":
        """(x - mean) / deviation, in place."""
        mean = array(mean, np.float64, (self.channels,), "mean")
        deviation = array(deviation, np.float64, (self.channels,), "deviation")
        with self._lock:
            library.sparc_dataset_normalise(self._handle, address(mean), address(deviation))
        return self

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}: {len(self)} sequences, {self.channels} channels, {len(self.classes)} classes>"


def _dataset_of(rows, y, goal, name, classes):
    """A data set as it was pickled; classes keep their numbers, also those of no sequence."""
    data, ending = packed(rows, y, goal)
    options = read_options({"goal": goal, "unlabelled": int(y is None)})
    names = (ctypes.c_char_p * len(classes))(*(each.encode() for each in classes))
    if classes:
        options.classes, options.class_count = names, len(classes)
    return Dataset._parse(data, name + ending, options)


def load_split(name: str, root: Any = None, official: bool = False, **options: Any) -> dict[str, Optional[Dataset]]:
    """A named data set ("FordA"), a folder or a file in its parts "fit", "validation" and "test"; None where there is no
    such part. root: the folder of named data sets, or the environment variable SPARC_DATA."""
    c = sparc_data_options(root=text(root), protocol=int(official), read=read_options(options))
    split = sparc_data_split()
    library.sparc_data_load(text(name), ctypes.byref(c), ctypes.byref(split))
    parts: dict[str, Optional[Dataset]] = {}
    try:
        for part in ("fit", "validation", "test"):
            pointer = getattr(split, part)
            parts[part] = None
            if pointer:
                setattr(split, part, None)  # the data set owns it from here on
                parts[part] = Dataset(_owned(pointer))
    finally:
        library.sparc_data_split_free(ctypes.byref(split))
    return parts


def _owned(pointer):

    def create(out):
        ctypes.cast(out, ctypes.POINTER(ctypes.c_void_p))[0] = pointer

    return Handle(create, "sparc_dataset_free")
