# SPDX-License-Identifier: MIT
"""Cells and networks as PyTorch modules, on the CPU, with the library's exact backward.

    layer = sparc.torch.Layer("sparc", inputs=3, modes=64)
    y, state = layer(x)                            # x[B, T, 3]; y[B, T, layer.outputs]
    y, state = layer(more, state)                  # continues; mask[B, T] is 0 where a new segment starts

Parameters have the names of the tool's checkpoints (layer.log_decay, network.layers...), so a state_dict is a model file
and back: Network.save(path) writes what `sparc eval` and sparc.Model read, Network.load(path) reads what `sparc train`
wrote. Modules are custom operators (torch.ops.sparc), which torch.compile and torch.export keep as they are. float32 and
float64 are supported; under autocast a module computes in the precision of its parameters.
"""
from __future__ import annotations

import ctypes
import functools
import json
import threading
from typing import Any, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from ._library import (library, sparc_dropout, sparc_network_gradient, sparc_network_sequence, sparc_sequence,
                       sparc_sequence_gradient)
from .cells import Cell
from .networks import Network as _Network
from .networks import Preprocessing

__all__ = ["Layer", "Network"]

_SUFFIX = {torch.float32: "", torch.float64: "_f64"}
_PRECISION = {"": 0, "_f64": 1}  # sparc_precision


# ---- what the operators share ----


@functools.lru_cache(maxsize=256)
def _cell(description: str) -> Cell:
    """The cell of "kind/inputs/modes/options", the key that operators receive."""
    kind, inputs, modes, options = description.split("/", 3)
    return Cell(kind, int(inputs), int(modes), options or None)


@functools.lru_cache(maxsize=64)
def _network(config: str) -> _Network:
    return _Network(**json.loads(config))


class _Scratch(threading.local):
    """Scratch memory of one thread."""

    memory: Optional[Tensor] = None

    def take(self, size):
        if self.memory is None or self.memory.numel() < size:
            self.memory = torch.empty(size, dtype=torch.uint8)
        return self.memory.data_ptr()


_scratch = _Scratch()


@functools.lru_cache(maxsize=256)
def _line(bytes_of, *arguments):
    """Coefficients of a bound on bytes_of(B, T) that is linear in B T, B and T; sizes are rounded to cache lines, so
    they are taken at multiples of 16, and a rest is added that rounding cannot exceed."""
    unit = 16 * max(arguments[-1], 1)
    f = [[bytes_of(*arguments, B, T) for T in (unit, 2 * unit)] for B in (16, 32)]
    slope = -((f[0][0] + f[1][1] - f[0][1] - f[1][0]) // (-16 * unit))
    per_stream = -((f[1][0] - f[0][0]) // -16) - slope * unit
    per_step = -((f[0][1] - f[0][0]) // -unit) - slope * 16
    constant = f[0][0] - slope * 16 * unit - per_stream * 16 - per_step * unit
    chunk = bytes_of(*arguments, 16, arguments[-1]) // 16 if arguments[-1] else 0
    return slope, max(per_stream, 0) + chunk, max(per_step, 0), max(constant, 0) + 64 * 64


def _bound(bytes_of, B, T, *arguments):
    """An upper bound of bytes_of(B, T), also for symbolic B and T of the compiler."""
    slope, per_stream, per_step, constant = _line(bytes_of, *arguments)
    return slope * B * T + per_stream * B + per_step * T + constant


def _saved_bytes(suffix, cell, threads, chunk, B, T):
    return library.sparc_plan_sizes_of(_cell(cell)._plan(B, T, threads, chunk), _PRECISION[suffix]).saved


def _work_bytes(suffix, config, threads, chunk, B, T):
    del chunk
    return library.sparc_network_plan_work_bytes(_network(config)._plan(B, T, threads), _PRECISION[suffix])


def _prepared(owner, call, params):
    prepared = torch.empty(owner.sizes.prepared, dtype=params.dtype)
    getattr(library, call + _SUFFIX[params.dtype])(owner._handle, params.data_ptr(), prepared.data_ptr())
    return prepared


def _pointer(tensor):
    return None if tensor is None else tensor.data_ptr()


def _memory(size, needed):
    if size < needed:
        raise AssertionError(f"the bound {size} is less than the {needed} bytes that are needed")
    return torch.empty(size, dtype=torch.uint8)


def _checked(x, inputs, **others):
    """Shapes of x[B, T, inputs] and of the other arrays."""
    if x.dim() != 3 or x.shape[2] != inputs or x.shape[0] < 1 or x.shape[1] < 1:
        raise ValueError(f"x has the shape {tuple(x.shape)}, expected (streams, steps, {inputs})")
    for name, (tensor, shape) in others.items():
        if tensor is not None and tuple(tensor.shape) != shape:
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)}, expected {shape}")


def _no_vmap(name):

    def vmap(info, in_dims, *arguments):
        raise RuntimeError(f"{name} does not support torch.vmap: the first dimension of x is the batch, and gradients of "
                           "single examples are those of calls with one example each")

    torch.library.register_vmap(name, vmap)


def _no_transforms():
    """Refuses torch.func transforms: jvp would treat an operator without a formula as a constant."""
    if torch.compiler.is_compiling():
        return
    transform, kinds = torch._C._functorch.peek_interpreter_stack(), torch._C._functorch.TransformType
    if transform is not None and transform.key() in (kinds.Grad, kinds.Jvp):
        raise RuntimeError("modules of sparc.torch do not support the transforms of torch.func (grad, vjp, jvp, ...): use "
                           "backward() or torch.autograd.grad")


# ---- a cell ----


@torch.library.custom_op("sparc::sequence", mutates_args=(), device_types="cpu")
def _sequence(params: Tensor, x: Tensor, mask: Optional[Tensor], state0: Optional[Tensor], cell: str, threads: int,
              chunk: int) -> Tuple[Tensor, Tensor, Tensor]:
    made, suffix, (B, T, _) = _cell(cell), _SUFFIX[x.dtype], x.shape
    params, x = params.contiguous(), x.contiguous()
    mask, state0 = (None if t is None else t.contiguous() for t in (mask, state0))
    plan = made._plan(B, T, threads, chunk)
    y, last = x.new_empty(B, T, made.sizes.output), x.new_empty(B, made.sizes.state)
    arguments = (suffix, cell, threads, chunk)
    saved = _memory(_bound(_saved_bytes, B, T, *arguments), _saved_bytes(*arguments, B, T))
    prepared = _prepared(made, "sparc_prepare", params)
    sequence = sparc_sequence(*map(_pointer, (x, mask, state0, y, last)))
    work = _scratch.take(library.sparc_plan_sizes_of(plan, _PRECISION[suffix]).work)
    getattr(library, "sparc_forward" + suffix)(plan, prepared.data_ptr(), ctypes.byref(sequence), saved.data_ptr(), work)
    return y, last, saved


@_sequence.register_fake
def _(params, x, mask, state0, cell, threads, chunk):
    made, (B, T, _) = _cell(cell), x.shape
    size = _bound(_saved_bytes, B, T, _SUFFIX[x.dtype], cell, threads, chunk)
    return (x.new_empty(B, T, made.sizes.output), x.new_empty(B, made.sizes.state),
            x.new_empty(size, dtype=torch.uint8))


@torch.library.custom_op("sparc::sequence_backward", mutates_args=(), device_types="cpu")
def _sequence_backward(params: Tensor, x: Tensor, mask: Optional[Tensor], state0: Optional[Tensor], y: Tensor,
                       saved: Tensor, dy: Tensor, dlast: Tensor, cell: str, threads: int,
                       chunk: int) -> Tuple[Tensor, Tensor, Tensor]:
    made, suffix, (B, T, _) = _cell(cell), _SUFFIX[x.dtype], x.shape
    params, x, y, dy, dlast = (t.contiguous() for t in (params, x, y, dy, dlast))
    mask, state0 = (None if t is None else t.contiguous() for t in (mask, state0))
    plan = made._plan(B, T, threads, chunk)
    dparams, dx, dstate0 = torch.zeros_like(params), torch.empty_like(x), x.new_empty(B, made.sizes.state)
    prepared = _prepared(made, "sparc_prepare", params)
    sequence = sparc_sequence(*map(_pointer, (x, mask, state0, y, None)))
    gradient = sparc_sequence_gradient(*map(_pointer, (dy, dlast, dx, dstate0, dparams)))
    work = _scratch.take(library.sparc_plan_sizes_of(plan, _PRECISION[suffix]).work)
    getattr(library, "sparc_backward" + suffix)(plan, prepared.data_ptr(), ctypes.byref(sequence), saved.data_ptr(),
                                                ctypes.byref(gradient), work)
    return dparams, dx, dstate0


@_sequence_backward.register_fake
def _(params, x, mask, state0, y, saved, dy, dlast, cell, threads, chunk):
    made = _cell(cell)
    return torch.empty_like(params), torch.empty_like(x), x.new_empty(x.shape[0], made.sizes.state)


def _sequence_context(ctx, inputs, output):
    params, x, mask, state0, *ctx.description = inputs
    y, _, saved = output
    ctx.has_state0 = state0 is not None
    ctx.save_for_backward(params, x, mask, state0, y, saved)


def _sequence_gradient(ctx, dy, dlast, dsaved):
    params, x, mask, state0, y, saved = ctx.saved_tensors
    if dy is None:
        dy = torch.zeros_like(y)
    if dlast is None:
        dlast = x.new_zeros(x.shape[0], _cell(ctx.description[0]).sizes.state)
    dparams, dx, dstate0 = _sequence_backward(params, x, mask, state0, y, saved, dy, dlast, *ctx.description)
    return dparams, dx, None, dstate0 if ctx.has_state0 else None, *[None] * 3


torch.library.register_autograd("sparc::sequence", _sequence_gradient, setup_context=_sequence_context)
_no_vmap("sparc::sequence")
_no_vmap("sparc::sequence_backward")


# ---- a network ----


def _network_arrays(network, x, mask, state0, lengths, dropout, y, last):
    """The structure of a sequence, and the objects other than tensors that it points to."""
    outputs = (ctypes.c_void_p * 1)(_pointer(y))
    drop = None if dropout is None else sparc_dropout(*(int(v) % 2**64 for v in dropout.tolist()))
    sequence = sparc_network_sequence(_pointer(x), _pointer(mask), _pointer(state0), _pointer(lengths),
                                      None if drop is None else ctypes.addressof(drop), ctypes.addressof(outputs),
                                      _pointer(last))
    return sequence, (outputs, drop)


def _output_shape(network, B, T):
    return (B, T, network.sizes.outputs) if network.every_step else (B, network.sizes.outputs)


@torch.library.custom_op("sparc::network", mutates_args=(), device_types="cpu")
def _run(params: Tensor, x: Tensor, mask: Optional[Tensor], state0: Optional[Tensor], lengths: Optional[Tensor],
         dropout: Optional[Tensor], config: str, threads: int) -> Tuple[Tensor, Tensor, Tensor]:
    network, suffix, (B, T, _) = _network(config), _SUFFIX[x.dtype], x.shape
    params, x = params.contiguous(), x.contiguous()
    mask, state0, lengths = (None if t is None else t.contiguous() for t in (mask, state0, lengths))
    plan = network._plan(B, T, threads)
    y, last = x.new_empty(_output_shape(network, B, T)), x.new_full((B, network.sizes.state), float("nan"))
    work = _memory(_bound(_work_bytes, B, T, suffix, config, threads, 0), _work_bytes(suffix, config, threads, 0, B, T))
    # a state after step T exists only where no sequence ends before it
    whole = lengths is None or bool((lengths == T).all())
    sequence, _keep = _network_arrays(network, x, mask, state0, lengths, dropout, y, last if whole else None)
    prepared = _prepared(network, "sparc_network_prepare", params)
    getattr(library, "sparc_network_forward" + suffix)(plan, prepared.data_ptr(), ctypes.byref(sequence),
                                                       work.data_ptr())
    return y, last, work


@_run.register_fake
def _(params, x, mask, state0, lengths, dropout, config, threads):
    network, (B, T, _) = _network(config), x.shape
    return (x.new_empty(_output_shape(network, B, T)), x.new_empty(B, network.sizes.state),
            x.new_empty(_bound(_work_bytes, B, T, _SUFFIX[x.dtype], config, threads, 0), dtype=torch.uint8))


@torch.library.custom_op("sparc::network_backward", mutates_args=(), device_types="cpu")
def _run_backward(params: Tensor, x: Tensor, mask: Optional[Tensor], state0: Optional[Tensor],
                  lengths: Optional[Tensor], dropout: Optional[Tensor], y: Tensor, work: Tensor, dy: Tensor,
                  dlast: Optional[Tensor], config: str, threads: int) -> Tuple[Tensor, Tensor, Tensor]:
    network, suffix, (B, T, _) = _network(config), _SUFFIX[x.dtype], x.shape
    params, x, y, dy = (t.contiguous() for t in (params, x, y, dy))
    mask, state0, lengths, dlast = (None if t is None else t.contiguous() for t in (mask, state0, lengths, dlast))
    plan = network._plan(B, T, threads)
    work = work.clone()  # a backward uses up the activations, and the graph may be kept for another one
    dparams, dx, dstate0 = torch.zeros_like(params), torch.empty_like(x), x.new_empty(B, network.sizes.state)
    whole = lengths is None or bool((lengths == T).all())
    sequence, _keep = _network_arrays(network, x, mask, state0, lengths, dropout, y, None)
    doutputs = (ctypes.c_void_p * 1)(dy.data_ptr())
    gradient = sparc_network_gradient(ctypes.addressof(doutputs), _pointer(dlast) if whole else None, dx.data_ptr(),
                                      dstate0.data_ptr(), dparams.data_ptr())
    prepared = _prepared(network, "sparc_network_prepare", params)
    getattr(library, "sparc_network_backward" + suffix)(plan, prepared.data_ptr(), ctypes.byref(sequence),
                                                        ctypes.byref(gradient), work.data_ptr())
    return dparams, dx, dstate0


@_run_backward.register_fake
def _(params, x, mask, state0, lengths, dropout, y, work, dy, dlast, config, threads):
    return torch.empty_like(params), torch.empty_like(x), x.new_empty(x.shape[0], _network(config).sizes.state)


def _run_context(ctx, inputs, output):
    params, x, mask, state0, lengths, dropout, ctx.config, ctx.threads = inputs
    y, _, work = output
    ctx.has_state0 = state0 is not None
    ctx.save_for_backward(params, x, mask, state0, lengths, dropout, y, work)


def _run_gradient(ctx, dy, dlast, dwork):
    *arrays, y, work = ctx.saved_tensors
    if dy is None:
        dy = torch.zeros_like(y)
    dparams, dx, dstate0 = _run_backward(*arrays, y, work, dy, dlast, ctx.config, ctx.threads)
    return dparams, dx, None, dstate0 if ctx.has_state0 else None, None, None, None, None


torch.library.register_autograd("sparc::network", _run_gradient, setup_context=_run_context)
_no_vmap("sparc::network")
_no_vmap("sparc::network_backward")


# ---- modules ----


class _Module(torch.nn.Module):
    """Parameters by block name; names with dots are placed in submodules."""

    def _take(self, owner, params):
        self._names = [block.name for block in owner.blocks]
        for block in owner.blocks:
            module: torch.nn.Module = self
            *path, leaf = block.name.split(".")
            for name in path:
                if name not in module._modules:
                    module.add_module(name, torch.nn.Module())
                module = module._modules[name]
            values = torch.from_numpy(params[block.offset:block.offset + block.size].copy()).reshape(block.shape)
            module.register_parameter(leaf, torch.nn.Parameter(values))

    def _named(self, name) -> Tensor:
        """A parameter, or the tensor that torch.func.functional_call substitutes for it."""
        return functools.reduce(getattr, name.split("."), self)

    def flat(self) -> Tensor:
        """All parameters as one tensor, in the order of the library."""
        return torch.cat([self._named(name).reshape(-1) for name in self._names])

    def _cast(self, name, tensor):
        dtype = self._named(self._names[0]).dtype
        if dtype not in _SUFFIX:
            raise TypeError(f"parameters are {dtype}, expected float32 or float64")
        if tensor is None or tensor.dtype == dtype:
            return tensor
        if name != "mask" and not torch.is_autocast_enabled("cpu"):
            raise TypeError(f"{name} is {tensor.dtype}, but parameters are {dtype}")
        return tensor.to(dtype)

    def _arguments(self, x, state, mask):
        _no_transforms()
        device = self._named(self._names[0]).device
        if device.type not in ("cpu", "meta"):
            raise RuntimeError(f"parameters are on {device}, expected cpu")
        for name, tensor in (("x", x), ("state", state), ("mask", mask)):
            if tensor is None:
                continue
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{name} is {type(tensor).__name__}, expected a torch.Tensor")
            if tensor.device != device:
                raise RuntimeError(f"{name} is on {tensor.device}, expected {device} as the parameters")
        return self._cast("x", x), self._cast("state", state), self._cast("mask", mask)


class Layer(_Module):
    """A cell over sequences: y, state = layer(x, state=None, mask=None) with x[B, T, inputs], y[B, T, outputs],
    state[B, state_size] and mask[B, T], 0 where a new segment starts.

    Parameters have the names of the cell's blocks, for example layer.log_decay. threads 0: as many as there are
    processors; results do not depend on it. chunk: the paper's Algorithm 1 with chunks of this length."""

    def __init__(self, kind: str = "sparc", inputs: int = 1, modes: int = 64, options: Optional[str] = None, *,
                 seed: int = 0, style: str = "classification", threads: int = 0, chunk: int = 0):
        super().__init__()
        cell = Cell(kind, inputs, modes, options)
        self.kind, self.inputs, self.modes, self.options = kind, inputs, modes, cell.options
        self.outputs, self.state_size = cell.sizes.output, cell.sizes.state
        self.threads, self.chunk = threads, chunk
        self.description = f"{kind}/{inputs}/{modes}/{cell.options}"
        self._take(cell, cell.init(seed, style))

    @property
    def cell(self) -> Cell:
        """The description of the cell."""
        return _cell(self.description)

    def forward(self, x: Tensor, state: Optional[Tensor] = None, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        """Runs x[B, T, inputs]; returns y[B, T, outputs] and the state after the last step."""
        x, state, mask = self._arguments(x, state, mask)
        _checked(x, self.inputs, state=(state, (x.shape[0], self.state_size)), mask=(mask, tuple(x.shape[:2])))
        y, last, _ = torch.ops.sparc.sequence(self.flat(), x, mask, state, self.description, self.threads, self.chunk)
        return y, last

    def extra_repr(self) -> str:
        """Text for print(layer)."""
        return f"{self.kind!r}, inputs={self.inputs}, modes={self.modes}, options={self.options!r}"


class Network(_Module):
    """A whole network: y, state = network(x, state=None, mask=None, lengths=None), with y[B, outputs], or [B, T, outputs]
    for head="steps": logits, or values. Arguments and parameter names are those of sparc.Network.

    lengths[B] is the number of valid steps of each sequence; state is NaN if one is shorter than T. Dropout follows train()
    and eval() and uses PyTorch's random numbers. preprocessing is stored in model files: load() reads it, save() writes it,
    normalise() applies it."""

    def __init__(self, inputs: int, outputs: int, cell: str = "sparc", modes: int = 64, *, seed: int = 0,
                 threads: int = 0, **settings: Any):
        super().__init__()
        network = _Network(inputs, outputs, cell, modes, **settings)
        self.config, self.threads = json.dumps(network.config, sort_keys=True), threads
        self.inputs, self.outputs, self.state_size = inputs, outputs, network.sizes.state
        self.dropout = network.config["dropout"]
        self.preprocessing = Preprocessing()
        self._take(network, network.init(seed))

    @property
    def description(self) -> _Network:
        """The description of the network."""
        return _network(self.config)

    def forward(self, x: Tensor, state: Optional[Tensor] = None, mask: Optional[Tensor] = None,
                lengths: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        """Runs x[B, T, inputs]; returns the outputs of the head and the state after the last step."""
        x, state, mask = self._arguments(x, state, mask)
        B, T = x.shape[0], x.shape[1]
        _checked(x, self.inputs, state=(state, (B, self.state_size)), mask=(mask, (B, T)), lengths=(lengths, (B,)))
        if lengths is not None:
            if lengths.is_floating_point():
                raise TypeError(f"lengths are {lengths.dtype}, expected whole numbers")
            lengths = lengths.to(torch.int32)
        drop = None
        if self.training and self.dropout > 0:
            drop = torch.randint(0, 2**62, (2,), dtype=torch.int64)
        y, last, _ = torch.ops.sparc.network(self.flat(), x, mask, state, lengths, drop, self.config, self.threads)
        return y, last

    def normalise(self, x: Tensor) -> Tensor:
        """Raw values, normalised for the network."""
        if self.preprocessing.mean is None:
            return x
        mean, stddev = (torch.as_tensor(v, dtype=torch.float64) for v in self.preprocessing[:2])
        return ((x.to(torch.float64) - mean) / stddev).to(x.dtype)

    def save(self, path: Any, *, metadata: Optional[dict] = None, **preprocessing: Any) -> None:
        """Writes a model file for `sparc eval`, `sparc predict` and sparc.Model: weights in float32, and what the members
        of Preprocessing say (labels=..., mean=..., stddev=...)."""
        known = self.preprocessing._replace(**preprocessing)
        params = self.flat().detach().to(torch.float32).numpy()
        self.description.save(params, path, metadata=metadata, **known._asdict())

    @classmethod
    def load(cls, path: Any, threads: int = 0) -> "Network":
        """The network of a model file: of `sparc train`, of save(), or of a learner."""
        network, params, known = _Network.load(path)
        module = cls(**network.config, threads=threads)
        module.preprocessing = known
        with torch.no_grad():
            for name, values in network.split(params).items():
                module.get_parameter(name).copy_(torch.from_numpy(np.array(values)))
        return module

    def extra_repr(self) -> str:
        """Text for print(network)."""
        return ", ".join(f"{name}={value!r}" for name, value in json.loads(self.config).items() if value is not None)
