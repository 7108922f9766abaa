# `cmake --install` gives headers, the library, the tool and a CMake package: find_package(ignd), target ignd::ignd.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ignd)
install(TARGETS ignd EXPORT ignd-targets)
install(DIRECTORY include/ignd TYPE INCLUDE)
install(EXPORT ignd-targets NAMESPACE ignd:: DESTINATION ${package_dir})
if(IGND_TOOL)
  install(TARGETS ignd_tool)
  install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/ignd)
endif()

configure_package_config_file(cmake/ignd-config.cmake.in ignd-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface, as the SOVERSION says.
write_basic_package_version_file(ignd-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ignd-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/ignd-config-version.cmake
        DESTINATION ${package_dir})
