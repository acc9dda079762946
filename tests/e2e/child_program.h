// Programs that a test runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace adaptdl {

struct Ended {
  int code = 0;        // 128 + the signal's number where one ended it.
  std::string output;  // Both streams.
};

// Runs it to its end. The first word is the program, looked for in PATH where it has no '/'.
Ended RunProgram(const std::vector<std::string>& command);

// A program that runs beside the test, and not a moment longer than this object or the thread that made it.
class ChildProgram {
 public:
  // `environment` is all that it gets, as NAME=VALUE. The first word of `command` is a path.
  explicit ChildProgram(const std::vector<std::string>& command,
                        const std::vector<std::string>& environment = {});
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  void Signal(int signal) const;
  // As Ended::code; nothing as long as it runs.
  std::optional<int> ExitCode();
  // The same, once it has ended. A test's failure where that takes minutes.
  int Wait();
  // What it has written so far.
  std::string output() const;

 private:
  pid_t pid_;
  int handle_;  // File descriptors: of the process, readable once it has ended,
  int output_;  // and of what it writes.
  std::optional<int> code_;
};

}  // namespace adaptdl
