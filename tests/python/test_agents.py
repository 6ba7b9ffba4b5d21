# SPDX-License-Identifier: MIT
"""Environments, PPO, agents, and Gymnasium in both directions; what needs Gymnasium is skipped where there is none."""
import pickle
import signal
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

import numpy as np

import sparc

try:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    import sparc.gymnasium
except ImportError:
    gymnasium = None
try:
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.env_util import make_vec_env
except ImportError:
    RecurrentPPO = None

SMALL = {"rollout": 128, "minibatches": 4, "epochs": 2, "state_size": 16, "width": 8, "threads": 1}


class Native(unittest.TestCase):

    def test_environments(self):
        self.assertIn("repeat-previous", sparc.environment_names())
        envs = sparc.Environments("repeat-previous", n=3, seed=5)
        self.assertEqual((envs.n, envs.shape.choices, envs.shape.action), (3, 4, 1))
        first = envs.reset()
        self.assertEqual(first.shape, (3, envs.shape.observation))
        for _ in range(20):
            envs.step(envs.oracle())
        saved, copies = envs.save(), pickle.loads(pickle.dumps(envs))
        for _ in range(80):
            actions = envs.oracle()
            step, other = envs.step(actions), copies.step(actions)
            for a, b in zip(step, other):
                np.testing.assert_array_equal(a, b)
        self.assertEqual(envs.faults, 0)
        envs.restore(saved)
        with self.assertRaisesRegex(sparc.Error, r"actions\[1\] is 4, expected a whole number from 0 to 3"):
            envs.step([0, 4, 0])
        with self.assertRaisesRegex(sparc.Error, "did you mean"):
            sparc.Environments("repeat-previou")

    def test_training_and_files(self):
        reports = []
        ppo = sparc.PPO("repeat-previous", cell="rtu", streams=2, seed=3, **SMALL)
        ppo.train(300, lambda ppo, report: reports.append(report))
        self.assertEqual((ppo.steps, len(reports), len(ppo.history)), (384, 3, 3))
        self.assertTrue(np.isfinite(ppo.history[-1]["policy_loss"]))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.safetensors"
            ppo.save(path, {"author": "me"})
            other = sparc.PPO.load(path, threads=2)
            agent = sparc.Agent(path)
        self.assertEqual((other.cell, other.steps, agent.metadata("author")), ("rtu", 384, "me"))
        a, b = ppo.train(256).history[-1], other.train(256).history[-1]
        self.assertEqual(a["policy_loss"], b["policy_loss"])  # continued bit-exactly
        copies = pickle.loads(pickle.dumps(agent))
        observation = sparc.Environments("repeat-previous", 4, seed=1).reset()
        state = None
        for _ in range(5):
            action, after = agent.predict(observation, state)
            np.testing.assert_array_equal(action, copies.predict(observation, state)[0])
            state = after
        one, _ = agent.predict(observation[0])
        self.assertEqual((action.shape, np.ndim(one)), ((4,), 0))
        self.assertEqual(len(ppo.evaluate(episodes=5)), 5)
        stop = sparc.PPO("repeat-previous", **SMALL)
        stop.train(10_000, lambda ppo, report: report["rollout"] < 2)
        self.assertEqual(stop.steps, 256)
        with self.assertRaisesRegex(TypeError, "PPO has no setting 'colour'"):
            sparc.PPO("repeat-previous", colour=1)

    @unittest.skipUnless(hasattr(signal, "pthread_kill"), "this system has no signals for threads")
    def test_settings_are_checked(self):
        for settings, kind, message in (({"rollout": 2**32 + 64}, ValueError, "rollout is 4294967360, expected"),
                                         ({"seed": -1}, ValueError, "seed is -1, expected 0 to"),
                                         ({"modes": 8.5}, TypeError, "modes is 8.5, expected a whole number"),
                                         ({"discount": "x"}, TypeError, "discount is 'x', expected a number"),
                                         ({"cell": 3}, TypeError, "cell is 3, expected a text"),
                                         ({"colour": 3}, TypeError, "no setting 'colour'")):
            with self.assertRaisesRegex(kind, message):
                sparc.PPO("repeat-previous", **{**SMALL, **settings})
        with self.assertRaisesRegex(Exception, "did you mean 'repeat-previous'"):
            sparc.PPO("repeat-previus")
        with self.assertRaisesRegex(TypeError, "a PPO cannot be pickled"):
            pickle.dumps(sparc.PPO("repeat-previous", **SMALL))

    def test_interrupts(self):
        # a test that runs in the background inherits an ignored signal
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        ppo = sparc.PPO("repeat-previous", **SMALL)
        main = threading.main_thread().ident

        def interrupt(ppo, report):
            if report["rollout"] == 2:
                signal.pthread_kill(main, signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            ppo.train(100_000, interrupt)
        done = ppo.steps
        self.assertLess(done, 100_000)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertEqual(ppo.train(128).steps, done + 128)


if gymnasium is not None:

    class Corridor(gymnasium.Env):
        """Walk right four times. Observations are a dictionary, actions begin at 5."""

        def __init__(self, fails=0, discrete=True):
            self.observation_space = gymnasium.spaces.Dict({
                "place": gymnasium.spaces.Discrete(5),
                "noise": gymnasium.spaces.Box(-1, 1, (2,), np.float32)
            })
            self.action_space = (gymnasium.spaces.Discrete(2, start=5) if discrete else gymnasium.spaces.Box(
                np.array([-3, 0], np.float32), np.array([3, 10], np.float32)))
            self.fails, self.steps, self.actions = fails, 0, []

        def _observe(self):
            return {"place": self.place, "noise": self.np_random.uniform(-1, 1, 2).astype(np.float32)}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.place = 0
            return self._observe(), {}

        def step(self, action):
            self.steps += 1
            if self.fails and self.steps == self.fails:
                raise ZeroDivisionError("the corridor collapsed")
            if not self.action_space.contains(action):
                raise AssertionError(f"{action} is not in {self.action_space}")
            self.actions.append(action)
            right = action == 6 if isinstance(self.action_space, gymnasium.spaces.Discrete) else action[0] > 0
            self.place = min(max(self.place + (1 if right else -1), 0), 4)
            return self._observe(), float(self.place == 4), self.place == 4, False, {}


@unittest.skipUnless(gymnasium, "there is no Gymnasium")
class Gymnasium(unittest.TestCase):

    def test_registered(self):
        for name in sparc.environment_names():
            if name.split("-")[0] in ("ant", "cheetah", "hopper", "walker"):
                continue  # need MuJoCo
            env = gymnasium.make(sparc.gymnasium.environment_id(name))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # observations have no bounds
                check_env(env.unwrapped, skip_render_check=True)
        env = gymnasium.make("sparc/RepeatPrevious-v0").unwrapped
        first, _ = env.reset(seed=3)
        returns, done = 0.0, False
        while not done:
            _, reward, done, _, _ = env.step(env.oracle())
            returns += reward
        self.assertAlmostEqual(returns, 1.0, places=5)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(0)
        np.testing.assert_array_equal(env.reset(seed=3)[0], first)

    def test_registered_vectors(self):
        envs = gymnasium.make_vec("sparc/CountRecall-v0", num_envs=5)
        observations, _ = envs.reset(seed=1)
        self.assertEqual(observations.shape, envs.observation_space.shape)
        for _ in range(200):
            observations, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
            self.assertEqual((rewards.shape, truncated.any()), ((5,), False))
            if terminated.any():
                self.assertTrue((info["_final_obs"] == terminated).all())

    def test_the_same_run(self):
        """Through Gymnasium an agent learns what it learns without."""
        settings = {**SMALL, "streams": 1, "seed": 4, "traces": "stored", "obsnorm": "none", "rewardnorm": "none",
                    "learning_rate": 1e-3, "action_limit": 2.0}

        class Same(sparc.gymnasium.SparcEnv):  # draws from the stream of the run's first environment

            def reset(self, *, seed=None, options=None):
                return super().reset(seed=4 if seed is not None else None)

        native = sparc.PPO("cartpole", **settings).train(384).history
        other = sparc.PPO(lambda: Same("cartpole"), **settings).train(384).history
        for a, b in zip(native, other):
            self.assertEqual((a["policy_loss"], a["mean_return"]), (b["policy_loss"], b["mean_return"]))

    def test_spaces(self):
        ppo = sparc.PPO(Corridor, streams=4, seed=1, **{**SMALL, "learning_rate": 3e-3})
        ppo.train(128 * 25)
        self.assertGreater(ppo.history[-1]["episodes"], ppo.history[0]["episodes"])
        self.assertLess(ppo.history[-1]["mean_length"], 6)
        agent, env = ppo.agent(), Corridor()
        observation, _ = env.reset(seed=1)
        state, done, steps = None, False, 0
        while not done and steps < 30:
            action, state = agent.predict(observation, state)
            observation, _, done, _, _ = env.step(action)
            steps += 1
        self.assertTrue(done)
        self.assertEqual(ppo.evaluate(episodes=3).tolist(), [1, 1, 1])
        copies = pickle.loads(pickle.dumps(agent))
        self.assertEqual(copies.predict(observation)[0], agent.predict(observation)[0])
        # a Box of actions is filled by -1 to 1
        continuous = sparc.PPO(lambda: Corridor(discrete=False), streams=2, **SMALL)
        continuous.train(128)
        actions = np.array(continuous._external.vector.envs[0].actions)
        self.assertTrue((actions[:, 1] >= 0).all() and actions[:, 1].max() > 6 and actions[:, 0].min() < -1)

    def test_vectors(self):
        mode = gymnasium.vector.AutoresetMode
        for autoreset in (mode.SAME_STEP, mode.DISABLED):
            envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2, autoreset_mode=autoreset)
            ppo = sparc.PPO(envs, **SMALL)
            self.assertEqual(ppo.streams, 2)
            self.assertGreater(ppo.train(256).history[-1]["episodes"], 0)
        with self.assertRaisesRegex(ValueError, "expected SAME_STEP or DISABLED"):
            sparc.PPO(gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2))
        self.assertEqual(sparc.PPO(gymnasium.make("CartPole-v1"), streams=2, **SMALL).streams, 2)

    def test_restored(self):
        ppo = sparc.PPO("CartPole-v1", streams=2, **SMALL).train(256)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.safetensors"
            ppo.save(path)
            with self.assertWarnsRegex(UserWarning, "cannot be saved"):
                other = sparc.PPO.load(path)
            self.assertEqual((other.steps, other.streams, other.train(128).steps), (256, 2, 384))
            agent = sparc.Agent(path, gymnasium.make("CartPole-v1"))
            self.assertEqual(len(agent.evaluate("CartPole-v1", 4)), 4)
            with self.assertRaisesRegex(ValueError, "the agent is for"):
                sparc.Agent(path, gymnasium.make("MountainCar-v0"))

    def test_failures(self):
        with self.assertRaisesRegex(ZeroDivisionError, "the corridor collapsed"):
            sparc.PPO(Corridor(fails=40), **SMALL).train(256)
        broken = sparc.PPO(Corridor(fails=140), **SMALL)
        with self.assertRaises(ZeroDivisionError):
            broken.train(256)
        with self.assertRaisesRegex(sparc.Error, "the last rollout was not finished"):
            broken.train(256)
        for env, failure, message in ((3, TypeError, "env is int"), (Corridor(), ValueError, "give a function")):
            with self.assertRaisesRegex(failure, message):
                sparc.PPO(env, streams=2, **SMALL)
        with self.assertRaisesRegex(TypeError, "expected Box or Discrete"):
            sparc.gymnasium.Spaces(gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.MultiBinary(3))

    @unittest.skipUnless(RecurrentPPO, "there is no sb3-contrib")
    def test_other_agents(self):
        import torch
        torch.set_num_threads(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            envs = make_vec_env("sparc/RepeatPrevious-v0", n_envs=2, seed=1)
            model = RecurrentPPO("MlpLstmPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, device="cpu",
                                 policy_kwargs={"lstm_hidden_size": 8})
            model.learn(128)
            # and this library's agent in their evaluation
            ppo = sparc.PPO("sparc/RepeatPrevious-v0", streams=2, **SMALL).train(128)
            mean, _ = evaluate_policy(ppo.agent(), envs, n_eval_episodes=4)
        self.assertTrue(-1 <= mean <= 1)
        self.assertEqual(model.num_timesteps, 128)


if __name__ == "__main__":
    unittest.main()
