// The command line `adaptdl`, without the process around it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "runtime/environment.h"

namespace adaptdl {

// What the process gives: arguments without the program's name, and streams. The descriptors behind
// `out` and `err` are asked whether they are terminals.
struct CliProcess {
  std::vector<std::string> args;
  Environment environment;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  int out_fd = -1;
  int err_fd = -1;
};

// The exit code: 0 done, 1 it did not work, 2 the command line is wrong.
int RunCli(const CliProcess& process);

}  // namespace adaptdl
