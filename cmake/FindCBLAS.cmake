# SPDX-License-Identifier: MIT
# FindCBLAS: a CBLAS library, BLIS before OpenBLAS, serial builds before threaded ones.
#
# The benchmark calls it on every thread of a team, so a serial BLAS is what we want; Debian keeps each build in its
# own folder and ships no pkg-config file for BLIS. SPARC_BLAS (auto, blis, openblas) restricts the choice.
# Gives CBLAS::CBLAS, CBLAS_LIBRARY, CBLAS_INCLUDE_DIR, CBLAS_NAME ("BLIS" or "OpenBLAS") and
# CBLAS_THREADED, true when only a build with its own threads was found.

if(NOT DEFINED SPARC_BLAS OR SPARC_BLAS STREQUAL "auto")
  set(_cblas_candidates blis openblas)
else()
  set(_cblas_candidates ${SPARC_BLAS})
endif()

# a changed choice must not meet the paths of the previous one
if(NOT "${_cblas_candidates}" STREQUAL "${_CBLAS_SEARCHED}")
  unset(CBLAS_LIBRARY CACHE)
  unset(CBLAS_INCLUDE_DIR CACHE)
  set(_CBLAS_SEARCHED "${_cblas_candidates}" CACHE INTERNAL "candidates of the last search")
endif()

foreach(_cblas IN LISTS _cblas_candidates)
  set(_cblas_folders ${_cblas}-serial ${_cblas}-openmp ${_cblas}-pthread ${_cblas})
  find_library(CBLAS_LIBRARY NAMES ${_cblas} PATH_SUFFIXES ${_cblas_folders})
  find_path(CBLAS_INCLUDE_DIR NAMES cblas.h PATH_SUFFIXES ${_cblas_folders})
  if(CBLAS_LIBRARY AND CBLAS_INCLUDE_DIR)
    break()
  endif()
  unset(CBLAS_LIBRARY CACHE)
  unset(CBLAS_INCLUDE_DIR CACHE)
endforeach()

set(CBLAS_NAME "")
set(CBLAS_THREADED FALSE)
if(CBLAS_LIBRARY MATCHES "libblis")
  set(CBLAS_NAME "BLIS")
elseif(CBLAS_LIBRARY MATCHES "libopenblas")
  set(CBLAS_NAME "OpenBLAS")
endif()
if(CBLAS_LIBRARY MATCHES "-(openmp|pthread)/")
  set(CBLAS_THREADED TRUE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS_LIBRARY CBLAS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install BLIS (Debian: libblis-serial-dev) or OpenBLAS (libopenblas-dev)")

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS UNKNOWN IMPORTED)
  set_target_properties(CBLAS::CBLAS PROPERTIES
    IMPORTED_LOCATION "${CBLAS_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}")
endif()
mark_as_advanced(CBLAS_LIBRARY CBLAS_INCLUDE_DIR)
