# SPDX-License-Identifier: MIT
"""Structures have the sizes and offsets that the C compiler gives them, and enumerations the same numbers."""
import ctypes
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import sparc
from sparc import _library, agents, cells, data, environments, learners, networks, runs

COMPILER = shutil.which(os.environ.get("CC", "cc"))
TREE = Path(__file__).resolve().parents[2]
STRUCTURES = [s for s in vars(_library).values()
              if isinstance(s, type) and issubclass(s, ctypes.Structure) and s.__name__.startswith("sparc_")]
ENUMERATORS = {
    "SPARC_INIT_CONTROL": cells._STYLES["control"],
    "SPARC_INIT_CLASSIFICATION": cells._STYLES["classification"],
    "SPARC_FLOAT64": cells._PRECISION[cells.np.dtype("float64")],
    "SPARC_ENV_VERSION": environments._VERSION,
    "SPARC_INVALID": environments._INVALID,
    "SPARC_TRACES_FREE": agents._CHOICES["traces"].index("free"),
    "SPARC_OBSNORM_POOLED": agents._CHOICES["obsnorm"].index("pooled"),
    "SPARC_REFRESH_MEASURE": agents._CHOICES["refresh"].index("measure"),
    "SPARC_HEAD_STEPS": networks._CHOICES["head"].index("steps"),
    "SPARC_HEAD_VALUES": networks._CHOICES["head_kind"].index("values"),
    "SPARC_INIT_RELEASED": networks._CHOICES["init"].index("released"),
    "SPARC_LEARN_CLASSIFY": learners._CHOICES["objective"].index("classify"),
    "SPARC_LEARN_FORECAST": learners._CHOICES["objective"].index("forecast"),
    "SPARC_EMBED_TANH": learners._CHOICES["embedding"].index("tanh"),
    "SPARC_ENCODER_EXACT": learners._CHOICES["encoder"].index("exact"),
    "SPARC_FORECAST_MIXTURE": learners._CHOICES["forecaster"].index("mixture"),
    "SPARC_FEATURES_RELU": learners._CHOICES["features"].index("relu"),
    "SPARC_FEATURES_POLICY": learners._CHOICES["features"].index("policy"),
    "SPARC_RECIPE_AUTO": runs._CHOICES["recipe"].index("auto"),
    "SPARC_RECIPE_PAPER": runs._CHOICES["recipe"].index("paper"),
    "SPARC_RECIPE_SIZED": runs._CHOICES["recipe"].index("sized"),
    "SPARC_CLASS_WEIGHTS_BALANCED": runs._CHOICES["class_weights"].index("balanced"),
    "SPARC_READOUT_RIDGE": runs._CHOICES["readout"].index("ridge"),
    "SPARC_EMBED_SYMBOLS": runs._CHOICES["embedding"].index("symbols"),
    "SPARC_HEAD_LAST": runs._CHOICES["head"].index("last"),
    "SPARC_DATA_NPZ": data._CHOICES["format"].index("npz"),
    "SPARC_OBJECTIVE_FORECAST": data._CHOICES["objective"].index("forecast"),
    "SPARC_DIVISION_SOUND": data._CHOICES["division"].index("sound"),
}


def compiled(expressions):
    """The values of expressions of size_t, by the C compiler."""
    lines = "".join(f'  printf("%zu\\n", (size_t)({e}));\n' for e in expressions)
    program = f"#include <sparc/sparc.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{lines}}}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "layout.c", Path(folder) / "layout"
        source.write_text(program)
        subprocess.run([COMPILER, "-I", TREE / "include", source, "-o", binary], check=True)
        return [int(line) for line in subprocess.run([binary], check=True, capture_output=True).stdout.split()]


class Layout(unittest.TestCase):

    @unittest.skipUnless(COMPILER, "there is no C compiler")
    def test_structures(self):
        self.assertGreater(len(STRUCTURES), 10)
        expressions, expected = [], []
        for s in STRUCTURES:
            expressions.append(f"sizeof({s.__name__})")
            expected.append(ctypes.sizeof(s))
            for name, _ in s._fields_:
                expressions.append(f"offsetof({s.__name__}, {name})")
                expected.append(getattr(s, name).offset)
                expressions.append(f"sizeof((({s.__name__} *)0)->{name})")
                expected.append(getattr(s, name).size)
        self.assertEqual(dict(zip(expressions, compiled(expressions))), dict(zip(expressions, expected)))

    def test_version(self):
        header = (TREE / "include" / "sparc" / "base.h").read_text()
        parts = [line.split()[2] for line in header.splitlines() if line.startswith("#define SPARC_VERSION_M") or
                 line.startswith("#define SPARC_VERSION_PATCH")]
        self.assertEqual(sparc.__version__, ".".join(parts))
        try:
            self.assertEqual(importlib.metadata.version("sparc-cells"), sparc.__version__)
        except importlib.metadata.PackageNotFoundError:
            self.assertEqual(Path(sparc.__file__).resolve().parents[1], TREE / "python")
        self.assertTrue(sparc.version().startswith(_library._VERSION + "."))

    @unittest.skipUnless(COMPILER, "there is no C compiler")
    def test_another_version_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source, other = Path(folder) / "other.c", Path(folder) / "other.so"
            source.write_text('const char *sparc_version(void) { return "0.1.9"; }\n')
            subprocess.run([COMPILER, "-shared", "-fPIC", source, "-o", other], check=True)
            run = subprocess.run([sys.executable, "-c", "import sparc"], capture_output=True, text=True,
                                 env={**os.environ, "SPARC_LIBRARY": str(other)})
        self.assertIn(f"ImportError: {other} is version 0.1.9, expected {_library._VERSION}", run.stderr)

    @unittest.skipUnless(COMPILER, "there is no C compiler")
    def test_enumerations(self):
        self.assertEqual(compiled(ENUMERATORS), list(ENUMERATORS.values()))


if __name__ == "__main__":
    unittest.main()
