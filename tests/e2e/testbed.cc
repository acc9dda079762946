#include "tests/e2e/testbed.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <random>

namespace adaptdl {

namespace {

std::vector<std::string> ClusterCommand(const std::string& folder, const std::vector<std::string>& verb) {
  std::vector<std::string> command = {ADAPTDL_SOURCE_DIR "/tests/testbed/cluster"};
  command.insert(command.end(), verb.begin(), verb.end());
  command.insert(command.end(), {"--dir", folder});
  return command;
}

constexpr int kNotBuilt = 77;  // What `cluster up` ends with where the programs are not there.

}  // namespace

Result<std::unique_ptr<Testbed>> Testbed::Shared() {
  const std::string folder = ADAPTDL_TESTBED_DIR;
  if (!std::filesystem::exists(folder + "/admin.conf")) {
    return Fail(ErrorCode::kNotFound, "no test bed runs: `./dev test` brings one");
  }
  return std::unique_ptr<Testbed>(new Testbed(folder, false));
}

Result<std::unique_ptr<Testbed>> Testbed::Start(const std::vector<std::string>& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "adaptdl-testbed-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Fail(ErrorCode::kInternal, "no temporary folder");
  std::vector<std::string> verb = {"up", "--owner", std::to_string(getpid())};
  verb.insert(verb.end(), options.begin(), options.end());
  const Ended up = RunProgram(ClusterCommand(folder, verb));
  if (up.code == 0) return std::unique_ptr<Testbed>(new Testbed(folder, true));
  std::filesystem::remove_all(folder);
  if (up.code == kNotBuilt) return Fail(ErrorCode::kNotFound, up.output);
  return Fail(ErrorCode::kInternal, up.output);
}

Testbed::~Testbed() {
  if (own_) Do({"down"});
}

std::string Testbed::Do(const std::vector<std::string>& verb) const {
  const Ended ended = RunProgram(ClusterCommand(folder_, verb));
  EXPECT_EQ(ended.code, 0) << verb.front() << ": " << ended.output;
  return ended.output;
}

std::string Testbed::Kubectl(const std::vector<std::string>& arguments) const {
  const Ended ended = TryKubectl(arguments);
  EXPECT_EQ(ended.code, 0) << arguments.front() << ": " << ended.output;
  return ended.output;
}

Ended Testbed::TryKubectl(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {folder_ + "/bin/kubectl", "--kubeconfig", folder_ + "/admin.conf",
                                      "--cache-dir", folder_ + "/kubectl-cache"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command);
}

KubeConnection Testbed::Connection(const std::string& user) const {
  return LoadKubeconfig(folder_ + "/" + user + ".conf").value();
}

std::string Testbed::address() const {
  const std::string server = Connection().server;  // https://ADDRESS:PORT
  const std::size_t begin = server.find("//") + 2;
  return server.substr(begin, server.rfind(':') - begin);
}

std::uint16_t Testbed::port() const {
  const std::string server = Connection().server;
  return static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1)));
}

std::string Testbed::MakeNamespace() const {
  static std::atomic<int> made = 0;
  std::random_device random;
  const std::string name = "test-" + std::to_string(random()) + "-" + std::to_string(++made);
  Kubectl({"create", "namespace", name});
  // Pods want one. A controller makes it, where one runs, but not at once.
  TryKubectl({"create", "serviceaccount", "default", "--namespace", name});
  return name;
}

}  // namespace adaptdl
