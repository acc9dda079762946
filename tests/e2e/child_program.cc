#include "tests/e2e/child_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace adaptdl {

namespace {

int CodeOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execve does not write to them.
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Ended RunProgram(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    line += "'";
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "' ";
  }
  std::FILE* pipe = popen((line + "2>&1").c_str(), "r");
  Ended ended;
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof(buffer), pipe))
    ended.output.append(buffer, size);
  ended.code = CodeOf(pclose(pipe));
  return ended;
}

ChildProgram::ChildProgram(const std::vector<std::string>& command,
                           const std::vector<std::string>& environment)
    : output_(memfd_create("output", MFD_CLOEXEC)) {
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {  // Other threads are not here: nothing but system calls.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(output_, STDOUT_FILENO);
    dup2(output_, STDERR_FILENO);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  EXPECT_GT(pid_, 0) << command[0] << " cannot be started";
  handle_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

ChildProgram::~ChildProgram() {
  Signal(SIGKILL);
  Wait();
  close(handle_);
  close(output_);
}

void ChildProgram::Signal(int signal) const {
  if (!code_) kill(pid_, signal);
}

std::optional<int> ChildProgram::ExitCode() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) code_ = CodeOf(status);
  return code_;
}

int ChildProgram::Wait() {
  constexpr int kLimitMilliseconds = 180'000;
  pollfd ended = {.fd = handle_, .events = POLLIN, .revents = 0};
  if (!code_ && poll(&ended, 1, kLimitMilliseconds) != 1) {
    ADD_FAILURE() << "it does not end";
    Signal(SIGKILL);
    poll(&ended, 1, kLimitMilliseconds);
  }
  return ExitCode().value_or(-1);
}

std::string ChildProgram::output() const {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t size = pread(output_, buffer, sizeof(buffer), static_cast<off_t>(text.size()));
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

}  // namespace adaptdl
