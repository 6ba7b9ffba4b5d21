# SPDX-License-Identifier: MIT
# Inference: the library of -DSPARC_INFERENCE=ON. One small shared object that loads what `sparc train` has written and
# uses it, and needs nothing but the C library: no OpenMP, jansson or zlib. Random123 is headers.
#
# Its headers define its functions. The sources are those that they need; every function is a section of its own,
# only the calls of the headers are exported, and the linker keeps what these reach.

find_package(Random123 REQUIRED)
set(public_headers include/sparc/base.h include/sparc/model.h)

file(GLOB inference_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  src/base/*.c src/cells/*.c src/cells/affine/*.c src/rtrl/*.c src/nn/*.c)
list(REMOVE_ITEM inference_sources src/base/build_info.c src/cells/inspect.c)
list(APPEND inference_sources
  src/kernels/kernels.c src/seq/plan.c src/seq/sequence.c src/seq/step.c
  src/io/dtype.c src/io/json_tree.c src/io/safetensors_read.c src/io/settings.c src/io/settings_metadata.c
  src/io/stored_blocks.c src/io/stored_tensor.c
  src/data/column_names.c src/data/normalise.c src/data/text.c
  src/train/batch.c src/train/checkpoint.c src/train/long_input.c src/train/model.c src/train/preprocessing.c
  src/train/train.c src/train/train_settings.c)

# one set of kernels; processors without it take the scalar C of the cells
include(Kernels)
if(avx2 IN_LIST kernel_sets)
  set(kernel_sets avx2)
endif()
foreach(isa IN LISTS kernel_sets)
  list(APPEND inference_sources src/kernels/kernels_${isa}.c)
endforeach()

# what the headers declare
set(exported)
foreach(header IN LISTS public_headers)
  file(READ "${header}" text)
  string(REGEX MATCHALL "SPARC_API [^;(]*[ *](sparc_[a-z0-9_]+)\\(" calls "${text}")
  list(TRANSFORM calls REPLACE ".*[ *](sparc_[a-z0-9_]+)\\($" "\\1")
  list(APPEND exported ${calls})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_headers})
list(JOIN exported "; " exported)
file(CONFIGURE OUTPUT inference.map CONTENT "{ global: ${exported}; local: *; };\n" @ONLY)

add_library(sparc SHARED ${inference_sources})
add_library(sparc::sparc ALIAS sparc)
set_target_properties(sparc PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${sparc_soversion}
  LINK_DEPENDS "${PROJECT_BINARY_DIR}/inference.map")
target_compile_definitions(sparc PRIVATE _GNU_SOURCE SPARC_INFERENCE SPARC_USE_OPENMP=0)
# small before all, but for what runs in every step: the cells' own loops, beside the kernels, which have their flags.
# Without -ffast-math the level changes no bit.
target_compile_options(sparc PRIVATE ${warnings} -Wno-unused-function -Os -fno-asynchronous-unwind-tables -ffunction-sections
  -fdata-sections)
set(cell_sources ${inference_sources})
list(FILTER cell_sources INCLUDE REGEX "^src/cells/")
set_source_files_properties(${cell_sources} PROPERTIES COMPILE_OPTIONS -O2)
set_source_files_properties(src/cells/mamba3.c PROPERTIES COMPILE_OPTIONS -O3) # has no kernel of its step
target_include_directories(sparc PRIVATE include src INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(sparc PRIVATE $<BUILD_INTERFACE:Random123::Random123> m INTERFACE m)
target_link_options(sparc PRIVATE
  LINKER:--gc-sections LINKER:--no-undefined "LINKER:--version-script=${PROJECT_BINARY_DIR}/inference.map")
if(NOT SPARC_SANITIZE)
  target_link_options(sparc PRIVATE LINKER:--as-needed $<$<CONFIG:Release,MinSizeRel>:LINKER:--strip-all>)
endif()

if(SPARC_EXAMPLES)
  add_executable(example_embed examples/embed.c)
  set_target_properties(example_embed PROPERTIES
    OUTPUT_NAME embed RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_compile_options(example_embed PRIVATE ${warnings})
  target_link_libraries(example_embed PRIVATE sparc::sparc)
endif()

include(Package)
