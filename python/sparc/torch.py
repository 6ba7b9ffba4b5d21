# SPDX-License-Identifier: MIT
"""Cells as layers of PyTorch, on the CPU, with the library's exact backward."""
import torch

from .cells import Cell


def _numpy(tensor):
    return None if tensor is None else tensor.detach().contiguous().numpy()


class _Sequence(torch.autograd.Function):

    @staticmethod
    def forward(ctx, cell, threads, chunk, params, x, mask, state0):
        run = cell.forward(_numpy(params), _numpy(x), _numpy(mask), _numpy(state0), threads, chunk)
        ctx.run, ctx.has_state0 = run, state0 is not None
        y = torch.from_numpy(run.y)
        ctx.save_for_backward(x, mask, state0, y)
        return y, torch.from_numpy(run.state_last)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, dstate_last):
        ctx.saved_tensors  # the adjoint reads these arrays; PyTorch raises if one was changed in place
        gradient = ctx.run.backward(_numpy(dy), _numpy(dstate_last))
        dstate0 = torch.from_numpy(gradient.state0) if ctx.has_state0 else None
        return None, None, None, torch.from_numpy(gradient.params), torch.from_numpy(gradient.x), None, dstate0


class Layer(torch.nn.Module):
    """y, state = layer(x, mask=None, state=None): x[B, T, inputs], y[B, T, output], state[B, state].

    The parameters are one flat tensor, `params`; layer.cell.split(layer.params) gives the blocks by name. .double() works
    in double throughout."""

    def __init__(self, kind, inputs, modes, options=None, seed=0, style="classification", threads=0, chunk=0):
        super().__init__()
        self.cell = Cell(kind, inputs, modes, options)
        self.threads, self.chunk = threads, chunk
        self.params = torch.nn.Parameter(torch.from_numpy(self.cell.init(seed, style)))

    def forward(self, x, mask=None, state=None):
        return _Sequence.apply(self.cell, self.threads, self.chunk, self.params, x, mask, state)

    def extra_repr(self):
        return repr(self.cell)
