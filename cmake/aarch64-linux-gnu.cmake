# SPDX-License-Identifier: MIT
# aarch64-linux-gnu: cross-compiles for 64-bit ARM Linux with Debian's compiler and runs programs under qemu's user
# mode. Libraries are looked for below SPARC_SYSROOT, an unpacked set of arm64 packages (see scripts/test-aarch64.sh),
# and beside the cross compiler's C library; programs such as pkg-config are those of the host.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

set(SPARC_SYSROOT "" CACHE PATH "Folder with the arm64 libraries")
# the compiler checks of CMake run in projects of their own, which must see the same folder
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SPARC_SYSROOT)

set(CMAKE_FIND_ROOT_PATH "${SPARC_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(ENV{PKG_CONFIG_SYSROOT_DIR} "${SPARC_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${SPARC_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig")
