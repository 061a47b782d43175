# cadre_module(NAME [DEPENDS target...] [EXCEPT file...]) makes the library cadre_NAME of the folder's *.cc but those files,
# and, with CADRE_TESTS, the test program test_NAME of its *_test.cc: one program and one ctest entry for each module.
function(cadre_module name)
  cmake_parse_arguments(MODULE "" "" "DEPENDS;EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(file ${MODULE_EXCEPT})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(sources)
    cadre_batches(sources cadre_${name} ${sources})
    add_library(cadre_${name} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(cadre_${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(cadre_${name} ${visibility} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(cadre_${name} ${visibility} ${MODULE_DEPENDS} Threads::Threads)

  if(CADRE_TESTS AND tests)
    cadre_test(${name} SOURCES ${tests} DEPENDS cadre_${name})
  endif()
endfunction()

# cadre_folders(FILE...) defines CADRE_SOURCE_DIR and CADRE_BINARY_DIR, but only for the files that use them: all others then
# compile alike in every checkout, and the compiler's cache has them.
function(cadre_folders)
  foreach(file ${ARGN})
    file(STRINGS ${file} uses REGEX "CADRE_(SOURCE|BINARY)_DIR" LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS CADRE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                                      CADRE_BINARY_DIR="${CMAKE_BINARY_DIR}")
    endif()
  endforeach()
endfunction()

# cadre_test(NAME SOURCES file... DEPENDS target...) makes a GoogleTest program test_NAME and its ctest entry NAME.
function(cadre_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPENDS" ${ARGN})
  cadre_folders(${TEST_SOURCES})
  cadre_batches(sources test_${name} ${TEST_SOURCES})
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE ${TEST_DEPENDS} GTest::gmock_main)
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-g0>)  # a failed test prints its line anyway
  cadre_test_entry(${name} COMMAND test_${name})
endfunction()

# cadre_test_entry(NAME COMMAND word... [ENVIRONMENT variable=value...]) makes the ctest entry of a program of GoogleTest or
# of Python's unittest. To run no test is a failure, although both programs then end with 0.
function(cadre_test_entry name)
  cmake_parse_arguments(ENTRY "" "" "COMMAND;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${ENTRY_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${CADRE_TEST_TIMEOUT} ENVIRONMENT "${ENTRY_ENVIRONMENT}"
                                          FAIL_REGULAR_EXPRESSION "Running 0 tests;Ran 0 tests")
endfunction()

# cadre_root_tests(NAME...): root tests more by these entries than an ordinary user. tools/run_tests runs them as both.
function(cadre_root_tests)
  set_tests_properties(${ARGN} PROPERTIES LABELS root)
endfunction()
