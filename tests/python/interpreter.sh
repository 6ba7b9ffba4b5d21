#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# interpreter.sh: prints the first of PYTHON, python3 and the system's python3 that has NumPy; exit code 1 if none has.
for python in "${PYTHON:-python3}" python3 /usr/bin/python3; do
  if "$python" -c 'import numpy' 2>/dev/null; then
    echo "$python"
    exit 0
  fi
done
exit 1
