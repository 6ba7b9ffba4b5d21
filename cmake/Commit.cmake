# SPDX-License-Identifier: MIT
# Commit.cmake: sets `commit` to the abbreviated hash of the source tree's commit, with -dirty appended where files were
# changed, or to "unknown" outside a clone. Only build_info.c is compiled with it. A clone that holds the tree as a part
# of something larger does not count.
set(commit unknown)
find_program(GIT_EXECUTABLE git)
mark_as_advanced(GIT_EXECUTABLE)
if(GIT_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --abbrev=10 --exclude=*
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(described MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit "${described}")
  endif()
  get_filename_component(head_log "${head_log}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
  if(EXISTS "${head_log}" AND NOT IS_DIRECTORY "${head_log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${head_log}")
  endif()
endif()
