// From a job that is submitted to replicas that know each other and report, and how a supervisor ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "nlohmann/json.hpp"
#include "tests/e2e/supervisor_fixture.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class SupervisorLife : public SupervisorTest {
 protected:
  void SetUp() override {
    SupervisorTest::SetUp();
    if (IsSkipped()) return;
    supervisor_ = &StartSupervisor();
    StartOperatorWith(supervisor_->url());
  }

  SupervisorProgram* supervisor_ = nullptr;
};

TEST_F(SupervisorLife, ReplicasFindEachOtherAndTheFirstReports) {
  Run("train", {"played-2", "played-0", "played-1"});
  ASSERT_TRUE(Eventually([&] { return StatusOf("train").ready_replicas == 3; }));
  const auto environments = EnvironmentsOf("train");
  ASSERT_THAT(environments, SizeIs(3));
  for (const auto& environment : environments) {
    EXPECT_THAT(environment.at("ADAPTDL_SUPERVISOR_URL"), StartsWith(supervisor_->url() + "/t/"));
  }
  json before = Shown("train");
  EXPECT_FALSE(before.at("status").contains("train"));

  const auto trainers = StartTrainers("train");
  ExpectToFind(trainers, AddressesOf("train"));
  EXPECT_THAT(trainers[0]->output(), HasSubstr(R"(hints 200 {"result":"taken"})"));
  EXPECT_THAT(AddressesOf("train"), Each(testing::Not(IsEmpty())));

  ASSERT_TRUE(EventuallyReported("train", 512));
  json after = Shown("train");
  EXPECT_EQ(after.at("status").at("train"), json::parse(TestTrainer::RecordedHints()));
  after.at("status").erase("train");
  for (json* shown : {&before, &after}) {
    shown->at("metadata").erase("resourceVersion");
    shown->at("metadata").erase("managedFields");
  }
  EXPECT_EQ(after, before);
}

TEST_F(SupervisorLife, APollIsHeldUntilEveryReplicaHasAnAddress) {
  RunWithoutAddresses("train", {"played-0", "played-1"});
  const auto trainers = StartTrainers("train");
  ASSERT_TRUE(Eventually([&] { return supervisor_->Metric("adaptdl_supervisor_polls") == 2; }));
  GiveAddress("train", 1, "10.1.0.1");
  const std::string target = "/discover/" + name_space_ + "/train/0?timeout=0";
  const std::string token = "Authorization: Bearer " + TokenIn(EnvironmentsOf("train")[0]) + "\r\n";
  ASSERT_TRUE(Eventually([&] {
    return ErrorIn(Request(*supervisor_, "GET", target, token)) == "1 of its 2 replicas have an address";
  }));
  for (const auto& trainer : trainers) EXPECT_THAT(trainer->output(), IsEmpty());
  GiveAddress("train", 0, "10.1.0.0");
  ExpectToFind(trainers, {"10.1.0.0", "10.1.0.1"});
}

TEST_F(SupervisorLife, OfAGroupThatIsOverNothingIsTaken) {
  std::vector<std::int64_t> stored;
  jobs_->Subscribe([&](const Key&, const Job*, const Job* job) {
    if (job == nullptr || !job->status.train) return;
    const std::int64_t size = job->status.train->global_batch_size.value_or(0);
    if (stored.empty() || stored.back() != size) stored.push_back(size);
  });
  Run("train", {"played-0", "played-1"});
  const TestTrainer before(EnvironmentsOf("train")[0]);
  EXPECT_EQ(before.PutHints(HintsWith(600)).status, 200);
  ASSERT_TRUE(EventuallyReported("train", 600));

  Allocate("train", {"played-2", "played-3", "played-3"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, 1));
  ExpectToFind(StartTrainers("train"), AddressesOf("train"));
  ASSERT_TRUE(EventuallyReported("train", 512));
  const TestTrainer::Answer refused = before.PutHints(HintsWith(700));
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.body, R"({"error":"a later group of this job has begun"})");

  // By the time that a later one is there, the other would have been.
  const TestTrainer after(EnvironmentsOf("train")[0]);
  EXPECT_EQ(after.PutHints(HintsWith(800)).status, 200);
  ASSERT_TRUE(EventuallyReported("train", 800));
  EXPECT_THAT(stored, ElementsAre(600, 512, 800));
}

TEST_F(SupervisorLife, OfAJobThatIsOverNothingIsTaken) {
  Run("train", {"played-0"});
  const TestTrainer trainer(EnvironmentsOf("train")[0]);
  EndReplica(ReplicasOf("train")[0], 0);
  ASSERT_TRUE(Eventually([&] { return StatusOf("train").phase == JobPhase::kSucceeded; }));
  ASSERT_TRUE(Eventually([&] { return trainer.PutHints(HintsWith(600)).status == 409; }));
  // Another one of that name is another job.
  Kubectl({"delete", "adljob", "train"});
  Run("train", {"played-1"});
  const std::string uid = Find("train")->metadata.uid;
  EXPECT_EQ(TestTrainer(EnvironmentsOf("train")[0]).PutHints(HintsWith(700)).status, 200);
  EXPECT_EQ(trainer.PutHints(HintsWith(800)).status, 409);
  ASSERT_TRUE(EventuallyReported("train", 700));
}

TEST_F(SupervisorLife, WhatIsInHandIsFinishedBeforeItEnds) {
  SupervisorProgram& slow = StartSupervisor({"--limits.hint-writes", "0.1"});
  RunWithoutAddresses("train", {"played-0", "played-1"});
  const auto environments = EnvironmentsOf("train");
  std::vector<std::unique_ptr<TestClient>> polls;
  for (const auto& environment : environments) {
    polls.push_back(std::make_unique<TestClient>(slow.port()));
    polls.back()->Send("GET /t/" + TokenIn(environment) + "/discover/" + name_space_ +
                       "/train/0 HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  // They come faster than they may be written.
  const std::string hints = "/t/" + TokenIn(environments[0]) + "/hints/" + name_space_ + "/train";
  std::int64_t size = 600;
  ASSERT_TRUE(Eventually([&] {
    if (slow.Metric("adaptdl_supervisor_hints_waiting") == 1) return true;
    EXPECT_EQ(Request(slow, "PUT", hints, "", HintsWith(++size)).status, 200);
    return false;
  }));
  ASSERT_TRUE(Eventually([&] { return slow.Metric("adaptdl_supervisor_polls") == 2; }));
  slow.process().Signal(SIGTERM);
  for (const auto& poll : polls) {
    const TestReply reply = poll->Read();
    EXPECT_EQ(reply.status, 408);
    EXPECT_EQ(ErrorIn(reply), "the supervisor is about to end");
    EXPECT_THAT(reply.head, HasSubstr("Connection: close\r\n"));
    poll->Close();
  }
  EXPECT_EQ(slow.process().Wait(), 0);
  EXPECT_EQ(Shown("train").at("status").at("train").at("globalBatchSize"), size);
}

}  // namespace
}  // namespace adaptdl
