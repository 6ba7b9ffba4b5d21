# SPDX-License-Identifier: MIT
# EmbedFiles: a C source with the bytes of some files, for data that a library carries inside itself.
#
#   sparc_embed_files(OUTPUT HEADER PREFIX FILES...) adds the command that makes OUTPUT during the build. For a file
#   NAME.ext the source defines `const embedded_file PREFIX_NAME` (io/embedded.h), with _ for what an identifier
#   cannot have; HEADER declares it.
#
# The same file is the script of that command (cmake -P).
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "/* made by EmbedFiles.cmake */\n#include \"${HEADER}\"\n")
  foreach(file IN LISTS FILES)
    get_filename_component(name "${file}" NAME)
    get_filename_component(id "${file}" NAME_WE)
    string(MAKE_C_IDENTIFIER "${id}" id)
    file(READ "${file}" bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n " bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" " 0x\\1," bytes "${bytes}")
    string(APPEND text "\nstatic const unsigned char ${id}_bytes[] = {\n ${bytes}\n};\n"
      "const embedded_file ${PREFIX}_${id} = {\"${name}\", ${id}_bytes, sizeof ${id}_bytes};\n")
  endforeach()
  file(WRITE "${OUTPUT}" "${text}")
  return()
endif()

set(embed_script "${CMAKE_CURRENT_LIST_FILE}")
function(sparc_embed_files output header prefix)
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${header}" "-DPREFIX=${prefix}"
      "-DFILES=${ARGN}" -P "${embed_script}"
    DEPENDS "${embed_script}" ${ARGN} VERBATIM COMMENT "Embedding ${prefix} files")
endfunction()
