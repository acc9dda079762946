// Runs the command line inside a test.
#pragma once

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"

namespace adaptdl {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

inline Outcome Adaptdl(std::vector<std::string> args, const std::string& input = "",
                       const std::map<std::string, std::string>& variables = {}, int err_fd = -1) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const Environment environment = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const int code = RunCli({.args = std::move(args),
                           .environment = environment,
                           .in = in,
                           .out = out,
                           .err = err,
                           .err_fd = err_fd});
  return {code, out.str(), err.str()};
}

}  // namespace adaptdl
