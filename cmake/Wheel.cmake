# SPDX-License-Identifier: MIT
# Wheel: what a Python wheel has besides the modules of python/sparc: the shared library and the tool, each with the
# libraries that it needs beside it, so that the wheel works where none of them is installed. The C library's own and
# drivers, which are loaded at run time, stay the system's. Built by `pip install ./python` and `make wheel`.

# a wheel holds no symbolic links, so the library has one name
set_property(TARGET sparc PROPERTY VERSION)
set_property(TARGET sparc PROPERTY SOVERSION)
set_target_properties(sparc PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(sparc_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS sparc RUNTIME_DEPENDENCY_SET wheel_libraries LIBRARY DESTINATION sparc/lib)
install(TARGETS sparc_cli RUNTIME_DEPENDENCY_SET wheel_libraries RUNTIME DESTINATION sparc/bin)
install(RUNTIME_DEPENDENCY_SET wheel_libraries
  PRE_EXCLUDE_REGEXES "^(libc|libm|libmvec|libdl|librt|libpthread|libgcc_s|ld-linux[-a-z0-9_]*)\\.so"
  POST_EXCLUDE_REGEXES "/ld-linux"
  LIBRARY DESTINATION sparc/lib)
