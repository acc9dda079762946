// The operator's program where something is wrong from the start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "runtime/event_loop.h"
#include "tests/e2e/child_program.h"
#include "tests/e2e/eventually.h"

namespace adaptdl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class OperatorUsage : public testing::Test {
 protected:
  // A file in which nothing is wrong, but nobody listens there.
  static std::string Unreachable() {
    return Write(
        "unreachable.conf",
        R"({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                     "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                     "users": [{"name": "u", "user": {"token": "secret"}}]})");
  }
  static std::string Write(const std::string& name, const std::string& text) {
    std::string path = testing::TempDir() + "operator-usage-" + name;
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(OperatorUsage, ErrorsAreOneLineThatNamesTheSetting) {
  struct Case {
    std::vector<std::string> flags;
    std::vector<std::string> environment;
    int code;
    const char* names;
  };
  const std::string rubbish = Write("rubbish.conf", "{[");
  const std::vector<Case> cases = {
      {{"--no-such-flag"}, {}, 2, "no-such-flag"},
      {{"job"}, {}, 2, "job"},
      {{"--metrics.port", "http"}, {}, 2, "metrics.port"},
      {{"--lease.name", ""}, {}, 2, "lease.name"},
      {{"--webhook.port", "9443"}, {}, 2, "webhook.certificate"},
      {{"--kubeconfig", "/no/such/file"}, {}, 1, "/no/such/file"},
      {{"--kubeconfig", rubbish}, {}, 1, rubbish.c_str()},
      {{"--address", "nowhere"}, {}, 1, "nowhere"},
      {{}, {"ADAPTDL_JOB_PATCH_PODS=rubbish"}, 1, "job.patch.pods"},
      {{}, {R"(ADAPTDL_JOB_PATCH_PODS=[{"op": "ad", "path": "/"}])"}, 1, "job.patch.pods"},
      {{}, {"ADAPTDL_JOB_PATCH_CONTAINERS={}"}, 1, "job.patch.containers"},
      {{}, {R"(ADAPTDL_JOB_DEFAULT_RESOURCES={"limits": {"cpu": "much"}})"}, 1, "job.defaultResources"},
  };
  for (const Case& one : cases) {
    std::vector<std::string> command = {ADAPTDL_OPERATOR};
    const bool has_config = !one.flags.empty() && one.flags[0] == "--kubeconfig";
    if (!has_config) command.insert(command.end(), {"--kubeconfig", Unreachable()});
    command.insert(command.end(), one.flags.begin(), one.flags.end());
    ChildProgram program(command, one.environment);
    EXPECT_EQ(program.Wait(), one.code) << one.names;
    const std::string output = program.output();
    EXPECT_THAT(output, AllOf(StartsWith("adaptdl-operator: "), HasSubstr(one.names)));
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
}

TEST_F(OperatorUsage, KeepsTryingToReachTheServer) {
  ChildProgram program(
      {ADAPTDL_OPERATOR, "--kubeconfig", Unreachable(), "--address", "127.0.0.1", "--metrics.port", "0"});
  EventLoop loop;
  std::string output;
  const std::string before = "serving metrics and health port=";
  const auto writes = [&](const std::string& text) {
    output = program.output();
    return output.find(text) != std::string::npos;
  };
  ASSERT_TRUE(Eventually(loop, [&] { return program.ExitCode() || writes("cannot follow"); })) << output;
  ASSERT_FALSE(program.ExitCode()) << output;
  const std::size_t begin = output.find(before) + before.size();
  const std::string url = "http://127.0.0.1:" + output.substr(begin, output.find('\n', begin) - begin);
  // It lives, but is not ready, and says what is missing.
  EXPECT_EQ(RunProgram({"curl", "-sS", "--fail", url + "/livez"}).code, 0);
  EXPECT_TRUE(Eventually(loop, [&] {
    const std::string answer = RunProgram({"curl", "-sS", "-w", "%{http_code}", url + "/readyz"}).output;
    return answer.find("503") != std::string::npos && answer.find("list AdaptDLJob: ") != std::string::npos;
  }));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.output();
}

}  // namespace
}  // namespace adaptdl
