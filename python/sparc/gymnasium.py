# SPDX-License-Identifier: MIT
"""Gymnasium in both directions.

Built-in environments for any agent, registered as "sparc/RepeatPrevious-v0" and so on:

    env = gymnasium.make("sparc/RepeatPrevious-v0")
    envs = gymnasium.make_vec("sparc/CountRecall-v0", num_envs=64)

Gymnasium environments for the library's agent, with any flattenable observation space (Box, Discrete, Dict and so on)
and Box or Discrete actions:

    ppo = sparc.PPO("CartPole-v1", cell="sparc", streams=8).train(100_000)
"""
from __future__ import annotations

import functools
from typing import Any, Optional

import gymnasium
import numpy as np
from gymnasium import spaces as gym_spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from .environments import Environments, Shape, environment_names, similar_names

__all__ = ["Spaces", "SparcEnv", "SparcVectorEnv", "environment_id", "register"]

_LIMIT = 2.0  # continuous actions of all built-in environments lie within it
_FOREVER = 2**31 - 1
STREAMS = 8  # default number of environments of a run


# ---- environments of Gymnasium for the library's agent ----


class Spaces:
    """Converts observations and actions of an environment to arrays of the library and back."""

    def __init__(self, observation: gym_spaces.Space, action: gym_spaces.Space):
        if not observation.is_np_flattenable:
            raise TypeError(f"the observation space {observation} cannot be flattened to numbers")
        if not isinstance(action, (gym_spaces.Box, gym_spaces.Discrete)):
            raise TypeError(f"the action space is {action}, expected Box or Discrete")
        self.observation, self.action = observation, action
        self.plain = isinstance(observation, gym_spaces.Box)
        width = gym_spaces.flatdim(observation)
        if isinstance(action, gym_spaces.Discrete):
            self.shape = Shape(width, int(action.n), 1, _FOREVER)
        else:
            if not np.issubdtype(action.dtype, np.floating):
                raise TypeError(f"the action space {action} has numbers of {action.dtype}, expected floats")
            self.shape = Shape(width, 0, int(np.prod(action.shape)), _FOREVER)
            bounded = np.isfinite(action.low) & np.isfinite(action.high)
            low, high = np.where(bounded, action.low, -1), np.where(bounded, action.high, 1)
            self._centre, self._half = (high + low) / 2, (high - low) / 2
            self._low, self._high = action.low, action.high

    @classmethod
    def of(cls, env: Any) -> "Spaces":
        """The spaces of an environment, vectorised or not."""
        return cls(getattr(env, "single_observation_space", env.observation_space),
                   getattr(env, "single_action_space", env.action_space))

    def flatten(self, observation: Any) -> np.ndarray:
        """One observation as float32[observation]."""
        if not self.plain:
            observation = gym_spaces.flatten(self.observation, observation)
        flat = np.asarray(observation, np.float32)
        if flat.size != self.shape.observation:
            raise ValueError(f"an observation has the shape {flat.shape}, but the space is {self.observation}")
        return flat.reshape(self.shape.observation)

    def encode(self, observation: Any) -> tuple[np.ndarray, bool]:
        """One observation, or a batch of them, as float32[n, observation]; whether it was one."""
        single = _contains(self.observation, observation)
        batch = [observation] if single else _iterate(self.observation, observation)
        return np.stack([self.flatten(each) for each in batch]), single

    def one_action(self, action: np.ndarray) -> Any:
        """float32[action] of the agent as the environment takes it: 1 is the upper bound of a Box, -1 the lower."""
        if self.shape.choices:
            return self.action.start + int(action[0])
        action = self._centre + self._half * action.reshape(self.action.shape)
        return np.asarray(np.clip(action, self._low, self._high), self.action.dtype)

    def decode(self, actions: np.ndarray, single: bool) -> np.ndarray:
        """float32[n, action] as the environment takes them."""
        if single:
            return self.one_action(actions[0])
        return np.stack([np.asarray(self.one_action(action)) for action in actions])


def _contains(space, observation):
    """Whether this is one observation; for Box by its shape, since values may lie outside by rounding."""
    if isinstance(space, gym_spaces.Box):
        return np.shape(observation) == space.shape
    return space.contains(observation) or (isinstance(space, gym_spaces.Discrete) and np.ndim(observation) == 0)


def _iterate(space, batch):
    """The observations of a batch, in the layout of gymnasium.vector or stacked."""
    if isinstance(batch, (np.ndarray, list)):
        return batch
    return gymnasium.vector.utils.iterate(gymnasium.vector.utils.batch_space(space, len(_first(batch))), batch)


def _first(batch):
    while isinstance(batch, (dict, tuple)):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return batch


class _List:
    """Several environments, stepped one after the other."""

    def __init__(self, envs, seed):
        self.envs, self.n, self.spaces, self._seed = envs, len(envs), Spaces.of(envs[0]), seed
        self.shape = self.spaces.shape
        for env in envs[1:]:
            if env.observation_space != envs[0].observation_space or env.action_space != envs[0].action_space:
                raise ValueError("the environments have different spaces, expected the same in all of them")

    def reset(self):
        seeds = [None if self._seed is None else self._seed + i for i in range(self.n)]
        self._seed = None
        return np.stack([self.spaces.flatten(env.reset(seed=seed)[0]) for env, seed in zip(self.envs, seeds)])

    def _step(self, env, action):
        observation, reward, terminated, truncated, _ = env.step(self.spaces.one_action(action))
        done = terminated or truncated
        if done:
            observation = env.reset()[0]
        return self.spaces.flatten(observation), float(reward), float(not done)

    def step(self, actions):
        made = [self._step(env, action) for env, action in zip(self.envs, actions)]
        return tuple(np.array(column, np.float32) for column in zip(*made))


class _Vector:
    """A vectorised environment that resets within the step that ends an episode, or is reset by a mask."""

    def __init__(self, envs, seed):
        self.envs, self.n, self.spaces, self._seed = envs, envs.num_envs, Spaces.of(envs), seed
        self.shape = self.spaces.shape
        mode = envs.metadata.get("autoreset_mode")
        if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise ValueError(f"the vector environment has the autoreset mode {mode}, expected SAME_STEP or DISABLED: "
                             "gymnasium.make_vec(..., vector_kwargs={'autoreset_mode': AutoresetMode.SAME_STEP})")
        self._masked = mode == AutoresetMode.DISABLED

    def _flatten(self, observations):
        return self.spaces.encode(observations)[0] if not self.spaces.plain else np.asarray(
            observations, np.float32).reshape(self.n, self.shape.observation)

    def reset(self):
        observations, _ = self.envs.reset(seed=self._seed)
        self._seed = None
        return self._flatten(observations)

    def step(self, actions):
        observations, rewards, terminated, truncated, _ = self.envs.step(self.spaces.decode(actions, False))
        done = np.asarray(terminated) | np.asarray(truncated)
        if self._masked and done.any():
            observations, _ = self.envs.reset(options={"reset_mask": done})
        return self._flatten(observations), rewards, ~done


def _make(name):
    """Creates an environment by name; the error of an unknown one suggests built-in names."""
    try:
        return gymnasium.make(name)
    except gymnasium.error.UnregisteredEnv as error:
        raise type(error)(f"{error} ({similar_names(name)})") from None


def vector_of(env: Any, streams: Optional[int], seed: Optional[int]):
    """Environments with the calls of environments.External, and the name of the task."""
    if isinstance(env, VectorEnv):
        if streams not in (None, env.num_envs):
            raise ValueError(f"streams is {streams}, but the vector environment has {env.num_envs}")
        return _Vector(env, seed), _name(env)
    if isinstance(env, str):
        env = functools.partial(_make, env)
    if callable(env) and not isinstance(env, gymnasium.Env):
        made = [env() for _ in range(streams or STREAMS)]
    elif isinstance(env, (list, tuple)):
        made = list(env)
        if not made or streams not in (None, len(made)):
            raise ValueError(f"there are {len(made)} environments, expected {streams or 'one or more'}")
    elif isinstance(env, gymnasium.Env):
        more = (streams or 1) - 1
        if more and env.spec is None:
            raise ValueError(f"streams is {streams}, but {env} was not made by gymnasium.make, so it cannot be made again: "
                             "give a function that makes one")
        made = [env, *(gymnasium.make(env.spec) for _ in range(more))]
    else:
        raise TypeError(f"env is {type(env).__name__}, expected a name, an environment of Gymnasium, a vectorised one, or "
                        "a function that makes one")
    return _List(made, seed), _name(made[0])


def _name(env):
    return env.spec.id if getattr(env, "spec", None) is not None else type(env.unwrapped).__name__


def defaults(vector) -> dict:
    """Default settings: the paper's for control if observations are numeric, for POPGym if they are symbols; Box actions
    are limited to 1."""
    made: dict[str, Any] = {"action_limit": 1.0}
    if vector.spaces.plain:
        made.update(obsnorm="feature", rewardnorm="return", epochs=4)
    return made


# ---- the library's environments for everybody ----


def _space(shape):
    observation = gym_spaces.Box(-np.inf, np.inf, (shape.observation,), np.float32)
    if shape.choices:
        return observation, gym_spaces.Discrete(shape.choices)
    return observation, gym_spaces.Box(-_LIMIT, _LIMIT, (shape.action,), np.float32)


class SparcEnv(gymnasium.Env):
    """A built-in environment. Episodes terminate; a time limit is an ordinary end. The library does not keep the
    observation after the last action of an episode: step() returns the one before it."""

    metadata = {"render_modes": []}

    def __init__(self, name: str, options: Optional[str] = None, render_mode: Optional[str] = None):
        self.name, self.options, self.render_mode = name, options, render_mode
        self._envs = Environments(name, 1, options)
        self._next: Optional[np.ndarray] = None
        self.observation_space, self.action_space = _space(self._envs.shape)

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        """Starts an episode; a seed reseeds the environment."""
        super().reset(seed=seed)
        if seed is not None:
            self._envs = Environments(self.name, 1, self.options, seed)
        observation = self._envs.reset()[0] if self._next is None or seed is not None else self._next
        self._next, self._last = None, observation
        return observation.copy(), {}

    def step(self, action: Any):
        """Takes an action."""
        if self._next is not None:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        made = self._envs.step(np.asarray(action, np.float32).reshape(1, -1))
        terminated = bool(made.masks[0] == 0)
        if terminated:
            self._next, observation = made.observations[0], self._last
        else:
            observation = self._last = made.observations[0]
        return observation.copy(), float(made.rewards[0]), terminated, False, {}

    def oracle(self) -> Any:
        """The action of the environment's oracle."""
        action = self._envs.oracle()[0]
        return int(action[0]) if self._envs.shape.choices else action


class SparcVectorEnv(VectorEnv):
    """A vector of built-in environments; episodes restart within the step that ends them."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, name: str, num_envs: int = 1, options: Optional[str] = None, threads: int = 1,
                 render_mode: Optional[str] = None):
        self.name, self.options, self.num_envs, self.render_mode = name, options, num_envs, render_mode
        self._threads = threads
        self._envs = Environments(name, num_envs, options, threads=threads)
        self.single_observation_space, self.single_action_space = _space(self._envs.shape)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: Any = None, options: Optional[dict] = None):
        """Starts an episode in every environment; a seed reseeds them."""
        super().reset(seed=seed if seed is None or np.isscalar(seed) else seed[0])
        if seed is not None:
            first = int(seed if np.isscalar(seed) else seed[0])
            self._envs = Environments(self.name, self.num_envs, self.options, first, self._threads)
        self._last = self._envs.reset()
        return self._last.copy(), {}

    def step(self, actions: Any):
        """Takes an action in every environment."""
        made = self._envs.step(np.asarray(actions, np.float32).reshape(self.num_envs, -1))
        terminated = made.masks == 0
        info: dict[str, Any] = {}
        if terminated.any():
            final = np.empty(self.num_envs, object)
            for i in np.flatnonzero(terminated):
                final[i] = self._last[i]
            info = {"final_obs": final, "_final_obs": terminated.copy()}
        self._last = made.observations
        return made.observations.copy(), made.rewards.astype(np.float64), terminated, np.zeros_like(terminated), info


def environment_id(name: str) -> str:
    """The name of a built-in environment in Gymnasium's register: "repeat-previous" is "sparc/RepeatPrevious-v0"."""
    return "sparc/" + "".join(part.capitalize() for part in name.split("-")) + "-v0"


def register() -> None:
    """Registers every built-in environment with Gymnasium; importing this module does."""
    for name in environment_names():
        if environment_id(name) not in gymnasium.registry:
            gymnasium.register(environment_id(name), entry_point="sparc.gymnasium:SparcEnv",
                               vector_entry_point="sparc.gymnasium:SparcVectorEnv", kwargs={"name": name})


register()
