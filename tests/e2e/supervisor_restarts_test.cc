// Training processes that ask and report live on whatever becomes of supervisors, the API server and etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <sstream>

#include "tests/e2e/supervisor_fixture.h"
#include "tests/e2e/tcp_proxy.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;

// A part of the cluster is away as long as this lives.
class Outage {
 public:
  Outage(const Testbed& server, std::string part) : server_(server), part_(std::move(part)) {
    server_.Do({"stop", part_});
  }
  ~Outage() { server_.Do({"start", part_}); }
  Outage(const Outage&) = delete;
  Outage& operator=(const Outage&) = delete;

 private:
  const Testbed& server_;
  const std::string part_;
};

class SupervisorRestarts : public SupervisorTest {
 protected:
  [[nodiscard]] bool EventuallyHolds(const SupervisorProgram& supervisor, std::size_t polls) {
    return Eventually(
        [&] { return supervisor.Metric("adaptdl_supervisor_polls") == static_cast<double>(polls); });
  }

  // Of reports, for whatever reason.
  static double FailedWrites(const SupervisorProgram& supervisor) {
    double count = 0;
    std::istringstream lines(supervisor.Metrics());
    for (std::string line; std::getline(lines, line);) {
      const bool counts = line.starts_with("adaptdl_supervisor_hint_writes_total{") &&
                          line.find("\"ok\"") == std::string::npos;
      if (counts) count += std::stod(line.substr(line.rfind(' ')));
    }
    return count;
  }
};

// The proxy is a Service in miniature: new connections go to the one that is ready.
TEST_F(SupervisorRestarts, RollingOnesAreNotNoticed) {
  const std::vector<std::string> flags = {"--drain-delay", "5s"};
  SupervisorProgram* now = &StartSupervisor(flags);
  TcpProxy service("127.0.0.1", now->port());
  StartOperatorWith("http://127.0.0.1:" + std::to_string(service.port()));
  RunWithoutAddresses("train", {"played-0", "played-1", "played-2", "played-3"});
  const auto trainers = StartTrainers("train");
  ASSERT_TRUE(EventuallyHolds(*now, trainers.size()));
  const TestTrainer reporter(EnvironmentsOf("train")[0]);
  for (std::int64_t size : {600, 700}) {
    SupervisorProgram* next = &StartSupervisor(flags);
    now->process().Signal(SIGTERM);
    ASSERT_TRUE(Eventually([&] { return !now->IsReady(); }));
    // Until everybody knows, it serves as before.
    EXPECT_EQ(reporter.PutHints(HintsWith(size)).status, 200);
    service.SendTo(next->port());
    EXPECT_EQ(now->process().Wait(), 0);
    EXPECT_EQ(EndSupervisor(*now, SIGTERM), 0);
    now = next;
    ASSERT_TRUE(EventuallyHolds(*now, trainers.size()));
    EXPECT_TRUE(EventuallyReported("train", size));
  }
  for (std::size_t rank = 0; rank < trainers.size(); ++rank) {
    EXPECT_FALSE(trainers[rank]->ExitCode());
    EXPECT_THAT(trainers[rank]->output(),
                HasSubstr(R"(discover 408 {"error":"the supervisor is about to end"})"));
    GiveAddress("train", rank, "10.1.0." + std::to_string(rank));
  }
  ExpectToFind(trainers, {"10.1.0.0", "10.1.0.1", "10.1.0.2", "10.1.0.3"});
}

TEST_F(SupervisorRestarts, OneThatWasKilledLeavesNothingBehindThatItsSuccessorWouldMiss) {
  SupervisorProgram& killed = StartSupervisor();
  const std::string port = std::to_string(killed.port());
  StartOperatorWith(killed.url());
  Run("train", {"played-0", "played-1"});
  const TestTrainer reporter(EnvironmentsOf("train")[0]);
  EXPECT_EQ(reporter.PutHints(TestTrainer::RecordedHints()).status, 200);
  ASSERT_TRUE(EventuallyReported("train", 512));
  EXPECT_EQ(EndSupervisor(killed, SIGKILL), 128 + SIGKILL);
  StartSupervisor({"--port", port});
  EXPECT_EQ(reporter.PutHints(TestTrainer::RecordedHints()).body, R"({"result":"unchanged"})");
  ExpectToFind(StartTrainers("train"), AddressesOf("train"));
}

// They ask and report as if nothing had happened, and get what they want once it can be had.
TEST_F(SupervisorRestarts, WithoutApiServerOrEtcdAllMayWait) {
  SupervisorProgram& supervisor = StartSupervisor();
  StartOperatorWith(supervisor.url());
  for (const std::string part : {"apiserver", "etcd"}) {
    SCOPED_TRACE(part);
    const std::string job = "train-" + part;
    RunWithoutAddresses(job, {"played-0", "played-1"});
    const auto environments = EnvironmentsOf(job);
    const auto trainers = StartTrainers(job);
    ASSERT_TRUE(EventuallyHolds(supervisor, 2));
    const double failed_before = FailedWrites(supervisor);
    std::optional<Outage> outage(std::in_place, Server(), part);
    EXPECT_EQ(TestTrainer(environments[0]).PutHints(HintsWith(600)).status, 200);
    // It has tried, and knows by now.
    ASSERT_TRUE(Eventually([&] { return FailedWrites(supervisor) > failed_before; }));
    EXPECT_TRUE(supervisor.IsReady());
    EXPECT_EQ(TestTrainer(environments[0]).PutHints(HintsWith(700)).status, 200);
    ASSERT_TRUE(EventuallyHolds(supervisor, 2));
    for (const auto& trainer : trainers) EXPECT_FALSE(trainer->ExitCode()) << trainer->output();

    outage.reset();
    EXPECT_TRUE(EventuallyReported(job, 700));
    GiveAddress(job, 0, "10.1.0.0");
    GiveAddress(job, 1, "10.1.0.1");
    ExpectToFind(trainers, {"10.1.0.0", "10.1.0.1"});
  }
}

// Whoever waits is sent elsewhere; a report that cannot be written is not waited for until it is killed.
TEST_F(SupervisorRestarts, EndsInOrderWithoutApiServer) {
  SupervisorProgram& supervisor = StartSupervisor({"--shutdown-limit", "15s"});
  StartOperatorWith(supervisor.url());
  RunWithoutAddresses("train", {"played-0"});
  const auto environment = EnvironmentsOf("train")[0];
  TestClient poll(supervisor.port());
  poll.Send("GET /t/" + TokenIn(environment) + "/discover/" + name_space_ +
            "/train/0 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(EventuallyHolds(supervisor, 1));
  const Outage outage(Server(), "apiserver");
  EXPECT_EQ(TestTrainer(environment).PutHints(HintsWith(600)).status, 200);
  supervisor.process().Signal(SIGTERM);
  EXPECT_EQ(poll.Read().status, 408);
  poll.Close();
  EXPECT_EQ(supervisor.process().Wait(), 0);
}

}  // namespace
}  // namespace adaptdl
