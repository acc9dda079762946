# adaptdl_library(NAME SOURCES... [DEPS public...] [PRIVATE private...]) makes the static library adaptdl::NAME.
# Headers are included from the project's root: #include "api/job.h".
function(adaptdl_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE" ${ARGN})
  add_library(adaptdl_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(adaptdl::${name} ALIAS adaptdl_${name})
  target_include_directories(adaptdl_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(adaptdl_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE})
  if(ADAPTDL_LIBFUZZER)
    target_compile_options(adaptdl_${name} PRIVATE -fsanitize=fuzzer-no-link)  # So that a fuzzer sees its branches.
  endif()
endfunction()

# adaptdl_test(NAME SOURCES... DEPS libraries... [PROPERTIES of each test...]): one GoogleTest program, each of its tests known to ctest by name.
# Properties get a fixed seed, so that a change lands or not for its own sake; run the program itself for fresh ones.
function(adaptdl_test name)
  cmake_parse_arguments(ARG "" "" "DEPS;PROPERTIES" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 ENVIRONMENT "RC_PARAMS=seed=2026 max_success=300"
                       ${ARG_PROPERTIES})
endfunction()
