# cmake -DBUILD_DIR=... -DWORK_DIR=... -P check.cmake
# Installs a build, moves the installed tree elsewhere, and uses it the way a stranger's project would.
cmake_minimum_required(VERSION 3.25)
file(REAL_PATH ${BUILD_DIR} BUILD_DIR)
file(REAL_PATH ${WORK_DIR} WORK_DIR)
load_cache(${BUILD_DIR} READ_WITH_PREFIX "" BUILD_SHARED_LIBS CMAKE_CXX_COMPILER CMAKE_GENERATOR CMAKE_INSTALL_LIBDIR
           PKG_CONFIG_EXECUTABLE)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  list(JOIN ARGV " " command)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${command}: ${result}\n${output}")
  endif()
  message("${command}\n${output}")
endfunction()

set(prefix ${WORK_DIR}/moved)
file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
file(RENAME ${WORK_DIR}/prefix ${prefix})

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/consumer -G ${CMAKE_GENERATOR}
    -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/consumer)
run(${WORK_DIR}/consumer/consumer)
run(${prefix}/bin/ignd --version)

# The same with pkg-config's flags, which must name the moved tree.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}/${CMAKE_INSTALL_LIBDIR}/pkgconfig ${PKG_CONFIG_EXECUTABLE}
          --cflags --libs ignd
  OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${CMAKE_CXX_COMPILER} -std=c++20 ${CMAKE_CURRENT_LIST_DIR}/main.cpp ${flags}
    -Wl,-rpath,${prefix}/${CMAKE_INSTALL_LIBDIR} -o ${WORK_DIR}/by_pkg_config)
run(${WORK_DIR}/by_pkg_config)

if(BUILD_SHARED_LIBS)
  # libignd.so -> libignd.so.0.2 -> libignd.so.0.2.0
  file(GLOB library ${prefix}/${CMAKE_INSTALL_LIBDIR}/libignd.so.*.*.*)
  string(REGEX REPLACE "\\.[0-9]+$" "" soname "${library}")
  foreach(link ${prefix}/${CMAKE_INSTALL_LIBDIR}/libignd.so ${soname})
    file(REAL_PATH ${link} target)
    if(NOT IS_SYMLINK ${link} OR NOT target STREQUAL library)
      message(FATAL_ERROR "${link} does not lead to the library, '${library}'")
    endif()
  endforeach()

  # Both consumers must have been using the moved library, not the one in the build folder; the tool needs none.
  foreach(program ${WORK_DIR}/consumer/consumer ${WORK_DIR}/by_pkg_config ${prefix}/bin/ignd)
    set(used "")
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} RESOLVED_DEPENDENCIES_VAR used
         PRE_EXCLUDE_REGEXES "^lib(c|m|gcc_s|stdc\\+\\+)\\.so" POST_INCLUDE_REGEXES libignd POST_EXCLUDE_REGEXES ".*")
    if(used)
      cmake_path(NORMAL_PATH used)
    endif()
    if(program STREQUAL "${prefix}/bin/ignd")
      set(soname "")
    endif()
    if(NOT used STREQUAL soname)
      message(FATAL_ERROR "${program} uses '${used}' instead of '${soname}'")
    endif()
  endforeach()
endif()
