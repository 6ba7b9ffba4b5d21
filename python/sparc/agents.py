# SPDX-License-Identifier: MIT
"""Recurrent actor-critics: PPO with exact sensitivities, and trained agents.

    ppo = sparc.PPO("repeat-previous", cell="sparc", seed=1)
    ppo.train(100_000)
    ppo.save("agent.safetensors")                  # for `sparc rl --eval`, and to continue

    agent = sparc.Agent("agent.safetensors")
    action, state = agent.predict(observation, state, episode_start=first)
"""
from __future__ import annotations

import ctypes
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from ._library import (Error, Guarded, Handle, Interrupt, address, array, assign, library, sparc_metadata, sparc_ppo_config,
                       sparc_ppo_report, sparc_random, text)
from .environments import Environments, External, Shape, environment_names, similar_names

__all__ = ["Agent", "PPO"]

_CHOICES = {
    "init": ["paper", "released"],
    "obsnorm": ["none", "feature", "pooled"],
    "rewardnorm": ["none", "return"],
    "traces": ["auto", "stored", "free"],
    "refresh": ["none", "epoch", "measure"],
    "encoder": ["local", "exact"],
}
_RENAMED = {"modes": "H", "rollout": "rollout_steps"}
_HIDDEN = {"task", "kind", "H", "rollout_steps", "rollouts"}
_SETTINGS = sorted({name for name, _ in sparc_ppo_config._fields_} - _HIDDEN | set(_RENAMED))


def _set(config, name, value):
    """Sets one member of a configuration by its Python name."""
    if name not in _SETTINGS:
        raise TypeError(f"PPO has no setting {name!r}, expected one of {', '.join(_SETTINGS)}")
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES[name])}")
        value = _CHOICES[name].index(value)
    assign(config, _RENAMED.get(name, name), value, name)


def _report(c) -> dict[str, float]:
    """A report as one flat dictionary; rows of these make a pandas frame."""
    row: dict[str, Any] = {}
    for name, _ in sparc_ppo_report._fields_:
        value = getattr(c, name)
        if name == "staleness":
            for k in range(value.epochs):
                row[f"staleness_cosine_{k}"], row[f"staleness_ratio_{k}"] = value.cosine[k], value.ratio[k]
        elif isinstance(value, ctypes.Structure):
            row.update({field: getattr(value, field) for field, _ in value._fields_})
        else:
            row[name] = value
    return row


def _is_native(env):
    """Whether this is the name of a built-in environment or the path of a plugin."""
    if not isinstance(env, (str, os.PathLike)):
        return False
    name = os.fspath(env)
    return name in environment_names() or (os.sep in name and not name.startswith("sparc/"))


def _gymnasium(env):
    """A function that creates Gymnasium environments."""
    try:
        from .gymnasium import defaults, vector_of
    except ImportError as missing:
        found = repr(env) if isinstance(env, str) else f"a {type(env).__name__}"
        raise Error("invalid", f"env is {found}: {similar_names(env)}, and those of Gymnasium need a package that cannot be "
                    f"imported ({missing})") from None
    return defaults, vector_of


class PPO(Guarded):
    """Trains a recurrent actor-critic on an environment.

    env      the name of a built-in environment ("repeat-previous"), of one registered with Gymnasium ("CartPole-v1"),
             a Gymnasium environment, a function that returns one, or a vectorised one (see sparc.gymnasium)
    cell     see sparc.kinds(); cell_options, modes, state_size and width describe the network further
    streams  number of parallel environments
    rollout  steps of a rollout, over all streams

    Other settings are the members of sparc_ppo_config (sparc/rl.h); their defaults are the paper's for the task. One
    seed gives the same run on any number of threads; an environment of Gymnasium must be deterministic for that.

    Environments of Gymnasium cannot be saved: a loaded run starts new episodes, and a warning says so."""

    env: Any
    task: str
    cell: str
    modes: int
    rollout: int
    streams: int
    seed: int
    history: list[dict[str, Any]]

    def __init__(self, env: Any, cell: str = "sparc", *, seed: int = 0, threads: int = 0, _load: Any = None,
                 **settings: Any):
        super().__init__()
        self._fix(history=[])
        self._broken = False
        external, name = None, env
        if not _is_native(env):
            defaults, vector_of = _gymnasium(env)
            streams = settings.get("streams")
            if _load is not None:
                streams = _load[1]
            vector, name = vector_of(env, streams, seed)
            external = External(name, vector)
            settings = {**defaults(vector), **settings, "streams": vector.n}
        if _load is not None:
            handle = self._loaded(_load[0], external, threads)
        else:
            handle = self._created(name, external, {"cell": cell, "seed": seed, "threads": threads, **settings})
        config = library.sparc_ppo_info_of(handle).config.contents
        self._fix(_handle=handle, _external=external, env=env, cell=config.cell.decode(), modes=config.H,
                  rollout=config.rollout_steps, streams=config.streams, seed=config.seed, task=config.task.decode())

    @staticmethod
    def _call(external, call):
        """Calls the library; an exception of a Python environment takes precedence."""
        try:
            call()
        except Error:
            if external is not None:
                external.check()
            raise

    def _created(self, name, external, settings):
        config = sparc_ppo_config()
        library.sparc_ppo_defaults(text(name), ctypes.byref(config))
        if "modes" in settings:
            settings = {**settings, "state_size": settings.get("state_size") or config.state_size}
        for key, value in settings.items():
            if value is not None:
                _set(config, key, value)
        if external is not None:
            config.kind = ctypes.pointer(external.kind)
        task = text(name)  # the configuration points to it
        config.task = task

        def create(out):
            self._call(external, lambda: library.sparc_ppo_create(ctypes.byref(config), out))

        return Handle(create, "sparc_ppo_free", keep=external)

    def _loaded(self, path, external, threads):
        kind = None if external is None else ctypes.pointer(external.kind)
        if external is not None:
            warnings.warn("environments of Gymnasium cannot be saved: the loaded run starts new episodes and does not "
                          "continue bit-exactly", stacklevel=4)

        def create(out):
            self._call(external, lambda: library.sparc_ppo_load(text(path), kind, threads, out))

        return Handle(create, "sparc_ppo_free", keep=external)

    @classmethod
    def load(cls, path: Any, env: Any = None, threads: int = 0) -> "PPO":
        """Restores a run from a file of save() or `sparc rl`. env: as in the constructor, for Gymnasium tasks."""
        agent = Agent(path)
        task = agent.metadata("task") or ""
        if env is None:
            env = task
        return cls(env, threads=threads, _load=(path, int(agent.metadata("streams") or 1)))

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        with self._lock:
            return library.sparc_ppo_info_of(self._handle).rollouts_done * self.rollout

    def train(self, steps: int, callback: Optional[Callable[["PPO", dict], Any]] = None) -> "PPO":
        """Trains for at least this many environment steps, in whole rollouts.

        callback(ppo, report) is called after every rollout; returning False stops. Reports are kept in `history`:
        pandas.DataFrame(ppo.history) has one row per rollout. Ctrl-C stops after the current rollout and raises
        KeyboardInterrupt; the run can then be saved or continued."""
        last = self.steps + steps
        with Interrupt() as interrupt:
            while self.steps < last and not interrupt.asked:
                row = self._iterate()
                if callback is not None and callback(self, row) is False:
                    break
        if interrupt.asked:
            raise KeyboardInterrupt
        return self

    def _iterate(self):
        if self._broken:
            raise Error("invalid", "the last rollout was not finished, so this run cannot continue; load a saved one")
        report = sparc_ppo_report()
        with self._lock:
            self._broken = True
            self._call(self._external, lambda: library.sparc_ppo_iterate(self._handle, ctypes.byref(report)))
            self._broken = False
            row = _report(report)
            self.history.append(row)
        return row

    def save(self, path: Any, metadata: Optional[dict[str, str]] = None) -> None:
        """Saves the complete state of the run. The file is also an agent."""
        extra = [(str(k).encode(), str(v).encode()) for k, v in (metadata or {}).items()]
        table = (sparc_metadata * len(extra))(*extra)
        with self._lock:
            library.sparc_ppo_save(self._handle, table if extra else None, len(extra), text(path))

    def agent(self) -> "Agent":
        """The current agent."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.safetensors"
            self.save(path)
            return Agent(path, spaces=None if self._external is None else self._external.vector.spaces)

    def evaluate(self, episodes: int = 100, deterministic: bool = True, env: Any = None, seed: int = 1) -> np.ndarray:
        """Plays whole episodes with the current agent on separate environments and returns their returns."""
        return self.agent().evaluate(self.env if env is None else env, episodes, deterministic, seed)


class Agent(Guarded):
    """A trained agent: weights and frozen normaliser from a file of PPO or `sparc rl`.

    spaces, or an environment of Gymnasium in their place, lets predict() take and give what that environment does."""

    shape: Shape
    state_size: int
    spaces: Any

    def __init__(self, path: Any, spaces: Any = None, seed: int = 0):
        super().__init__()
        if spaces is not None and not hasattr(spaces, "encode"):
            from .gymnasium import Spaces
            spaces = Spaces.of(spaces)
        data = Path(path).read_bytes()
        handle = Handle(lambda out: library.sparc_agent_load(text(path), out), "sparc_agent_free")
        info = library.sparc_agent_info_of(handle)
        random = sparc_random()
        library.sparc_random_init(ctypes.byref(random), seed, b"policy", b"agent")
        self._fix(_handle=handle, _data=data, _seed=seed, _random=random, spaces=spaces,
                  shape=Shape(*(getattr(info.shape, field) for field in Shape._fields)), state_size=info.state_size)
        if spaces is not None and spaces.shape[:3] != self.shape[:3]:
            raise ValueError(f"the agent is for {self.shape[:3]} observed numbers, choices and numbers of an action, but the "
                             f"environment has {spaces.shape[:3]}")

    def __reduce__(self):
        return _agent_of, (self._data, self.spaces, self._seed)

    def metadata(self, key: str) -> Optional[str]:
        """An entry of the file's metadata, None if absent."""
        value = library.sparc_agent_metadata(self._handle, text(key))
        return None if value is None else value.decode()

    def state(self, streams: int = 1) -> np.ndarray:
        """The initial state of streams."""
        return np.zeros((streams, self.state_size), np.float32)

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None,
                deterministic: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Actions for one observation, or for a batch of them, and the state to give with the next ones.

        state None: all streams begin. episode_start marks streams whose observation opens an episode. Arguments and
        results are those of Stable-Baselines3, so its evaluate_policy() takes an Agent."""
        raw, single = self._encoded(observation)
        n = len(raw)
        if state is None:
            state, episode_start = self.state(n), np.ones(n)
        state = array(np.array(state, np.float32), np.float32, (n, self.state_size), "state")
        starts = np.zeros(n) if episode_start is None else np.broadcast_to(np.asarray(episode_start, float), (n,))
        actions = np.empty((n, self.shape.action), np.float32)
        random = None if deterministic else ctypes.addressof(self._random)
        with self._lock:
            for i in range(n):
                library.sparc_agent_step(self._handle, address(state[i]), address(raw[i]), float(starts[i] == 0),
                                         random, address(actions[i]))
        return self._decoded(actions, single), state

    def _encoded(self, observation):
        if self.spaces is not None:
            return self.spaces.encode(observation)
        raw = np.require(observation, np.float32, ["C", "A"])
        single = raw.ndim == 1
        raw = np.atleast_2d(raw)
        return array(raw, np.float32, (len(raw), self.shape.observation), "observation"), single

    def _decoded(self, actions, single):
        if self.spaces is not None:
            return self.spaces.decode(actions, single)
        if self.shape.choices:
            actions = actions[:, 0].astype(np.int64)
        return actions[0] if single else actions

    def evaluate(self, env: Any, episodes: int = 100, deterministic: bool = True, seed: int = 1) -> np.ndarray:
        """Plays whole episodes on an environment, given as to PPO, and returns their returns."""
        if isinstance(env, str) and env in environment_names():
            vector = _Native(Environments(env, min(episodes, 16), seed=seed))
        else:
            _, vector_of = _gymnasium(env)
            vector, _ = vector_of(env, None if isinstance(env, str) or callable(env) else 1, seed)
        encoded, state = vector.reset(), self.state(vector.n)
        masks, running, returns = np.zeros(vector.n), np.zeros(vector.n), []
        actions = np.empty((vector.n, self.shape.action), np.float32)
        random = None if deterministic else ctypes.addressof(self._random)
        # every environment plays its share, so that short episodes are not counted more often than long ones
        share = [episodes // vector.n + (i < episodes % vector.n) for i in range(vector.n)]
        while any(share):
            encoded = np.ascontiguousarray(encoded, np.float32)
            with self._lock:
                for i in range(vector.n):
                    library.sparc_agent_step(self._handle, address(state[i]), address(encoded[i]),
                                             float(masks[i] != 0), random, address(actions[i]))
            encoded, rewards, masks = vector.step(actions)
            running += rewards
            for i in np.flatnonzero(masks == 0):
                if share[i]:
                    share[i] -= 1
                    returns.append(running[i])
                running[i] = 0
        return np.array(returns)


class _Native:
    """Environments of the library with the interface of a Gymnasium vector environment."""

    def __init__(self, envs):
        self.envs, self.n, self.shape = envs, envs.n, envs.shape

    def reset(self):
        return self.envs.reset()

    def step(self, actions):
        step = self.envs.step(actions)
        return step.observations, step.rewards, step.masks


def _agent_of(data, spaces, seed):
    """An agent as it was pickled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.safetensors"
        path.write_bytes(data)
        return Agent(path, spaces, seed)
