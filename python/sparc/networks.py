# SPDX-License-Identifier: MIT
"""Networks: embedding, residual layers of cells or one bare cell, and a head, over NumPy arrays.

    network = sparc.Network(inputs=1, outputs=10, cell="sparc", modes=64, layers=4, head="mean")
    params = network.init(seed=1)
    run = network.forward(params, x)               # x[B, T, 1]; run.y[B, 10]
    gradient = run.backward(dy)                    # gradient.params, gradient.x, gradient.state0
    network.save(params, "model.safetensors", labels=list("0123456789"))   # for `sparc eval` and sparc.Model
"""
from __future__ import annotations

import ctypes
from collections import namedtuple
from typing import Any, Optional, Sequence

import numpy as np

from ._library import (Error, Guarded, Handle, address, aligned, array, integer, library, numbers, sparc_dropout,
                       sparc_head_config, sparc_metadata, sparc_network_config, sparc_network_gradient,
                       sparc_network_sequence, sparc_preprocessing, text)
from .cells import Block, Gradient

__all__ = ["Network", "Preprocessing"]

NetworkSizes = namedtuple("NetworkSizes", "params prepared state outputs tape trace trace_exact")
NetworkSizes.__doc__ = "How many numbers a network has of each kind, for one stream."
Preprocessing = namedtuple("Preprocessing", "mean stddev labels target_mean target_stddev",
                           defaults=(None, None, None, None, None))
Preprocessing.__doc__ = """Preprocessing stored in a model file: raw inputs become (x - mean) / stddev, labels name the
classes, and outputs of a regression are multiplied by target_stddev and shifted by target_mean. None: absent."""

_CHOICES = {
    "embedding": ["none", "linear", "tanh"],
    "features": ["output", "relu", "policy"],
    "head": ["mean", "last", "steps"],
    "head_kind": ["by-input", "classes", "values"],
    "init": ["control", "classification", "released"],
}
_PLANS = 32
_SUFFIX = {np.dtype(np.float32): "", np.dtype(np.float64): "_f64"}
_PRECISION = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}  # sparc_precision


def _choice(name, value):
    if value not in _CHOICES[name]:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES[name])}")
    return _CHOICES[name].index(value)


def _doubles(values, name):
    values = None if values is None else np.ascontiguousarray(values, np.float64)
    if values is not None and values.ndim != 1:
        raise ValueError(f"{name} has the shape {values.shape}, expected one number for each")
    return values


def _pointer(values):
    return None if values is None else values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


class Network(Guarded):
    """A constant description of a network with one head. Parameters and states are arrays of the caller.

    layers > 0 gives the paper's residual layers after a linear embedding of `width`, layers=0 one bare cell. The head
    reads the mean over time, the last step or every step, through a tanh layer of `hidden` units if there is one."""

    inputs: int
    outputs: int
    every_step: bool
    config: dict[str, Any]
    sizes: NetworkSizes
    blocks: tuple[Block, ...]

    def __init__(self, inputs: int, outputs: int, cell: str = "sparc", modes: int = 64, *,
                 cell_options: Optional[str] = None, layers: int = 4, width: int = 64, embedding: Optional[str] = None,
                 features: str = "output", dropout: float = 0.0, head: str = "mean", head_kind: str = "by-input",
                 hidden: int = 0, init: str = "classification", head_name: str = "head", hidden_gain: float = 0.0,
                 gain: float = 0.0):
        super().__init__()
        embedding = embedding or ("linear" if layers else "none")
        arguments = dict(inputs=inputs, outputs=outputs, cell=cell, modes=modes, cell_options=cell_options, layers=layers,
                         width=width, embedding=embedding, features=features, dropout=dropout, head=head,
                         head_kind=head_kind, hidden=hidden, init=init, head_name=head_name, hidden_gain=hidden_gain,
                         gain=gain)
        heads = sparc_head_config(name=text(head_name), input=_choice("head", head), outputs=integer(outputs, "outputs"),
                                  hidden=integer(hidden, "hidden"), hidden_gain=hidden_gain, gain=gain,
                                  kind=_choice("head_kind", head_kind))
        config = sparc_network_config(cell=text(cell), cell_options=text(cell_options), H=integer(modes, "modes"),
                                      inputs=integer(inputs, "inputs"), embedding=_choice("embedding", embedding),
                                      width=integer(width, "width"), layers=integer(layers, "layers"),
                                      features=_choice("features", features), dropout=dropout,
                                      head=ctypes.pointer(heads), heads=1, init=_choice("init", init))
        handle = Handle(lambda out: library.sparc_network_create(ctypes.byref(config), out), "sparc_network_free")
        sizes, count = library.sparc_network_sizes_of(handle), ctypes.c_size_t()
        blocks = library.sparc_network_blocks(handle, ctypes.byref(count))
        self._fix(_handle=handle, _plans={}, config=arguments, inputs=inputs, outputs=outputs, every_step=head == "steps",
                  sizes=NetworkSizes(*(getattr(sizes, name) for name in NetworkSizes._fields)),
                  blocks=tuple(Block(b.name.decode(), tuple(b.shape[:b.rank]), b.offset, b.size)
                               for b in blocks[:count.value]))

    def __reduce__(self):
        return _network_of, (self.config,)

    def __repr__(self):
        given = ", ".join(f"{name}={value!r}" for name, value in self.config.items() if value is not None)
        return f"Network({given})"

    @classmethod
    def load(cls, path: Any) -> tuple["Network", np.ndarray, Preprocessing]:
        """The network of a model file, its params and its preprocessing."""
        from .models import Model
        model = Model(path, threads=1)
        return model.network, model.params, model.preprocessing

    def init(self, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
        """Initial parameters."""
        params = np.empty(self.sizes.params, np.float32)
        library.sparc_network_init(self._handle, seed, address(params))
        return params.astype(dtype, copy=False)

    def split(self, params: np.ndarray) -> dict[str, np.ndarray]:
        """The blocks of a flat array by their names, as views."""
        return {b.name: params[b.offset:b.offset + b.size].reshape(b.shape) for b in self.blocks}

    def prepare(self, params: np.ndarray) -> np.ndarray:
        """Parameters in the layout of the kernels; must be prepared again after every change of params."""
        params = np.ascontiguousarray(params)
        if params.dtype not in _SUFFIX:
            raise TypeError(f"params are {params.dtype}, expected float32 or float64")
        params = array(params, params.dtype, (self.sizes.params,), "params")
        prepared = np.empty(self.sizes.prepared, params.dtype)
        getattr(library, "sparc_network_prepare" + _SUFFIX[params.dtype])(self._handle, address(params),
                                                                          address(prepared))
        return prepared

    def _plan(self, B, T, threads):
        key = tuple(integer(value, name) for value, name in ((B, "B"), (T, "T"), (threads, "threads")))
        with self._lock:
            if key not in self._plans:
                if len(self._plans) >= _PLANS:
                    self._plans.pop(next(iter(self._plans)))
                self._plans[key] = Handle(lambda out: library.sparc_network_plan_create(self._handle, *key, out),
                                          "sparc_network_plan_free", keep=self._handle)
            return self._plans[key]

    def forward(self, params: np.ndarray, x: Any, mask: Any = None, state0: Any = None, lengths: Any = None,
                dropout: Optional[tuple[int, int]] = None, threads: int = 0) -> "NetworkRun":
        """Runs x[B, T, inputs]; the result has y[B, outputs] or y[B, T, outputs], state_last and backward. dropout: a seed
        and the number of an update."""
        return NetworkRun(self, self.prepare(params), x, mask, state0, lengths, dropout, threads)

    def step(self, prepared: np.ndarray, states: np.ndarray, x: Any, masks: Any = None, threads: int = 0) -> np.ndarray:
        """Advances n streams by x[n, inputs], updates states[n, state] in place, and returns y[n, outputs]."""
        dtype = prepared.dtype
        x = np.asarray(x)
        n = len(x)
        x = array(x, dtype, (n, self.inputs), "x")
        states = array(states, dtype, (n, self.sizes.state), "states", written=True)
        masks = array(masks, dtype, (n,), "masks")
        y, tapes = np.empty((n, self.sizes.outputs), dtype), np.empty(n * self.sizes.tape, dtype)
        getattr(library, "sparc_network_step" + _SUFFIX[dtype])(self._handle, address(prepared), n, address(states),
                                                                address(x), address(masks), address(y), address(tapes),
                                                                threads)
        return y

    def save(self, params: np.ndarray, path: Any, labels: Optional[Sequence[Any]] = None, mean: Any = None,
             stddev: Any = None, target_mean: Any = None, target_stddev: Any = None, data: Optional[str] = None,
             metadata: Optional[dict[str, str]] = None) -> None:
        """Writes a model file for `sparc eval`, `sparc predict` and sparc.Model. Weights are stored in float32."""
        params = array(params, np.float32, (self.sizes.params,), "params")
        mean, stddev = _doubles(mean, "mean"), _doubles(stddev, "stddev")
        target_mean, target_stddev = _doubles(target_mean, "target_mean"), _doubles(target_stddev,
                                                                                       "target_stddev")
        if (mean is None) != (stddev is None) or (target_mean is None) != (target_stddev is None):
            raise ValueError("mean and stddev must be given together")
        names = [] if labels is None else [str(label).encode() for label in labels]
        known = sparc_preprocessing(
            channels=0 if mean is None else len(mean), mean=_pointer(mean), stddev=_pointer(stddev),
            classes=len(names), labels=(ctypes.c_char_p * len(names))(*names) if names else None,
            targets=0 if target_mean is None else len(target_mean), target_mean=_pointer(target_mean),
            target_stddev=_pointer(target_stddev), data=text(data))
        extra = [(str(key).encode(), str(value).encode()) for key, value in (metadata or {}).items()]
        table = (sparc_metadata * len(extra))(*extra)
        library.sparc_network_save(self._handle, address(params), ctypes.byref(known), table if extra else None,
                                   len(extra), text(path))


class NetworkRun(Guarded):
    """A forward pass with the data that backward needs."""

    network: Network
    y: np.ndarray
    state_last: Optional[np.ndarray]

    def __init__(self, network, prepared, x, mask, state0, lengths, dropout, threads):
        super().__init__()
        x = numbers(x, prepared.dtype, "x")
        if x.ndim != 3:
            raise ValueError(f"x has {x.ndim} dimensions, expected streams, steps and inputs")
        B, T, _ = x.shape
        dtype, n = prepared.dtype, network.sizes
        plan = network._plan(B, T, threads)
        x, mask = array(x, dtype, (B, T, network.inputs), "x"), array(mask, dtype, (B, T), "mask")
        state0, lengths = array(state0, dtype, (B, n.state), "state0"), array(lengths, np.int32, (B,), "lengths")
        y = np.empty((B, T, n.outputs) if network.every_step else (B, n.outputs), dtype)
        # a state after the last step exists only where all sequences have one
        last = np.empty((B, n.state), dtype) if lengths is None or (lengths == T).all() else None
        outputs = (ctypes.c_void_p * 1)(address(y))
        drop = None if dropout is None else sparc_dropout(*dropout)
        sequence = sparc_network_sequence(address(x), address(mask), address(state0), address(lengths),
                                          None if drop is None else ctypes.addressof(drop), ctypes.addressof(outputs),
                                          address(last))
        work = aligned(library.sparc_network_plan_work_bytes(plan, _PRECISION[dtype]))
        self._fix(network=network, y=y, state_last=last, _plan=plan, _prepared=prepared, _dtype=dtype, _shape=(B, T),
                  _arrays=(x, mask, state0, lengths, outputs, drop), _sequence=sequence, _work=work)
        self._fresh = False
        self._forward()

    def _forward(self):
        getattr(library, "sparc_network_forward" + _SUFFIX[self._dtype])(
            self._plan, address(self._prepared), ctypes.byref(self._sequence), address(self._work))
        self._fresh = True

    def backward(self, dy: Any, dstate_last: Any = None) -> Gradient:
        """The exact adjoint: gradients of params, x and state0."""
        dtype, (B, T), n = self._dtype, self._shape, self.network.sizes
        dy = array(dy, dtype, self.y.shape, "dy")
        dstate_last = array(dstate_last, dtype, (B, n.state), "dstate_last")
        gradient = Gradient(np.zeros(n.params, dtype), np.empty((B, T, self.network.inputs), dtype),
                            np.empty((B, n.state), dtype))
        doutputs = (ctypes.c_void_p * 1)(address(dy))
        c = sparc_network_gradient(ctypes.addressof(doutputs), address(dstate_last), address(gradient.x),
                                   address(gradient.state0), address(gradient.params))
        with self._lock:
            if not self._fresh:
                self._forward()  # a backward uses up the activations
            self._fresh = False
            getattr(library, "sparc_network_backward" + _SUFFIX[dtype])(
                self._plan, address(self._prepared), ctypes.byref(self._sequence), ctypes.byref(c), address(self._work))
        return gradient


def _network_of(config):
    """Restores a pickled network."""
    return Network(**config)


def config_of(handle) -> dict:
    """The arguments of Network that describe the network of a handle."""
    c = library.sparc_network_config_of(handle)
    if c.layer or c.embedding >= len(_CHOICES["embedding"]):
        raise Error("unsupported", "the network has layers of several kinds, or symbols, which Python does not describe; "
                    "sparc.Model runs it")
    head = c.head[0]
    return dict(inputs=c.inputs, outputs=head.outputs, cell=c.cell.decode(), modes=c.H,
                cell_options=c.cell_options.decode() if c.cell_options else None, layers=c.layers, width=c.width,
                embedding=_CHOICES["embedding"][c.embedding], features=_CHOICES["features"][c.features],
                dropout=c.dropout, head=_CHOICES["head"][head.input], head_kind=_CHOICES["head_kind"][head.kind],
                hidden=head.hidden, init=_CHOICES["init"][c.init], head_name=head.name.decode() if head.name else "head",
                hidden_gain=head.hidden_gain, gain=head.gain)
