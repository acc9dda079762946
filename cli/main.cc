#include <unistd.h>

#include <iostream>

#include "cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return adaptdl::RunCli({.args = {argv + 1, argv + argc},
                          .environment = adaptdl::ProcessEnvironment(),
                          .in = std::cin,
                          .out = std::cout,
                          .err = std::cerr,
                          .out_fd = STDOUT_FILENO,
                          .err_fd = STDERR_FILENO});
}
