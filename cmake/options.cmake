# One place for what every target is compiled with. The presets choose among these; nothing else does.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(ADAPTDL_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize takes them (address,undefined or thread)")
option(ADAPTDL_LIBFUZZER "Build the fuzz targets with libFuzzer (needs clang); otherwise they replay their corpus" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
                    -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
                    # The same double on every machine: no fused multiply-add behind the author's back.
                    -ffp-contract=off)
add_compile_definitions(_GLIBCXX_ASSERTIONS)

if(ADAPTDL_SANITIZE)
  add_compile_options(-fsanitize=${ADAPTDL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ADAPTDL_SANITIZE})
endif()
