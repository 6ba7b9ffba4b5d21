# SPDX-License-Identifier: MIT
# Package: what an installed copy has besides the static library and the tool: headers, the shared library, its CMake
# package and sparc.pc. Reads public_headers, and for static links static_libraries and pc_requires.

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sparc)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sparc)
install(TARGETS sparc EXPORT sparc-targets)
install(EXPORT sparc-targets NAMESPACE sparc:: DESTINATION ${package_folder})

configure_package_config_file(cmake/sparc-config.cmake.in sparc-config.cmake INSTALL_DESTINATION ${package_folder})
# before 1.0 a minor version may change the interface
write_basic_package_version_file(sparc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sparc-config.cmake" "${PROJECT_BINARY_DIR}/sparc-config-version.cmake"
  DESTINATION ${package_folder})

# sparc.pc finds its prefix from its own place, so an installed copy can be moved. It sets the rpath of programs:
# they run without an entry in the cache of the dynamic loader.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_to_prefix}")
foreach(kind IN ITEMS LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}DIR}")
    set(pc_${kind} "${CMAKE_INSTALL_${kind}DIR}")
  else()
    set(pc_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
  endif()
endforeach()
list(TRANSFORM static_libraries PREPEND -l OUTPUT_VARIABLE pc_libraries)
list(JOIN pc_libraries " " pc_libraries)
configure_file(cmake/sparc.pc.in sparc.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sparc.pc" DESTINATION ${pc_folder})
