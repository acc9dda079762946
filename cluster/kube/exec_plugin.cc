#include "cluster/kube/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = std::size_t{1} << 20;

tl::unexpected<Error> Failed(const ExecPlugin& plugin, const std::string& why) {
  return Fail(ErrorCode::kUnavailable, "credential plugin " + Printable(plugin.command) + ": " + why, true);
}

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Pipe {
  Fd read = Fd();
  Fd write = Fd();
};

Pipe MakePipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Fd(ends[0]), Fd(ends[1])};
}

// All that is there now; closes `fd` at its end.
void Drain(Fd* fd, std::string* out, std::size_t limit) {
  std::array<char, 4096> buffer{};
  while (fd->get() >= 0) {
    const ssize_t size = read(fd->get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return fd->Close();
    out->append(buffer.data(),
                std::min(static_cast<std::size_t>(size), limit - std::min(limit, out->size())));
  }
}

std::vector<std::string> EnvironmentFor(const ExecPlugin& plugin) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    variables.emplace(text.substr(0, text.find('=')), text);
  }
  const auto set = [&](const std::string& name, const std::string& value) {
    variables[name] = name + "=" + value;
  };
  set("KUBERNETES_EXEC_INFO", ToText({{"apiVersion", plugin.api_version},
                                      {"kind", "ExecCredential"},
                                      {"spec", {{"interactive", false}}}}));
  for (const auto& [name, value] : plugin.env) set(name, value);
  std::vector<std::string> out;
  out.reserve(variables.size());
  for (auto& [name, entry] : variables) out.push_back(std::move(entry));
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> out;
  out.reserve(texts->size() + 1);
  for (std::string& text : *texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The child's pid, or the error's number, negative.
pid_t Spawn(const ExecPlugin& plugin, int out, int err) {
  std::vector<std::string> args = {plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = EnvironmentFor(plugin);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, plugin.command.c_str(), &actions, &attributes, Pointers(&args).data(),
                                  Pointers(&environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : -failed;
}

struct Status {
  std::string api_version;
  std::string kind;
  PluginCredentials credentials;
};

void Decode(const Reader& in, Status* out) {
  in.Required("apiVersion", &out->api_version);
  in.Required("kind", &out->kind);
  const auto status = in.Find("status");
  if (!status) return in.Fail("status", "missing");
  status->Optional("token", &out->credentials.identity.token);
  status->Optional("clientCertificateData", &out->credentials.identity.certificate);
  status->Optional("clientKeyData", &out->credentials.identity.key);
  status->Optional("expirationTimestamp", &out->credentials.expires);
}

}  // namespace

Result<PluginCredentials> ParseExecCredential(std::string_view text, const std::string& api_version) {
  const Result<json> document = ParseJson(text);
  if (!document) return Invalid("what it printed is no JSON");  // The parser's message would quote it.
  Result<Status> status = FromJson<Status>(*document);
  if (!status) return tl::unexpected(status.error());
  if (status->kind != "ExecCredential") return Invalid("kind: must be ExecCredential");
  if (status->api_version != api_version) return Invalid("apiVersion: must be " + Printable(api_version));
  const Identity& identity = status->credentials.identity;
  if (identity.certificate.empty() != identity.key.empty()) {
    return Invalid("status: clientCertificateData and clientKeyData must be given together");
  }
  if (identity.token.empty() && identity.certificate.empty()) return Invalid("status: holds no credentials");
  return std::move(status->credentials);
}

Result<std::string> RunPlugin(const ExecPlugin& plugin, int stop_fd, std::chrono::milliseconds limit) {
  constexpr std::size_t kMaxShown = 4096;
  constexpr auto kTick = std::chrono::milliseconds(50);
  const SteadyClock::time_point deadline = SteadyClock::now() + limit;
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  if (out.read.get() < 0 || err.read.get() < 0) return Failed(plugin, "no pipes");
  const pid_t pid = Spawn(plugin, out.write.get(), err.write.get());
  if (pid <= 0) return Failed(plugin, std::generic_category().message(-pid));
  out.write.Close();
  err.write.Close();

  std::string printed;
  std::string complaint;
  std::string why;
  int status = 0;
  // It may end before its pipes do (somebody else holds them), or after: so both are looked at.
  while (waitpid(pid, &status, WNOHANG) == 0) {
    std::array<pollfd, 3> waited{pollfd{stop_fd, POLLIN, 0}, pollfd{out.read.get(), POLLIN, 0},
                                 pollfd{err.read.get(), POLLIN, 0}};
    (void)poll(waited.data(), waited.size(), static_cast<int>(kTick.count()));
    Drain(&out.read, &printed, kMaxOutput + 1);
    Drain(&err.read, &complaint, kMaxShown);
    if (waited[0].revents != 0) why = "stopped";
    if (SteadyClock::now() >= deadline) why = "took longer than " + std::to_string(limit.count()) + " ms";
    if (printed.size() > kMaxOutput) why = "printed too much";
    if (why.empty()) continue;
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return Failed(plugin, why);
  }
  Drain(&out.read, &printed, kMaxOutput + 1);
  Drain(&err.read, &complaint, kMaxShown);
  if (printed.size() > kMaxOutput) return Failed(plugin, "printed too much");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  return Failed(plugin, (WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                           : "killed by signal " + std::to_string(WTERMSIG(status))) +
                            (complaint.empty() ? "" : ": " + Printable(complaint)));
}

}  // namespace adaptdl
