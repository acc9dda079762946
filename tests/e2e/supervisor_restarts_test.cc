// Training processes that ask and report live on whatever becomes of supervisors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/supervisor_fixture.h"
#include "tests/e2e/tcp_proxy.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;

class SupervisorRestarts : public SupervisorTest {
 protected:
  [[nodiscard]] bool EventuallyHolds(const SupervisorProgram& supervisor, std::size_t polls) {
    return Eventually(
        [&] { return supervisor.Metric("adaptdl_supervisor_polls") == static_cast<double>(polls); });
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

}  // namespace
}  // namespace adaptdl
