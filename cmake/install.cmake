# `cmake --install` gives headers, the library, the tool, a CMake package (find_package(ignd), target ignd::ignd) and
# one for pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ignd)
install(TARGETS ignd EXPORT ignd-targets)
install(DIRECTORY include/ignd TYPE INCLUDE)
install(EXPORT ignd-targets NAMESPACE ignd:: DESTINATION ${package_dir})
if(IGND_TOOL)
  install(TARGETS ignd_tool)
  if(has_mpi)
    install(TARGETS ignd_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/ignd)
endif()

configure_package_config_file(cmake/ignd-config.cmake.in ignd-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface, as the SOVERSION says.
write_basic_package_version_file(ignd-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ignd-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/ignd-config-version.cmake
        DESTINATION ${package_dir})

# Both find the tree from their own place, so that it can be moved.
cmake_path(SET pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH to_prefix /prefix/${pc_dir} /prefix)
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
set(pc_requires "")
set(pc_libraries "")
if(NOT BUILD_SHARED_LIBS)
  # Whoever links a static library links what it needs as well.
  set(pc_requires "fmt libhwy libxxhash zlib libarchive libcrypto libpcre2-8 libjpeg libpng")
  set(pc_libraries " -pthread")
  if(has_onednn)
    string(PREPEND pc_libraries " -ldnnl -lgomp")
  endif()
endif()
configure_file(cmake/ignd.pc.in ignd.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ignd.pc DESTINATION ${pc_dir})
