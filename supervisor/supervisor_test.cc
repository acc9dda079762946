// Limits, keys and what is counted; what is answered is in tests/conformance.
#include "supervisor/supervisor.h"

#include <cstdio>
#include <fstream>

#include "cluster/sim/sim_testing.h"
#include "cluster/sim/sim_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/token_key_file.h"

namespace adaptdl {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Key kJob{"default", "job"};

class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() { options_.auth = AuthMode::kOff; }

  Supervisor& Start() {
    supervisor_ = std::make_unique<Supervisor>(
        world_.clock(), world_.admin(), options_,
        Logger("supervisor", {.sink = [this](std::string_view line) { lines_.emplace_back(line); }}),
        SupervisorMetrics::Make(metrics_).value());
    return *supervisor_;
  }

  // "held", "found", "not yet" or the refusal.
  std::shared_ptr<std::string> Discover(const Caller& caller = {}, const Key& job = kJob,
                                        Duration timeout = seconds(30)) {
    auto outcome = std::make_shared<std::string>("held");
    tickets_.push_back(supervisor_->Discover(
        caller, job, 0, timeout, [outcome](const Supervisor::Answer<DiscoveryAnswer>& answer) {
          *outcome = !answer ? answer.error().message : answer->addresses != nullptr ? "found" : "not yet";
        }));
    return outcome;
  }

  SimWorld world_;
  SupervisorOptions options_;
  Metrics metrics_;
  std::vector<std::string> lines_;
  std::vector<Supervisor::Ticket> tickets_;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, PollsAreHeldWhileItStarts) {
  Start();
  EXPECT_EQ(*Discover(), "held");
  EXPECT_FALSE(supervisor_->Readiness());
  const auto report = supervisor_->TakeReport({}, kJob, {}, [] { return Hints(); });
  EXPECT_EQ(report.error().kind, Refusal::Kind::kNotReady);
  world_.clock().RunFor(seconds(1));
  EXPECT_TRUE(supervisor_->Readiness());
}

TEST_F(SupervisorTest, PollsEndWithTheLongestTimeAtTheLatest) {
  options_.longest_poll = minutes(1);
  Start();
  const auto outcome = Discover({}, kJob, std::chrono::hours(24));
  world_.clock().RunFor(seconds(59));
  EXPECT_EQ(*outcome, "held");
  world_.clock().RunFor(seconds(2));
  EXPECT_EQ(*outcome, "not yet");
}

TEST_F(SupervisorTest, AJobMayHaveSoManyWaiting) {
  options_.waiting_per_job = 3;
  Start();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*Discover(), "held");
  EXPECT_THAT(*Discover(), HasSubstr("too many replicas of this job"));
  EXPECT_EQ(*Discover({}, {"default", "other"}), "held");
  supervisor_->StopDiscovering(tickets_[1]);
  EXPECT_EQ(*Discover(), "held");
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_supervisor_refused_total{reason=\"waiting\"} 1\n"));
  supervisor_->Measure();
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_supervisor_polls 4\n"));
}

TEST_F(SupervisorTest, AClientMayAskSoOften) {
  options_.client_rate = 1;
  options_.client_burst = 2;
  Start();
  EXPECT_EQ(*Discover({.address = "10.0.0.1"}), "held");
  EXPECT_EQ(*Discover({.address = "10.0.0.1"}), "held");
  EXPECT_THAT(*Discover({.address = "10.0.0.1"}), HasSubstr("too many requests of this client"));
  EXPECT_EQ(*Discover({.address = "10.0.0.2"}), "held");
}

TEST_F(SupervisorTest, SoManyRequestsMayBeAboutAJob) {
  options_.job_rate = 1;
  options_.job_burst = 2;
  Start();
  EXPECT_EQ(*Discover({.address = "10.0.0.1"}), "held");
  EXPECT_EQ(*Discover({.address = "10.0.0.2"}), "held");
  EXPECT_THAT(*Discover({.address = "10.0.0.3"}), HasSubstr("too many requests about this job"));
  EXPECT_EQ(*Discover({.address = "10.0.0.3"}, {"default", "other"}), "held");
}

// A stranger without a token can neither use up a job's share nor fill the log, nor write into it.
TEST_F(SupervisorTest, StrangersAreCountedAndCostNobodyAnything) {
  options_.auth = AuthMode::kRequired;
  options_.keys = TokenKeys::Parse(std::string(32, 'k')).value();
  options_.job_rate = 1;
  options_.job_burst = 1;
  options_.client_burst = 1000;
  Start();
  for (int i = 0; i < 500; ++i) Discover({.token = "wrong\x1b[31m", .address = "10.6.6.6"});
  EXPECT_THAT(metrics_.Render(), HasSubstr("refused_total{reason=\"wrong token\"} 500\n"));
  EXPECT_LE(lines_.size(), 10U);
  ASSERT_FALSE(lines_.empty());
  EXPECT_THAT(lines_.front(), HasSubstr("wrong token job=default/job client=10.6.6.6"));
  const std::string token = options_.keys->Seal({"default", "job", "uid", 0});
  EXPECT_EQ(*Discover({.token = token, .address = "10.0.0.1"}), "held");
}

TEST_F(SupervisorTest, KeysMayChange) {
  options_.auth = AuthMode::kRequired;
  const TokenKeys old_keys = TokenKeys::Parse(std::string(32, 'o')).value();
  const TokenKeys new_keys = TokenKeys::Parse(std::string(32, 'n')).value();
  options_.keys = old_keys;
  Start();
  const Caller caller{.token = new_keys.Seal({"default", "job", "uid", 0})};
  EXPECT_THAT(*Discover(caller), HasSubstr("not one of this job"));
  supervisor_->UseKeys(new_keys);
  EXPECT_EQ(*Discover(caller), "held");
}

TEST(TokenKeyFileTest, IsReadAgainWhenItChanges) {
  const std::string path = ::testing::TempDir() + "token-keys";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  SimWorld world;
  std::vector<std::string> lines;
  const Logger log("test", {.sink = [&](std::string_view line) { lines.emplace_back(line); }});
  int changes = 0;
  const auto changed = [&](const TokenKeys&) { ++changes; };
  EXPECT_THAT(TokenKeyFile::Open(world.clock(), "/no/such", changed, log).error().message,
              HasSubstr("/no/such"));
  write("short");
  EXPECT_THAT(TokenKeyFile::Open(world.clock(), path, changed, log).error().message,
              HasSubstr("token-keys: line 1"));
  write(std::string(32, 'a'));
  const auto file = TokenKeyFile::Open(world.clock(), path, changed, log).value();
  const ReplicaIdentity someone{"ns", "job", "uid", 0};
  const std::string before = file->keys().Seal(someone);
  write("rubbish");
  world.clock().RunFor(minutes(1));
  EXPECT_EQ(file->keys().Seal(someone), before);
  write(std::string(32, 'b'));
  world.clock().RunFor(minutes(1));
  EXPECT_NE(file->keys().Seal(someone), before);
  EXPECT_EQ(changes, 1);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("token keys not renewed"), HasSubstr("token keys renewed")));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace adaptdl
