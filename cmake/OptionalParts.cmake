# SPDX-License-Identifier: MIT
# OptionalParts: optional dependencies. The build works without them; Summary.cmake reports them.
# Sets MuJoCo_FOUND, MPI_C_FOUND, and in the cache SLEEF_LIBRARY, MVEC_LIBRARY, SPARC_ASAN_WORKS, SPARC_TSAN_WORKS and SPARC_<TOOL>.

include(CheckCSourceCompiles)

# MuJoCo 2.2 or 2.3: header and library. Later versions read models from memory in another way.
find_path(MuJoCo_INCLUDE_DIR NAMES mujoco/mujoco.h)
find_library(MuJoCo_LIBRARY NAMES mujoco)
mark_as_advanced(MuJoCo_INCLUDE_DIR MuJoCo_LIBRARY)
set(MuJoCo_FOUND FALSE)
if(SPARC_MUJOCO AND MuJoCo_INCLUDE_DIR AND MuJoCo_LIBRARY)
  file(STRINGS "${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h" mujoco_version REGEX "^#define mjVERSION_HEADER +[0-9]+")
  string(REGEX REPLACE "[^0-9]" "" mujoco_version "${mujoco_version}")
  if(mujoco_version GREATER_EQUAL 220 AND mujoco_version LESS 300)
    set(MuJoCo_FOUND TRUE)
  else()
    message(WARNING "MuJoCo ${mujoco_version} is not used: the robots need 2.2 or 2.3 (Debian: libmujoco-dev)")
  endif()
endif()

# MPI, for a shared object of its own
set(MPI_C_FOUND FALSE)
if(SPARC_MPI)
  find_package(MPI QUIET COMPONENTS C)
endif()

# libraries of vector functions that `sparc bench` compares the scan with
find_library(SLEEF_LIBRARY NAMES sleef)
find_library(MVEC_LIBRARY NAMES mvec)
mark_as_advanced(SLEEF_LIBRARY MVEC_LIBRARY)

# sanitizer run-time libraries: found by the compiler unless this build already uses them
function(sparc_check_sanitizer name flags)
  if(NOT SPARC_SANITIZE AND NOT SPARC_FUZZ)
    set(CMAKE_REQUIRED_FLAGS "-fsanitize=${flags}")
    set(CMAKE_REQUIRED_LINK_OPTIONS "-fsanitize=${flags}")
    set(CMAKE_REQUIRED_QUIET ON)
    check_c_source_compiles("int main(void) { return 0; }" SPARC_${name}_WORKS)
  endif()
endfunction()
sparc_check_sanitizer(ASAN address,undefined)
sparc_check_sanitizer(TSAN thread)

# programs that make targets and figures use when they are there
foreach(tool IN ITEMS gnuplot valgrind clang-format clang-tidy cppcheck)
  string(TOUPPER "SPARC_${tool}" variable)
  string(REPLACE "-" "_" variable "${variable}")
  find_program(${variable} NAMES ${tool})
  mark_as_advanced(${variable})
endforeach()
