#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-python.sh BUILD [PACKAGE...]: builds the wheel in BUILD/wheels, installs it with NumPy, pandas and each PACKAGE that
# can be had (default: torch, scikit-learn, aeon, river, gymnasium, sb3-contrib, mypy) into an environment of its own, and
# runs the tests of the package and its tool there, with a PATH that has no compiler and without the libraries that the
# wheel brings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(mkdir -p "$1" && cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- torch scikit-learn aeon river gymnasium sb3-contrib mypy
tree=$PWD

if ! python3 -m venv --help >/dev/null 2>&1; then
  echo "no Python with venv (Debian: python3-venv)" >&2
  exit 1
fi
rm -rf "$build/wheels" "$build/environment"
python3 -m venv "$build/environment"
python=$build/environment/bin/python
"$python" -m pip --quiet wheel ./python --no-deps --wheel-dir "$build/wheels"
wheel=$(ls "$build"/wheels/*.whl)
echo "wheel: $(basename "$wheel"), $(du -h "$wheel" | cut -f 1)"
"$python" -m pip --quiet install "$wheel" numpy pandas
for package; do
  "$python" -m pip --quiet install "$package" 2>/dev/null || echo "skipped: $package cannot be installed; no tests of it"
done

# every library but the C library's own comes from the wheel, and OpenMP is not among them
folder=$("$python" -c 'import sparc, pathlib; print(pathlib.Path(sparc.__file__).parent)')
for file in "$folder"/lib/libsparc.so "$folder"/bin/sparc; do
  ldd "$file" | awk '/=>/ { print $3 }' | grep -Ev "^$folder/|/(libc|libm|libmvec|libdl|librt|libpthread|libgcc_s)\.so" && {
    echo "$file needs libraries that the wheel does not hold" >&2
    exit 1
  }
  if ldd "$file" | grep -q libgomp; then
    echo "$file brings OpenMP" >&2
    exit 1
  fi
done

# programs of the environment alone; a scratch folder, so that nothing of the tree is imported by accident
export PATH=$build/environment/bin PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH SPARC_LIBRARY SPARC_TOOL CC
cd "$build/environment"
"$python" -c 'import sparc; assert "environment" in sparc.library_path, sparc.library_path'
[ "$(sparc --version)" = "$("$python" -m sparc --version)" ]
sparc check "$tree"/tests/vectors/sparc-one.safetensors >/dev/null
exec "$python" -W error -m unittest discover --start-directory "$tree/tests/python"
