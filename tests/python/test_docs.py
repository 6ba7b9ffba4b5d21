# SPDX-License-Identifier: MIT
"""The examples of docs/python.md run, one after the other, in one folder and one namespace; and so do python/examples.
Public names have docstrings and types."""
import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from importlib.util import find_spec
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PACKAGES = {"sparc.torch": "torch", "sparc.sklearn": "sklearn", "sparc.river": "river", "sparc.gymnasium": "gymnasium"}


def missing(source):
    """The packages that an example imports and that are not there."""
    names = re.findall(r"^(?:import|from) ([\w.]+)", source, re.MULTILINE)
    return sorted({name for name in (PACKAGES.get(name, name.split(".")[0]) for name in names) if not find_spec(name)})


def examples():
    return re.findall(r"```python\n(.*?)```", (TREE / "docs" / "python.md").read_text(), re.DOTALL)


class Pages(unittest.TestCase):

    def test_examples_of_the_page(self):
        found = examples()
        self.assertGreater(len(found), 8)
        space, before, run = {}, os.getcwd(), 0
        exec("import numpy as np, sparc\nrng = np.random.default_rng(0)\ny = np.arange(60) % 2\n"
             "X = np.sin(np.arange(40) * (0.3 + 0.5 * y[:, None]))", space)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.chdir(folder)
            try:
                for source in found:
                    if missing(source) or ("model.safetensors" in source and not find_spec("torch")):
                        continue
                    if "Dataset" in source:
                        exec("y = np.arange(60) % 2", space)
                    with self.subTest(source.splitlines()[0]):
                        exec(compile(source, "docs/python.md", "exec"), space)
                        run += 1
            finally:
                os.chdir(before)
        self.assertGreaterEqual(run, 4)


class Names(unittest.TestCase):
    """What a reader of help() and a type checker see."""

    MODULES = ("sparc", "sparc.agents", "sparc.cells", "sparc.data", "sparc.environments", "sparc.learners", "sparc.models",
               "sparc.networks", "sparc.runs", *PACKAGES)

    def undocumented(self, module):
        """Public names of a module, and of its classes, without a docstring."""
        self.assertTrue(module.__doc__)
        for name in module.__all__:
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            if not value.__doc__:
                yield f"{module.__name__}.{name}"
            for member, own in vars(value).items() if inspect.isclass(value) else ():
                function = own.fget if isinstance(own, property) else getattr(own, "__func__", own)
                if inspect.isfunction(function) and not member.startswith("_") and not function.__doc__:
                    yield f"{module.__name__}.{name}.{member}"

    def test_docstrings(self):
        for name in self.MODULES:
            if find_spec(PACKAGES.get(name, "numpy")):
                self.assertEqual(list(self.undocumented(importlib.import_module(name))), [])

    @unittest.skipIf(find_spec("mypy") is None, "there is no mypy")
    def test_types(self):
        package = Path(importlib.import_module("sparc").__file__).parents[1]
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", folder,
                                  str(TREE / "tests" / "python" / "typed_program.py")], capture_output=True, text=True,
                                 env={**os.environ, "MYPYPATH": "" if package.name == "site-packages" else str(package)})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class Programs(unittest.TestCase):
    """python/examples, with little to do."""

    SHORT = {
        "classify_csv.py": ["--updates", "20"],
        "forecast_stream.py": ["--steps", "300"],
        "torch_model.py": ["--updates", "5"],
        "cartpole.py": ["--steps", "2048"],
        "recurrent_ppo.py": ["--steps", "2048"],
    }

    def test_programs(self):
        paths = sorted((TREE / "python" / "examples").glob("*.py"))
        self.assertEqual([path.name for path in paths], sorted(self.SHORT))
        for path in paths:
            absent = missing(path.read_text())
            if absent:
                continue
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                run = subprocess.run([sys.executable, str(path), *self.SHORT[path.name]], cwd=folder, capture_output=True,
                                     text=True, timeout=600)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertTrue(run.stdout.strip())


if __name__ == "__main__":
    unittest.main()
