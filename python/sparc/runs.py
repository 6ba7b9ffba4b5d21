# SPDX-License-Identifier: MIT
"""Training runs, as of `sparc train`: data, network, updates, validation, checkpoints and metrics in a folder.

    run = sparc.Run("FordA", folder="runs/mine", cell="rtu", updates=2000, seed=1)
    run.execute(lambda event: print(event["stage"]))
    run.model().predict(x)
    sparc.Run.load("runs/mine").execute()          # continues a stopped run, bit-exactly
"""
from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Callable, Optional

from ._library import (RUN_FN, Guarded, Handle, Interrupt, assign, integer, library, sparc_run_config,
                       sparc_train_config, text)
from .data import _CHOICES as _READ_CHOICES
from .data import _OPTIONS as _READ
from .data import Dataset, packed, read_options
from .models import Model

__all__ = ["Run", "frame", "grid"]

_STAGES = ["started", "update", "validated", "checkpoint", "finished", "failed"]
_CHOICES = {
    "recipe": ["auto", "paper", "small", "sized"],
    "head": ["mean", "last"],
    "class_weights": ["none", "balanced"],
    "readout": ["gradient", "ridge"],
    "embedding": ["none", "linear", "tanh", "symbols"],
}
_RENAMED = {"modes": "H", "from_": "from"}
_NETWORK = {"cell", "cell_options", "modes", "embedding", "width", "layers", "dropout"}
_TRAIN = {name for name, _ in sparc_train_config._fields_} - {"network"}
_RUN = {name for name, _ in sparc_run_config._fields_} - {"data", "read", "train", "from", "given"} | {"from_"}


def _give(config, path, value):
    """Marks a member as given, which a 0 and the first of some choices need."""
    try:
        library.sparc_run_config_set(ctypes.byref(config), path.encode(), str(value).encode())
    except ValueError:
        pass  # below the range of the member, where 0 means: not given


def _apply(config, settings):
    """Assigns settings by name to the structures that have them; strings are kept alive by the structure."""
    read = {name: settings.pop(name) for name in list(settings) if name in _READ}
    read_options(read, config.read)
    for name, value in read.items():
        if name in _READ_CHOICES and value is not None:
            _give(config, f"read.{name}", value)
    for name, value in settings.items():
        target, prefix = ((config.train.network, "train.network.") if name in _NETWORK else
                          (config.train, "train.") if name in _TRAIN else (config, "") if name in _RUN else (None, ""))
        if target is None:
            known = ", ".join(sorted(_NETWORK | _TRAIN | _RUN | set(_READ)))
            raise TypeError(f"a run has no setting {name!r}, expected one of {known}")
        if value is None:
            continue
        choices, member = _CHOICES.get(name), _RENAMED.get(name, name)
        if choices and value not in choices:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(choices)}")
        assign(target, member, choices.index(value) if choices else value, name)
        if choices or (value == 0 and target is not config):
            _give(config, prefix + member, value)


def _written(folder, content, ending, force):
    """Path of the data file next to the folder. The file of an existing run is kept, since resuming needs it unchanged."""
    path = folder.with_name(folder.name + ending)
    if (folder / "config.json").exists() and not force:
        if not path.exists() or path.read_bytes() != content:
            raise ValueError(f"{os.fspath(folder)!r} holds a run of other data: Run.load continues it, force=True replaces "
                             "it")
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _content(arrays, objective):
    """(x, y), or (x,) of a forecast, as the bytes of a file, and the ending of its name."""
    x, y = (*arrays, None)[:2] if len(arrays) in (1, 2) else (None, None)
    if x is None:
        raise ValueError(f"data has {len(arrays)} entries, expected arrays (x, y)")
    if y is None and objective != "forecast":
        raise ValueError("data has no labels: expected arrays (x, y), or objective='forecast'")
    return packed(x, y, objective)


class Run(Guarded):
    """A training run.

    data     a generated task, a named data set, a file, a Dataset, or arrays: (x, y) with x[N, T, C] or a list of [T, C].
             Arrays are written next to the folder, as FOLDER.npz or FOLDER.ts, so that the run can be resumed
    folder   folder of config.json, metrics and checkpoints; None: a temporary folder, removed with the object

    Settings are those of `sparc train` by the names of sparc_run_config, sparc_train_config, sparc_network_config and
    sparc_read_options: cell, modes, layers, updates, batch, learning_rate, seed, threads, objective="regress", resume=True, force=True,
    ... Defaults are those of `sparc train`."""

    folder: Path

    def __init__(self, data: Any, folder: Any = None, _handle: Optional[Handle] = None, **settings: Any):
        super().__init__()
        if folder is None:
            temporary = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, temporary, True)
            folder = Path(temporary) / "run"
        folder = Path(folder)
        if _handle is None:
            if isinstance(data, Dataset):
                *data, objective = data.content()
                settings = settings if objective == "classify" else {"objective": objective, **settings}
            if isinstance(data, (tuple, list)):
                content, ending = _content(data, settings.get("objective") or "classify")
                data = _written(folder, content, ending, bool(settings.get("force")))
            if not isinstance(data, (str, os.PathLike)):
                raise TypeError(f"data is {type(data).__name__}, expected a name, a path, arrays (x, y) or a sparc.Dataset")
            config = sparc_run_config()
            config.data, config.folder = text(data), text(folder)
            _apply(config, dict(settings))
            _handle = Handle(lambda out: library.sparc_run_create(ctypes.byref(config), out), "sparc_run_free")
        self._fix(_handle=_handle, folder=folder)

    @classmethod
    def load(cls, folder: Any, threads: int = 0) -> "Run":
        """Loads the run in a folder, to continue it."""
        threads = integer(threads, "threads")
        handle = Handle(lambda out: library.sparc_run_load(text(folder), threads, out), "sparc_run_free")
        return cls(None, folder, _handle=handle)

    def execute(self, callback: Optional[Callable[[dict], Any]] = None) -> "Run":
        """Trains to the end of the schedule. callback(event) gets dictionaries with "stage": "started", "update" (with
        update, loss, accuracy, gradient_norm, learning_rate), "validated" (with update, score, loss, mse, best), "checkpoint",
        "finished" or "failed"; returning False saves and stops, and so do Ctrl-C and an exception, which is raised then.
        A stopped run may be executed again."""
        failure: list[BaseException] = []

        def called(user, event):
            try:
                return int(interrupt.asked or (callback is not None and callback(_event(event[0])) is False))
            except BaseException as raised:
                failure.append(raised)
                return 1

        function = RUN_FN(called)
        with self._lock, Interrupt() as interrupt:
            try:
                library.sparc_run_execute(self._handle, function, None)
            except BaseException:
                if not failure:
                    raise
        if failure:
            raise failure[0]
        if interrupt.asked and not self.result["finished"]:
            raise KeyboardInterrupt
        return self

    @property
    def result(self) -> dict[str, Any]:
        """Result so far: finished, done (updates), best and final scores, and test if there is a test part."""
        with self._lock:
            return _dictionary(library.sparc_run_result_of(self._handle))

    @property
    def config(self) -> dict[str, Any]:
        """The settings in config.json, as for `sparc train --config`; {} before the run has started."""
        path = self.folder / "config.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; frame(run.metrics()) is a pandas frame."""
        path = self.folder / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def checkpoint(self) -> Path:
        """Path of the best checkpoint, or of the last one without validation."""
        best = self.folder / "best.safetensors"
        return best if best.exists() else self.folder / "last.safetensors"

    def model(self, threads: int = 0) -> Model:
        """The model of the best checkpoint."""
        return Model(self.checkpoint, threads)


def _dictionary(structure):
    return {name: _dictionary(value) if isinstance(value := getattr(structure, name), ctypes.Structure) else value
            for name, _ in structure._fields_}


def _event(c):
    event: dict[str, Any] = {"stage": _STAGES[c.stage]}
    if c.update:
        event.update(_dictionary(c.update[0]))
    if c.score:
        event.update(_dictionary(c.score[0]), best=bool(c.best))
    if c.message:
        event["message"] = c.message.decode(errors="replace")
    return event


def frame(rows: Any):
    """A list of dictionaries as a pandas frame."""
    import pandas
    return pandas.DataFrame(rows)


def grid(name: str, *options: str):
    """The table of an experiment as a pandas frame: one row for each task and method, with mean, sd, low, high, rank and the
    paper's numbers. name and options are those of `sparc lab table`: grid("figure1", "--results", "docs/results")."""
    from .__main__ import run_tool
    out = run_tool(["lab", "table", name, "--json", *options])
    return frame([json.loads(line) for line in out.splitlines()])
