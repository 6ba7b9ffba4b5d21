# SPDX-License-Identifier: MIT
"""Environments for reinforcement learning: vectors of built-in environments, and environments in Python."""
from __future__ import annotations

import ctypes
import difflib
from collections import namedtuple
from typing import Any, Optional

import numpy as np

from ._library import (ENV_OPEN, ENV_RESET_ALL, ENV_STEP_ALL, Guarded, Handle, address, array, integer, library,
                       sparc_env_kind, sparc_env_shape, sparc_envs_config, text)

__all__ = ["Environments", "Shape", "Step", "environment_names"]

Shape = namedtuple("Shape", "observation choices action horizon")
Shape.__doc__ = """Sizes of a task: size of an observation, number of discrete choices (0: continuous actions), size of an
action, and maximum length of an episode."""
Step = namedtuple("Step", "observations rewards masks returns lengths")
Step.__doc__ = """One step of n environments. Where masks is 0, the observation is the first of a new episode, and returns and
lengths are those of the episode that ended; elsewhere masks is 1, returns NaN and lengths 0."""

_VERSION = 4  # SPARC_ENV_VERSION
_INVALID = 1  # SPARC_INVALID


def environment_names() -> list[str]:
    """The names of the built-in environments."""
    names, found = library.sparc_env_names(), []
    while names[len(found)]:
        found.append(names[len(found)].decode())
    return found


def similar_names(name: Any) -> str:
    """Error text for a name that is not a built-in environment."""
    near = difflib.get_close_matches(name, environment_names(), 1) if isinstance(name, str) else []
    return f"did you mean {near[0]!r} of this library" if near else "sparc.environment_names() lists those of this library"


class Environments(Guarded):
    """A vector of n environments of one kind, which start the next episode automatically.

        envs = sparc.Environments("repeat-previous", n=16, seed=1)
        observations = envs.reset()
        step = envs.step(np.zeros(16))

    name is a built-in environment or the path of a plugin, which is loaded as code: use only trusted files."""

    name: str
    n: int
    shape: Shape

    def __init__(self, name: str, n: int = 1, options: Optional[str] = None, seed: int = 0, threads: int = 1):
        super().__init__()
        n, threads = integer(n, "n"), integer(threads, "threads")
        config = sparc_envs_config(name=text(name), options=text(options), n=n, seed=seed, threads=threads)
        handle = Handle(lambda out: library.sparc_envs_create(ctypes.byref(config), out), "sparc_envs_free")
        shape = library.sparc_envs_info_of(handle).shape
        self._fix(_arguments=(name, n, options, seed, threads), _handle=handle, name=name, n=n,
                  shape=Shape(*(getattr(shape, field) for field in Shape._fields)))

    def __reduce__(self):
        return _environments_of, (self._arguments, self.save())

    def reset(self) -> np.ndarray:
        """Starts an episode everywhere and returns observations[n, observation]."""
        observations = np.empty((self.n, self.shape.observation), np.float32)
        with self._lock:
            library.sparc_envs_reset(self._handle, address(observations))
        return observations

    def step(self, actions: Any) -> Step:
        """Advances every environment by actions[n, action], or [n] where an action is one number."""
        actions = np.asarray(actions, np.float32)
        if actions.ndim == 1 and self.shape.action == 1:
            actions = actions[:, None]
        actions = array(actions, np.float32, (self.n, self.shape.action), "actions")
        made = Step(np.empty((self.n, self.shape.observation), np.float32), np.empty(self.n, np.float32),
                    np.empty(self.n, np.float32), np.full(self.n, np.nan), np.zeros(self.n, np.int32))
        with self._lock:
            library.sparc_envs_step(self._handle, address(actions), *map(address, made))
        return made

    def oracle(self) -> np.ndarray:
        """Actions[n, action] of the kind's oracle, which may read the state."""
        actions = np.empty((self.n, self.shape.action), np.float32)
        with self._lock:
            library.sparc_envs_oracle(self._handle, address(actions))
        return actions

    @property
    def faults(self) -> int:
        """Number of episodes that ended by a non-finite value."""
        with self._lock:
            return library.sparc_envs_info_of(self._handle).faults

    def save(self) -> bytes:
        """The complete state: episodes, random streams, counters."""
        with self._lock:
            state = np.empty(library.sparc_envs_info_of(self._handle).state_bytes, np.uint8)
            library.sparc_envs_save(self._handle, address(state))
        return state.tobytes()

    def restore(self, state: bytes) -> None:
        """Restores the state that save() returned for the same kind, options and n."""
        state = np.frombuffer(state, np.uint8)
        with self._lock:
            library.sparc_envs_restore(self._handle, address(state), state.size)


def _environments_of(arguments, state):
    """Restores pickled environments."""
    envs = Environments(*arguments)
    envs.restore(state)
    return envs


class External:
    """Environments that live in Python, as a kind of the library. `vector` has n, shape, reset() -> observations and
    step(actions) -> (observations, rewards, masks), all NumPy arrays. What they raise is kept, and raised by check()."""

    def __init__(self, name, vector):
        self.vector, self.failure = vector, None
        self.name = name
        self._calls = (ENV_OPEN(self._open), ENV_RESET_ALL(self._reset_all), ENV_STEP_ALL(self._step_all))
        opened, reset_all, step_all = (ctypes.cast(call, ctypes.c_void_p) for call in self._calls)
        self.kind = sparc_env_kind(version=_VERSION, name=text(name), summary=b"an environment of Python",
                                   random_return=np.nan, optimal_return=np.nan, open=opened, reset_all=reset_all,
                                   step_all=step_all)

    def _open(self, options, shape, model):
        del options, model
        shape[0] = sparc_env_shape(*self.vector.shape)
        return 0

    def _guard(self, n, call):
        """Runs a callback; an exception must not reach C."""
        try:
            if n != self.vector.n:
                raise ValueError(f"there are {self.vector.n} environments, and {n} streams")
            call()
            return 0
        except BaseException as failure:
            self.failure = failure
            sentence = f"{type(failure).__name__}: {failure}".encode(errors="replace")
            return library.sparc_env_refuse(b"%s", sentence[:400])

    def _view(self, pointer, *shape):
        return np.ctypeslib.as_array(pointer, shape)

    def _reset_all(self, model, n, observations):
        del model

        def call():
            self._view(observations, n, self.vector.shape.observation)[:] = self.vector.reset()

        return self._guard(n, call)

    def _step_all(self, model, n, actions, observations, rewards, masks):
        del model

        def call():
            shape = self.vector.shape
            made = self.vector.step(self._view(actions, n, shape.action).copy())
            self._view(observations, n, shape.observation)[:] = made[0]
            self._view(rewards, n)[:] = made[1]
            self._view(masks, n)[:] = made[2]

        return self._guard(n, call)

    def check(self):
        """Raises the exception of the environments since the last call, if any."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
