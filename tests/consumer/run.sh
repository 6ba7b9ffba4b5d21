#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: installs BUILD into a fresh folder, moves that folder, and builds and runs the consumer
# programs against it: C and C++, shared and static, by CMake package and by pkg-config. Then it builds the examples and
# the program of docs/library.md, each by the line that stands beside it.
# Tools come from CC, CXX, CMAKE and PKG_CONFIG; SPARC_LIBDIR is the library folder below the prefix.
set -euo pipefail

build=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CC=${CC:-cc} CXX=${CXX:-c++} CMAKE=${CMAKE:-cmake} PKG_CONFIG=${PKG_CONFIG:-pkg-config} libdir=${SPARC_LIBDIR:-lib}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# install, then move: nothing may remember where it was
"$CMAKE" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
export PKG_CONFIG_PATH="$work/prefix/$libdir/pkgconfig"
unset LD_LIBRARY_PATH

for file in "bin/sparc" "include/sparc/sparc.h" "$libdir/libsparc.a" "$libdir/libsparc.so" "$libdir/pkgconfig/sparc.pc" \
  "$libdir/cmake/sparc/sparc-config.cmake"; do
  [ -e "$work/prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
if grep -rl --binary-files=without-match -e "$work/first" -e "$build" "$work/prefix"; then
  echo "the installed text files above name the build or the first prefix"
  exit 1
fi
"$work/prefix/bin/sparc" --version
version=$("$PKG_CONFIG" --modversion sparc)
soversion=${version%.*} # before 1.0

# needs PROGRAM yes|no: whether the program loads libsparc at run time
needs() {
  local found=no
  if readelf --dynamic "$1" | grep -qF "[libsparc.so.$soversion]"; then found=yes; fi
  [ "$found" = "$2" ] || { echo "$1: needs libsparc.so.$soversion: $found, expected $2"; exit 1; }
}

echo "-- CMake package"
"$CMAKE" -S "$source" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" -DSPARC_VERSION="$version" \
  -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
"$CMAKE" --build "$work/cmake" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
for program in c11 cxx17; do
  "$work/cmake/${program}_sparc"
  "$work/cmake/${program}_static"
  needs "$work/cmake/${program}_sparc" yes
  needs "$work/cmake/${program}_static" no
done

echo "-- pkg-config"
warnings="-Wall -Wextra -pedantic -Werror"
read -ra cflags <<<"$warnings $("$PKG_CONFIG" --cflags sparc)"
read -ra shared <<<"$("$PKG_CONFIG" --libs sparc)"
# both kinds of library share a folder, where -lsparc means the shared one
read -ra static <<<"$("$PKG_CONFIG" --static --libs sparc | sed 's/-lsparc\>/-l:libsparc.a/')"
"$CC" -std=c11 "${cflags[@]}" "$source/consumer.c" -o "$work/c11" "${shared[@]}"
"$CC" -std=c11 "${cflags[@]}" "$source/consumer.c" -o "$work/c11-static" "${static[@]}"
"$CXX" -std=c++17 "${cflags[@]}" "$source/consumer.cc" -o "$work/cxx17" "${shared[@]}"
"$CXX" -std=c++17 "${cflags[@]}" "$source/consumer.cc" -o "$work/cxx17-static" "${static[@]}"
for program in c11 cxx17; do
  "$work/$program"
  "$work/$program-static"
  needs "$work/$program" yes
  needs "$work/$program-static" no
done

echo "-- documented lines"
root=$(cd "$source/../.." && pwd)
mkdir "$work/lines"
cd "$work/lines"
cp "$root"/examples/*.c .
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/docs/library.md" >program.c
cc() { command "$CC" -Wall -Wextra "$@"; }
pkg-config() { command "$PKG_CONFIG" "$@"; }

# documented FILE PROGRAM: runs the line of FILE that compiles PROGRAM, as it stands there
documented() {
  local line
  line=$(grep -m 1 -o "cc .*\b$2.*\$(pkg-config [^)]*)" "$1") || { echo "$1 does not say how $2 is built"; exit 1; }
  echo "$line"
  eval "$line" || { echo "this line of $1 fails"; exit 1; }
}
for example in *.c; do
  [ "$example" = program.c ] || documented "$example" "$example"
done
"$work/prefix/bin/sparc" envs ./env_plugin.so --options length=20 --play oracle >/dev/null
documented "$root/docs/library.md" program.c
said=$(./a.out)
grep -qF "    $said" "$root/docs/library.md" || { echo "the program of docs/library.md says: $said"; exit 1; }

echo "-- Python, outside of the tree"
for python in python3 /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null && break
  python=
done
if [ -z "$python" ]; then
  echo "no Python with NumPy: skipped"
else
  mkdir "$work/site"
  cp -r "$root/python/sparc" "$work/site"
  found=$(cd / && env -u SPARC_LIBRARY PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1 "$python" -c \
    'import sparc; print(sparc.library_path)')
  [ "$found" = "$(realpath "$work/prefix/$libdir/libsparc.so.$soversion")" ] || { echo "Python uses $found"; exit 1; }
fi
