// What every program of the control plane does with its command line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config.h"
#include "runtime/environment.h"
#include "runtime/log.h"
#include "runtime/result.h"

namespace adaptdl {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

struct ProgramInfo {
  std::string name;
  std::string purpose;  // A sentence or two, for --help.
  std::string version;
};

// Fills what the schema is bound to, and asks `valid` whether it fits together. Answers --help, --version and
// --print-config, and tells what is wrong: then with the exit code; nothing where the program is to run.
std::optional<int> ReadCommandLine(const ProgramInfo& program, ConfigSchema& schema,
                                   const std::vector<std::string>& args, const Environment& environment,
                                   const std::function<Result<void>()>& valid);

// One line about why the program ends; `code` again.
int Complain(const ProgramInfo& program, const std::string& message, int code);

// The settings of every program's log.
struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};
void Bind(LogSettings& settings, ConfigSchema& schema);

// This process among those that run the same program.
std::string MakeIdentity(std::uint64_t random);

}  // namespace adaptdl
