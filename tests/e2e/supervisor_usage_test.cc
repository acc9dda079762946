// The supervisor's program where something is wrong from the start, and what it can be told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "runtime/tls_testing.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/supervisor_fixture.h"

namespace adaptdl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(SupervisorUsage, ErrorsAreOneLineThatNamesTheSetting) {
  const std::string keys = WriteTestFile("keys", "a-key-that-is-long-enough-to-be-a-key\n");
  const std::string short_keys = WriteTestFile("short-keys", "# A key:\nsecret\n");
  const std::string no_keys = WriteTestFile("no-keys", "# None.\n");
  const std::string rubbish = WriteTestFile("rubbish.conf", "{[");
  const std::string missing = "/no/such/file";
  EventLoop loop;
  SupervisorProgram other(loop, UnreachableCluster(), {"--auth", "off"});
  const std::string taken = std::to_string(other.port());
  struct Case {
    std::vector<std::string> flags;
    int code;
    std::string names;
  };
  const std::vector<Case> cases = {
      {{"--no-such-flag"}, 2, "no-such-flag"},
      {{"job"}, 2, "job"},
      {{"--port", "http"}, 2, "port"},
      {{"--port", "65536"}, 2, "port"},
      {{"--auth", "perhaps"}, 2, "auth"},
      {{}, 2, "token-keys"},
      {{"--auth", "optional"}, 2, "token-keys"},
      {{"--token-keys", missing}, 1, missing},
      {{"--token-keys", "/"}, 1, "/: "},
      {{"--token-keys", short_keys}, 1, short_keys + ": line 2"},
      {{"--token-keys", no_keys}, 1, no_keys},
      {{"--token-keys", keys, "--tls.certificate", "c"}, 2, "tls.key"},
      {{"--token-keys", keys, "--tls.key", "k"}, 2, "tls.certificate"},
      {{"--auth", "off", "--tls.certificate", missing, "--tls.key", missing}, 1, missing},
      {{"--auth", "off", "--tls.certificate", rubbish, "--tls.key", rubbish}, 1, "certificate"},
      {{"--auth", "off", "--address", "127.0.0.1", "--port", taken}, 1, "127.0.0.1 port " + taken},
      {{"--auth", "off", "--address", "127.0.0.1", "--port", "0", "--grpc.port", taken}, 1, taken},
      {{"--auth", "off", "--shutdown-limit", "5s"}, 2, "shutdown-limit"},
      {{"--auth", "off", "--limits.client-rate", "0"}, 2, "limits.client-rate"},
      {{"--auth", "off", "--address", "nowhere"}, 1, "nowhere"},
      {{"--auth", "off", "--kubeconfig", missing}, 1, missing},
      {{"--auth", "off", "--kubeconfig", rubbish}, 1, rubbish},
  };
  for (const Case& one : cases) {
    std::vector<std::string> command = {ADAPTDL_SUPERVISOR};
    command.insert(command.end(), one.flags.begin(), one.flags.end());
    if (std::find(command.begin(), command.end(), "--kubeconfig") == command.end()) {
      command.insert(command.end(), {"--kubeconfig", UnreachableCluster()});
    }
    command.insert(command.end(), {"--metrics.port", "0"});
    ChildProgram program(command);
    EXPECT_EQ(program.Wait(), one.code) << one.names;
    const std::string output = program.output();
    EXPECT_THAT(output, AllOf(StartsWith("adaptdl-supervisor: "), HasSubstr(one.names)));
    EXPECT_THAT(output, testing::Not(HasSubstr("secret")));
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
}

TEST(SupervisorUsage, KeepsTryingToReachTheServer) {
  EventLoop loop;
  SupervisorProgram supervisor(loop, UnreachableCluster(), {"--auth", "off"});
  // It lives, but is not ready; whoever asks may wait here, a report is to come again.
  EXPECT_FALSE(supervisor.IsReady());
  EXPECT_EQ(Request(supervisor, "GET", "/healthz").status, 200);
  const TestReply poll = Request(supervisor, "GET", "/discover/ns/job/0?timeout=0.01");
  EXPECT_EQ(poll.status, 408);
  EXPECT_EQ(ErrorIn(poll), "the supervisor is only just starting");
  const TestReply report = Request(supervisor, "PUT", "/hints/ns/job", "", TestTrainer::RecordedHints());
  EXPECT_EQ(report.status, 503);
  EXPECT_THAT(report.head, HasSubstr("Retry-After: "));
  EXPECT_THAT(ErrorIn(report), HasSubstr("starting"));
  EXPECT_TRUE(Eventually(loop, [&] {
    return supervisor.Readiness().find("list AdaptDLJob: ") != std::string::npos;
  })) << supervisor.Readiness();
  EXPECT_EQ(supervisor.End(SIGTERM), 0) << supervisor.process().output();
}

TEST(SupervisorUsage, ServesWithTls) {
  const TlsIdentity identity = MakeIdentity("supervisor.test");
  EventLoop loop;
  SupervisorProgram supervisor(
      loop, UnreachableCluster(),
      {"--auth", "off", "--tls.certificate", WriteTestFile("tls.crt", identity.certificates), "--tls.key",
       WriteTestFile("tls.key", identity.key)});
  TestClient client(supervisor.port());
  EXPECT_EQ(client.Secure(), "supervisor.test");
  const TestReply reply = client.Get("/discover/ns/job/0?timeout=0");
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(ErrorIn(reply), "the supervisor is only just starting");
  EXPECT_EQ(TestClient(supervisor.port()).Get("/healthz").status, 0);  // Without it nothing is said.
  client.Close();
  EXPECT_EQ(supervisor.End(SIGTERM), 0) << supervisor.process().output();
}

}  // namespace
}  // namespace adaptdl
