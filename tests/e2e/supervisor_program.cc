#include "tests/e2e/supervisor_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/http_testing.h"
#include "tests/e2e/eventually.h"

namespace adaptdl {

namespace {

std::vector<std::string> Command(const std::string& kubeconfig, std::vector<std::string> flags) {
  const std::vector<std::pair<std::string, std::string>> defaults = {{"--kubeconfig", kubeconfig},
                                                                     {"--address", "127.0.0.1"},
                                                                     {"--port", "0"},
                                                                     {"--metrics.port", "0"},
                                                                     {"--drain-delay", "0s"}};
  for (const auto& [flag, value] : defaults) {
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) flags.insert(flags.end(), {flag, value});
  }
  flags.insert(flags.begin(), ADAPTDL_SUPERVISOR);
  return flags;
}

// Gone with the test program.
struct Folder {
  Folder() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path = testing::TempDir() + "adaptdl-supervisor-XXXXXX";
};

// 0 where it is not there.
std::uint16_t NumberAfter(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  return at == std::string::npos ? 0 : static_cast<std::uint16_t>(std::stoi(text.substr(at + before.size())));
}

}  // namespace

SupervisorProgram::SupervisorProgram(EventLoop& loop, const std::string& kubeconfig,
                                     std::vector<std::string> flags)
    : process_(Command(kubeconfig, std::move(flags))) {
  EXPECT_TRUE(Eventually(loop, [&] {
    const std::string output = process_.output();
    metrics_port_ = NumberAfter(output, "serving metrics and health port=");
    port_ = NumberAfter(output, "serving replicas port=");
    return port_ != 0 || process_.ExitCode();
  }));
  EXPECT_NE(port_, 0) << "it does not serve: " << process_.output();
}

std::string SupervisorProgram::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

bool SupervisorProgram::IsReady() const { return TestClient(metrics_port_).Get("/readyz").status == 200; }

std::string SupervisorProgram::Readiness() const { return TestClient(metrics_port_).Get("/readyz").body; }

std::string SupervisorProgram::Metrics() const { return TestClient(metrics_port_).Get("/metrics").body; }

double SupervisorProgram::Metric(const std::string& name) const {
  const std::string text = Metrics();
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
}

int SupervisorProgram::End(int signal) {
  process_.Signal(signal);
  return process_.Wait();
}

std::string UnreachableCluster() {
  return WriteTestFile(
      "unreachable.conf",
      R"({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
          "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
          "users": [{"name": "u", "user": {"token": "secret"}}]})");
}

std::string WriteTestFile(const std::string& name, const std::string& text) {
  static const Folder folder;
  const std::string path = folder.path + "/" + name;
  // Whole at every moment: others may be reading it.
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
  return path;
}

}  // namespace adaptdl
