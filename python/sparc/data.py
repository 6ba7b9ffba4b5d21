# SPDX-License-Identifier: MIT
"""Data sets: labelled sequences from arrays, ragged lists, pandas frames and files.

    data = sparc.Dataset.from_arrays(x, y)         # x[N, T, C], or a list of [T, C]
    data = sparc.Dataset.from_frame(frame, id="run", time="t", label="class")
    data = sparc.Dataset.load("gun.csv", label_column="class")
"""
from __future__ import annotations

import ctypes
import io
import operator
from typing import Any, Optional, Sequence

import numpy as np

from ._library import (Guarded, Handle, address, array, assign, integer, library, numbers, sparc_arrays,
                       sparc_data_options, sparc_data_split, sparc_read_options, text)

__all__ = ["Dataset", "load_split"]

_CHOICES = {
    "format": ["auto", "ucr", "ts", "csv", "npy", "idx", "cifar", "npz"],
    "objective": ["classify", "regress", "forecast"],
    "division": ["paper", "sound", "whole"],
}
_OPTIONS = sorted({name for name, _ in sparc_read_options._fields_} -
                  {"labels_data", "labels_size", "classes", "class_count", "columns"})


def read_options(settings: dict, options: Optional[sparc_read_options] = None) -> sparc_read_options:
    """Settings as sparc_read_options; enumerations are given by name. options: what to start from."""
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


def packed(x: Any, y: Any = None, objective: str = "classify") -> tuple[bytes, str]:
    """Sequences and labels as the bytes of a file, and its suffix: NPZ for equal lengths, else ts."""
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
    if labels is not None and objective == "classify" and any(c in label for label in labels for c in " :,\t\n"):
        raise ValueError("labels of sequences of different lengths have no blanks, colons or commas")
    lines = ["@problemName data", "@timeStamps false", f"@missing {str(any(np.isnan(r).any() for r in rows)).lower()}",
             f"@univariate {str(rows[0].shape[1] == 1).lower()}", f"@dimensions {rows[0].shape[1]}", "@equalLength false"]
    if labels is None:
        lines.append("@classLabel false")
    elif objective == "classify":
        lines.append("@classLabel true " + " ".join(sorted(set(labels))))
    else:
        lines.append("@targetLabel true")
    lines.append("@data")
    for i, row in enumerate(rows):
        channels = [",".join("?" if v != v else repr(float(v)) for v in row[:, c]) for c in range(row.shape[1])]
        lines.append(":".join(channels + ([] if labels is None else [labels[i]])))
    return ("\n".join(lines) + "\n").encode(), ".ts"


def _label_names(y: Any, count: int) -> list[bytes]:
    """Labels [count] as text: integers, whole floats and strings."""
    y = np.asarray(y)
    if y.shape not in ((count,), (count, 1)):
        raise ValueError(f"y has the shape {y.shape}, expected ({count},), one label for each sequence")
    if y.dtype.kind == "f":
        if not (np.isfinite(y) & (y == np.floor(y))).all():
            raise ValueError("y has labels that are not whole numbers; objective='regress' predicts numbers")
        y = y.astype(np.int64)
    if y.dtype.kind == "b":
        y = y.astype(np.uint8)
    names = [str(label).encode() for label in y.ravel().tolist()]
    if any(b"\0" in name for name in names):
        raise ValueError("y has a label with a zero byte, expected text")
    return names


def _targets(y: Any, rows: list[np.ndarray]) -> tuple[list[np.ndarray], int, bool]:
    """Targets as float32 arrays, the numbers of each, and whether every step has one. y[i] is a number, [K], [T] with T
    the steps of sequence i, or [T, K]."""
    targets = [numbers(target, np.float32, "y") for target in y]
    shapes = [target.shape for target in targets]
    rank = len(shapes[0])
    matching = rank > 0 and all(shape[:1] == (len(row),) for shape, row in zip(shapes, rows))
    steps = matching and (rank == 2 or any(len(row) > 1 for row in rows))
    value = () if rank == 0 or (rank == 1 and steps) else shapes[0][-1:]
    width = value[0] if value else 1
    if not width or any(shape != ((len(row),) if steps else ()) + value for shape, row in zip(shapes, rows)):
        raise ValueError("y has targets of different shapes, expected for every sequence a number, [K], [T] or [T, K]")
    return targets, width, steps


def _strings(texts: Sequence[bytes]) -> Any:
    return (ctypes.c_char_p * len(texts))(*texts)


class Dataset(Guarded):
    """Labelled sequences. Created by load(), from_arrays(), from_frame() or load_split()."""

    name: str
    count: int
    channels: int
    classes: list[str]

    def __init__(self, _handle: Handle):
        super().__init__()
        info = library.sparc_dataset_info_of(_handle)
        self._fix(_handle=_handle, name=info.name.decode(), count=info.count, channels=info.channels,
                  classes=[info.class_names[k].decode() for k in range(info.classes)])

    @classmethod
    def load(cls, path: Any, **options: Any) -> "Dataset":
        """Loads a file: UCR, ts, CSV, NPY, NPZ, IDX or CIFAR, plain or gzip. Options are the members of
        sparc_read_options (sparc/data.h): format="csv", label_column="class", objective="regress", ..."""
        c = read_options(options)
        return cls(Handle(lambda out: library.sparc_dataset_load(text(path), ctypes.byref(c), out), "sparc_dataset_free"))

    @classmethod
    def from_arrays(cls, x: Any, y: Any = None, objective: str = "classify", name: str = "data") -> "Dataset":
        """Sequences x[N, T, C], [N, T], or a list of [T, C] or [T]. y: labels [N], integers or strings; with
        objective="regress" numbers [N] or [N, K], or of every step [N, T] or [N, T, K]. NaN in x is a missing value."""
        return _dataset_of(x, y, objective, name, [])

    @classmethod
    def from_frame(cls, frame: Any, id: Optional[str] = None, time: Optional[str] = None, label: Optional[str] = None,
                   objective: str = "classify", name: str = "frame") -> "Dataset":
        """A pandas frame. Long format, one step per row: `id` identifies the sequence and `time` orders its steps.
        Without them one sequence per row, whose values are the other columns. label: column of labels; None: none."""
        for column in (id, time, label):
            if column is not None and column not in frame.columns:
                raise ValueError(f"the frame has no column {column!r}, expected one of {', '.join(map(str, frame.columns))}")
        values = [column for column in frame.columns if column not in (id, time, label)]
        if id is None and time is None:
            y = None if label is None else frame[label].tolist()
            return cls.from_arrays(frame[values].to_numpy(np.float32), y, objective, name)
        order = frame if time is None else frame.sort_values(time, kind="stable")
        groups = [order] if id is None else [group for _, group in order.groupby(id, sort=True)]
        y = None
        if label is not None:
            for group in groups:
                if group[label].nunique(dropna=False) != 1:
                    raise ValueError(f"a sequence has several values of {label!r}, expected one label for each {id!r}")
            y = [group[label].iloc[0] for group in groups]
        return cls.from_arrays([group[values].to_numpy(np.float32) for group in groups], y, objective, name)

    def content(self) -> tuple[list[np.ndarray], Any, str]:
        """The sequences, their labels (class names or numbers; None: none) and the objective: arguments of from_arrays()."""
        rows = [self[i] for i in range(len(self))]
        targets = self.targets
        if targets is not None:
            if library.sparc_dataset_info_of(self._handle).target_steps:
                raise TypeError(f"{self!r} has targets for every step: keep the series and the forecast horizon")
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
            example = library.sparc_dataset_example(self._handle, i)
            return np.ctypeslib.as_array(example.x, (example.length, self.channels)).copy()

    @property
    def lengths(self) -> np.ndarray:
        """Number of steps of each sequence."""
        return np.array([library.sparc_dataset_example(self._handle, i).length for i in range(len(self))], np.int32)

    @property
    def labels(self) -> np.ndarray:
        """The class of each sequence, an index of `classes`; -1: unlabelled."""
        return np.array([library.sparc_dataset_example(self._handle, i).label for i in range(len(self))], np.int32)

    @property
    def targets(self) -> Optional[list[np.ndarray]]:
        """Numeric targets, [targets] or [T, targets] for each sequence; None: none."""
        info = library.sparc_dataset_info_of(self._handle)
        if not info.targets:
            return None
        found = []
        for i in range(len(self)):
            example = library.sparc_dataset_example(self._handle, i)
            shape = (example.length, info.targets) if info.target_steps else (info.targets,)
            found.append(np.ctypeslib.as_array(example.target, shape).copy())
        return found

    @property
    def missing(self) -> int:
        """The number of missing values, which are NaN."""
        return library.sparc_dataset_info_of(self._handle).missing

    def subset(self, indices: Sequence[int], name: Optional[str] = None) -> "Dataset":
        """These sequences, in this order; values are shared."""
        chosen = array(np.asarray(indices, np.int32), np.int32, (len(indices),), "indices")
        return Dataset(Handle(lambda out: library.sparc_dataset_subset(self._handle, address(chosen), len(chosen),
                                                                       text(name), out), "sparc_dataset_free"))

    def fill_missing(self) -> "Dataset":
        """Replaces missing values by linear interpolation, in place."""
        with self._lock:
            library.sparc_dataset_fill_missing(self._handle)
        return self

    def forecast(self, horizon: int) -> "Dataset":
        """Sets the targets of step t to x[t + horizon] - x[t] and its inputs to x[t] - x[t - 1], in place."""
        with self._lock:
            library.sparc_dataset_forecast(self._handle, integer(horizon, "horizon"))
        return self

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of each channel."""
        mean, stddev = np.empty(self.channels), np.empty(self.channels)
        library.sparc_dataset_moments(self._handle, address(mean), address(stddev))
        return mean, stddev

    def normalise(self, mean: Any, stddev: Any) -> "Dataset":
        """(x - mean) / stddev, in place."""
        mean = array(mean, np.float64, (self.channels,), "mean")
        stddev = array(stddev, np.float64, (self.channels,), "stddev")
        with self._lock:
            library.sparc_dataset_normalise(self._handle, address(mean), address(stddev))
        return self

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}: {len(self)} sequences, {self.channels} channels, {len(self.classes)} classes>"


def _dataset_of(x, y, objective, name, classes):
    """A data set of arrays. classes: names of the classes in order, of which some may have no sequence; []: those of y."""
    read_options({"objective": objective})  # refuses other names
    rows = sequences(x)
    lengths = np.array([len(row) for row in rows], np.int32)
    values = (ctypes.c_void_p * len(rows))(*map(address, rows))
    arrays = sparc_arrays(len(rows), rows[0].shape[1], ctypes.addressof(values), address(lengths))
    keep = []
    if y is not None and len(y) != len(rows):
        raise ValueError(f"y has {len(y)} entries, expected {len(rows)}, one for each sequence")
    if y is not None and objective == "regress":
        targets, arrays.targets, arrays.target_steps = _targets(y, rows)
        keep += [targets, (ctypes.c_void_p * len(rows))(*map(address, targets))]
        arrays.target = ctypes.addressof(keep[-1])
    elif y is not None and objective == "classify":
        keep.append(_strings(_label_names(y, len(rows))))
        arrays.label_names = ctypes.addressof(keep[-1])
    if classes:
        keep.append(_strings([each.encode() for each in classes]))
        arrays.classes, arrays.class_names = len(classes), ctypes.addressof(keep[-1])
    return Dataset(Handle(lambda out: library.sparc_dataset_from_arrays(ctypes.byref(arrays), text(name), out),
                          "sparc_dataset_free"))


def load_split(name: str, root: Any = None, official: bool = False, **options: Any) -> dict[str, Optional[Dataset]]:
    """The parts "fit", "validation" and "test" of a named data set ("FordA"), a folder or a file; None: no such part.
    root: folder of named data sets; None: the environment variable SPARC_DATA."""
    c = sparc_data_options(root=text(root), protocol=int(official), read=read_options(options))
    split = sparc_data_split()
    library.sparc_data_split_load(text(name), ctypes.byref(c), ctypes.byref(split))
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
