#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mujoco.sh: MuJoCo is loaded when a robot is created, in the version of the headers and in no other.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# neither the tool nor the library needs it to start
for file in "$SPARC" "$(dirname "$SPARC")/libsparc.so"; do
  if [ -e "$file" ] && readelf --dynamic "$file" | grep -q 'NEEDED.*mujoco'; then fail "$file needs MuJoCo"; fi
done

expect 0 info
if ! grep -Eq '^mujoco +yes$' "$scratch/out"; then
  prints 'robots need MuJoCo'
  echo "no MuJoCo: its versions are not tested"
  exit 0
fi
expect 0 envs ant-p --play random
version=$(LD_DEBUG=files "$SPARC" info 2>&1 | grep -o 'libmujoco\.so\.[0-9.]*[0-9]' | head -1)
[ -n "$version" ] || fail "MuJoCo is not loaded by its soname"

# fake TEXT: a library of that soname with this source
fake() {
  mkdir -p "$scratch/fake"
  echo "$1" | "${CC:-cc}" -shared -fPIC -x c - -o "$scratch/fake/$version" -Wl,-soname,"$version"
}
refused() {
  LD_LIBRARY_PATH=$scratch/fake expect 0 info
  grep -Eq "^mujoco +robots need MuJoCo: .*$1" "$scratch/out" || fail "sparc info does not print: $1"
  LD_LIBRARY_PATH=$scratch/fake expect 0 info --json
  prints '"mujoco":false'
  LD_LIBRARY_PATH=$scratch/fake expect 1 envs ant-p --play random
  complains "$1"
  LD_LIBRARY_PATH=$scratch/fake expect 0 envs repeat-previous --play oracle
}

# another version, one that lacks a function, something that is no library
fake 'int mj_version(void) { return 231; }'
refused "$version is version 231 of MuJoCo, expected"
fake 'int mj_version(void) { return 222; }'
[ "$version" != libmujoco.so.2.2.2 ] || refused "$version has no function mj_defaultVFS"
fake 'int unrelated;'
refused "$version has no function mj_version"
echo nonsense >"$scratch/fake/$version"
refused 'cannot be loaded'
