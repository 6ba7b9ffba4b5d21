# SPDX-License-Identifier: MIT
"""Cells over NumPy arrays: sequences forward and backward, and single steps with exact sensitivities (RTRL)."""
from __future__ import annotations

import ctypes
from collections import namedtuple
from typing import Any, Optional

import numpy as np

from ._library import (Guarded, Handle, address, aligned, array, integer, library, numbers, sparc_cell_config,
                       sparc_plan_config, sparc_sequence, sparc_sequence_gradient, text)

__all__ = ["Block", "Cell", "Gradient", "Run", "Sizes", "Stream", "Streams", "kinds"]

Sizes = namedtuple("Sizes", "params prepared state output tape trace")
Block = namedtuple("Block", "name shape offset size")
Gradient = namedtuple("Gradient", "params x state0")
Sizes.__doc__ = "How many numbers a cell has of each kind, for one stream."
Block.__doc__ = "A named part of a flat array of parameters."
Gradient.__doc__ = "Gradients of the parameters, the inputs and the first state."

_STYLES = {"control": 0, "classification": 1}
_PLANS = 32  # shapes that a cell remembers
_SUFFIX = {np.dtype(np.float32): "", np.dtype(np.float64): "_f64"}
_PRECISION = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}  # sparc_precision


def kinds() -> list[str]:
    """The names of all cells."""
    names, found = library.sparc_cell_kinds(), []
    while names[len(found)]:
        found.append(names[len(found)].decode())
    return found


def _call(name, dtype):
    return getattr(library, name + _SUFFIX[np.dtype(dtype)])


class Cell(Guarded):
    """A constant description of a cell. Parameters and states are arrays of the caller, float32 or float64."""

    kind: str
    inputs: int
    modes: int
    options: str
    kernel: str
    sizes: Sizes
    blocks: tuple[Block, ...]

    def __init__(self, kind: str, inputs: int, modes: int, options: Optional[str] = None,
                 kernel: Optional[str] = None):
        super().__init__()
        inputs, modes = integer(inputs, "inputs"), integer(modes, "modes")
        config = sparc_cell_config(text(kind), inputs, modes, text(options), text(kernel))
        handle = Handle(lambda out: library.sparc_cell_create(ctypes.byref(config), out), "sparc_cell_free")
        resolved = library.sparc_cell_config_of(handle)
        sizes, count = library.sparc_cell_sizes_of(handle), ctypes.c_size_t()
        blocks = library.sparc_cell_blocks(handle, ctypes.byref(count))
        self._fix(_arguments=(kind, inputs, modes, options, kernel), _handle=handle, _plans={}, kind=kind, inputs=inputs,
                  modes=modes, options=resolved.options.decode(), kernel=resolved.kernel.decode(),
                  sizes=Sizes(*(getattr(sizes, name) for name in Sizes._fields)),
                  blocks=tuple(Block(b.name.decode(), tuple(b.shape[:b.rank]), b.offset, b.size)
                               for b in blocks[:count.value]))

    def __reduce__(self):
        return type(self), self._arguments

    def __repr__(self):
        return f"Cell({self.kind!r}, inputs={self.inputs}, modes={self.modes}, options={self.options!r})"

    def init(self, seed: int = 0, style: str = "classification", name: Optional[str] = None,
             dtype: Any = np.float32) -> np.ndarray:
        """Initial parameters."""
        if style not in _STYLES:
            raise ValueError(f"style is {style!r}, expected one of {', '.join(_STYLES)}")
        params = np.empty(self.sizes.params, np.float32)
        library.sparc_cell_init(self._handle, _STYLES[style], seed, text(name), address(params))
        return params.astype(dtype, copy=False)

    def split(self, params: np.ndarray) -> dict[str, np.ndarray]:
        """The blocks of a flat array by their names, as views."""
        return {b.name: params[b.offset:b.offset + b.size].reshape(b.shape) for b in self.blocks}

    def prepare(self, params: Any) -> np.ndarray:
        """Parameters in the layout of the kernels; must be prepared again after every change of params."""
        params = np.ascontiguousarray(params)
        if params.dtype not in _SUFFIX:
            raise TypeError(f"params are {params.dtype}, expected float32 or float64")
        params = array(params, params.dtype, (self.sizes.params,), "params")
        prepared = np.empty(self.sizes.prepared, params.dtype)
        _call("sparc_prepare", params.dtype)(self._handle, address(params), address(prepared))
        return prepared

    def _plan(self, streams, steps, threads, chunk):
        key = tuple(integer(value, name) for value, name in ((streams, "streams"), (steps, "steps"), (threads, "threads"),
                                                             (chunk, "chunk")))
        with self._lock:
            if key not in self._plans:
                if len(self._plans) >= _PLANS:
                    self._plans.pop(next(iter(self._plans)))
                config = sparc_plan_config(*key[2:])
                self._plans[key] = Handle(
                    lambda out: library.sparc_plan_create(self._handle, *key[:2], ctypes.byref(config), out),
                    "sparc_plan_free", keep=self._handle)
            return self._plans[key]

    def forward(self, params: Any, x: Any, mask: Any = None, state0: Any = None, threads: int = 0,
                chunk: int = 0) -> "Run":
        """Runs x[B, T, inputs]; the result has y[B, T, output], state_last[B, state] and backward."""
        return Run(self, self.prepare(params), x, mask, state0, threads, chunk)

    def stream(self, params: Any, sensitivities: bool = False) -> "Stream":
        """One sequence, step by step, with exact sensitivities if requested."""
        return Stream(self, self.prepare(params), sensitivities)


class Run(Guarded):
    """A forward pass with the data that backward needs."""

    cell: Cell
    y: np.ndarray
    state_last: np.ndarray

    def __init__(self, cell, prepared, x, mask, state0, threads, chunk):
        super().__init__()
        x = numbers(x, prepared.dtype, "x")
        if x.ndim != 3:
            raise ValueError(f"x has {x.ndim} dimensions, expected streams, steps and inputs")
        B, T, _ = x.shape
        dtype, n = prepared.dtype, cell.sizes
        plan = cell._plan(B, T, threads, chunk)
        sizes = library.sparc_plan_sizes_of(plan, _PRECISION[dtype])
        arrays = (array(x, dtype, (B, T, cell.inputs), "x"), array(mask, dtype, (B, T), "mask"),
                  array(state0, dtype, (B, n.state), "state0"), np.empty((B, T, n.output), dtype),
                  np.empty((B, n.state), dtype))
        # the structure holds addresses only: the arrays must live as long as it does
        self._fix(cell=cell, y=arrays[3], state_last=arrays[4], _dtype=dtype, _shape=(B, T), _plan=plan,
                  _prepared=prepared, _arrays=arrays, _sequence=sparc_sequence(*map(address, arrays)),
                  _saved=aligned(sizes.saved), _work=aligned(sizes.work))
        _call("sparc_forward", dtype)(plan, address(prepared), ctypes.byref(self._sequence), address(self._saved),
                                      address(self._work))

    def backward(self, dy: Any, dstate_last: Any = None) -> Gradient:
        """The exact adjoint: gradients of params, x and state0."""
        dtype, (B, T), n = self._dtype, self._shape, self.cell.sizes
        dy = array(dy, dtype, (B, T, n.output), "dy")
        dstate_last = array(dstate_last, dtype, (B, n.state), "dstate_last")
        gradient = Gradient(np.zeros(n.params, dtype), np.empty((B, T, self.cell.inputs), dtype),
                            np.empty((B, n.state), dtype))
        c = sparc_sequence_gradient(*map(address, (dy, dstate_last, gradient.x, gradient.state0, gradient.params)))
        with self._lock:
            _call("sparc_backward", dtype)(self._plan, address(self._prepared), ctypes.byref(self._sequence),
                                           address(self._saved), ctypes.byref(c), address(self._work))
        return gradient


class Stream(Guarded):
    """The state of one sequence. With sensitivities, gradient() is that of the last step's loss through all steps."""

    cell: Cell
    state: np.ndarray
    trace: Optional[np.ndarray]

    def __init__(self, cell, prepared, sensitivities):
        super().__init__()
        n, dtype = cell.sizes, prepared.dtype
        if sensitivities and n.trace == 0:
            raise ValueError(f"cell {cell.kind} has no RTRL form")
        self._fix(cell=cell, _prepared=prepared, _sensitivities=bool(sensitivities), _tape=np.zeros(n.tape, dtype))
        self.state = np.zeros(n.state, dtype)
        self.trace = np.zeros(n.trace, dtype) if sensitivities else None

    def __reduce__(self):
        with self._lock:
            return _stream_of, (self.cell, self._prepared, self._sensitivities, self.state, self.trace, self._tape)

    def _carried(self):
        """state and trace, which the caller may have replaced, checked to be writable by the library."""
        n, dtype = self.cell.sizes, self._prepared.dtype
        carried = [array(self.state, dtype, (n.state,), "state", written=True)]
        if self._sensitivities:
            carried.append(array(self.trace, dtype, (n.trace,), "trace", written=True))
        return carried

    def step(self, x: Any, reset: bool = False) -> np.ndarray:
        """Advances by x[inputs] and returns y[output]; reset: a new segment starts at this input."""
        dtype = self._prepared.dtype
        x = array(x, dtype, (self.cell.inputs,), "x")
        y = np.empty(self.cell.sizes.output, dtype)
        with self._lock:
            carried = self._carried()
            _call("sparc_step_rtrl" if self._sensitivities else "sparc_step", dtype)(
                self.cell._handle, address(self._prepared), *map(address, carried), address(x), 0.0 if reset else 1.0,
                address(y), address(self._tape))
        return y

    def gradient(self, dy: Any, dparams: Optional[np.ndarray] = None) -> np.ndarray:
        """Adds the gradient of the last step's loss to dparams (None: zeros) and returns it."""
        if not self._sensitivities:
            raise ValueError("this stream has no sensitivities: cell.stream(params, sensitivities=True)")
        n, dtype = self.cell.sizes, self._prepared.dtype
        dy = array(dy, dtype, (n.output,), "dy")
        if dparams is None:
            dparams = np.zeros(n.params, dtype)
        dparams = array(dparams, dtype, (n.params,), "dparams", written=True)
        with self._lock:
            trace = self._carried()[1]
            _call("sparc_rtrl_gradient", dtype)(self.cell._handle, address(self._prepared), address(trace),
                                                address(self._tape), address(dy), address(dparams), None)
        return dparams


class Streams(Guarded):
    """The states of n sequences that advance side by side, in float32. With sensitivities, gradient() gives the sum over
    the streams of the exact gradients over all time, and those of the last inputs.

        streams = sparc.Streams(cell, params, n=32, sensitivities=True)
        y = streams.step(x)                        # x[32, inputs], y[32, output]
        dparams, dx = streams.gradient(dy)"""

    cell: Cell
    n: int
    threads: int
    states: np.ndarray
    traces: Optional[np.ndarray]

    def __init__(self, cell: Cell, params: np.ndarray, n: int, sensitivities: bool = False, threads: int = 0):
        super().__init__()
        n = integer(n, "n")
        if n < 1:
            raise ValueError(f"n is {n}, expected 1 or more")
        sizes = cell.sizes
        if sensitivities and sizes.trace == 0:
            raise ValueError(f"cell {cell.kind} has no RTRL form")
        self._fix(cell=cell, n=n, threads=integer(threads, "threads"), _sensitivities=bool(sensitivities),
                  _tapes=np.zeros((n, sizes.tape), np.float32), states=np.zeros((n, sizes.state), np.float32),
                  traces=np.zeros((n, sizes.trace), np.float32) if sensitivities else None)
        self._stepped = False
        self.update(params)

    def __reduce__(self):
        with self._lock:
            return _streams_of, (self.cell, self.n, self.threads, self._prepared, self.states, self.traces, self._tapes,
                                 self._stepped)

    def update(self, params: np.ndarray) -> None:
        """Uses these parameters from the next step on; states and sensitivities are kept."""
        with self._lock:
            self._prepared = self.cell.prepare(np.ascontiguousarray(params, np.float32))

    def step(self, x: Any, reset: Any = None) -> np.ndarray:
        """Advances by x[n, inputs] and returns y[n, output]; reset[n]: a new segment starts at this input."""
        n, sizes = self.n, self.cell.sizes
        x = array(x, np.float32, (n, self.cell.inputs), "x")
        masks = None if reset is None else array(1.0 - np.asarray(reset, np.float32), np.float32, (n,), "reset")
        y = np.empty((n, sizes.output), np.float32)
        with self._lock:
            if not self._sensitivities:
                library.sparc_step_streams(self.cell._handle, address(self._prepared), n, address(self.states), address(x),
                                           address(masks), address(y), address(self._tapes), self.threads)
            else:
                for i in range(n):
                    library.sparc_step_rtrl(self.cell._handle, address(self._prepared), address(self.states[i]),
                                            address(self.traces[i]), address(x[i]), 1.0 if masks is None else masks[i],
                                            address(y[i]), address(self._tapes[i]))
            self._stepped = True
        return y

    def gradient(self, dy: Any, dparams: Optional[np.ndarray] = None) -> tuple[np.ndarray, np.ndarray]:
        """Adds the gradient of the last step's losses to dparams (None: zeros) and returns it with dx[n, inputs], the
        gradient of the last inputs with the carried states held fixed."""
        if not self._sensitivities:
            raise ValueError("these streams have no sensitivities: Streams(..., sensitivities=True)")
        n, sizes = self.n, self.cell.sizes
        dy = array(dy, np.float32, (n, sizes.output), "dy")
        if dparams is None:
            dparams = np.zeros(sizes.params, np.float32)
        dparams = array(dparams, np.float32, (sizes.params,), "dparams", written=True)
        dx = np.empty((n, self.cell.inputs), np.float32)
        with self._lock:
            if not self._stepped:
                raise ValueError("there was no step yet")
            for i in range(n):
                library.sparc_rtrl_gradient(self.cell._handle, address(self._prepared), address(self.traces[i]),
                                            address(self._tapes[i]), address(dy[i]), address(dparams), address(dx[i]))
        return dparams, dx


def _streams_of(cell, n, threads, prepared, states, traces, tapes, stepped):
    """Restores pickled streams."""
    streams = Streams(cell, np.zeros(cell.sizes.params, np.float32), n, traces is not None, threads)
    streams._prepared = array(prepared, np.float32, (cell.sizes.prepared,), "prepared")
    for own, values in ((streams.states, states), (streams.traces, traces), (streams._tapes, tapes)):
        if own is not None:
            own[:] = values
    streams._stepped = bool(stepped)
    return streams


def _stream_of(cell, prepared, sensitivities, state, trace, tape):
    """Restores a pickled stream."""
    stream = Stream(cell, array(prepared, prepared.dtype, (cell.sizes.prepared,), "prepared"), sensitivities)
    stream.state, stream.trace = state, trace
    stream._tape[:] = tape
    return stream
