// The operator on a simulated cluster, without faults: those are in tests/scenarios.
#include "operator/operator.h"

#include <memory>
#include <string>

#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_testing.h"
#include "cluster/sim/sim_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OperatorTest : public ::testing::Test {
 protected:
  OperatorTest() : nodes_(world_), made_(OperatorMetrics::Make(metrics_).value()) {
    for (const char* name : {"n0", "n1"}) nodes_.Add(name);
    AddOperator("operator-a");
  }

  void AddOperator(const std::string& name) {
    world_.AddProcess(name, [this, name](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
      OperatorOptions options;
      options.election = {.lease = {"system", "operator"}, .identity = name};
      options.pods = pods_;
      return std::make_shared<Operator>(
          clock, cluster, options,
          Logger("operator", {.sink = [this](std::string_view line) { log_ += std::string(line) + "\n"; }}),
          made_);
    });
  }

  void Submit(const std::string& name, const json& spec = json::object(),
              const json& annotations = json::object()) {
    json job = {{"metadata", {{"name", name}, {"namespace", "ns"}}},
                {"spec",
                 {{"template",
                   {{"metadata", {{"annotations", annotations}}},
                    {"spec", {{"containers", {{{"name", "main"}, {"image", "i"}}}}}}}}}}};
    job["spec"].merge_patch(spec);
    ASSERT_TRUE(world_.server().Create(Kind::kJob, Document(job), world_.clock().Wall()));
  }

  void Allocate(const std::string& name, const std::vector<std::string>& nodes) {
    Patch(name, {{"allocation", nodes}});
  }
  void Patch(const std::string& name, const json& status) {
    ASSERT_TRUE(world_.server().Apply({.ref = Ref{Kind::kJob, {"ns", name}},
                                       .part = Patch::Part::kStatus,
                                       .merge = Document(json{{"status", status}})},
                                      world_.clock().Wall()));
  }

  Job At(const std::string& name) {
    return std::get<Job>(world_.server().Get({Kind::kJob, {"ns", name}}).value()->object);
  }
  bool RunUntil(const std::string& name, JobPhase phase, Duration limit = minutes(5)) {
    return world_.clock().RunUntil([&] { return At(name).status.phase == phase; }, limit);
  }

  template <typename T>
  std::vector<T> All() {
    std::vector<T> all;
    const Page page = world_.server().List({.kind = kKindOf<T>}, 0, "").value();
    for (const Object& object : page.objects) {
      all.push_back(std::get<T>(object));
    }
    return all;
  }
  // How often the trace has that.
  std::size_t Calls(const std::string& what) const {
    std::size_t count = 0;
    for (auto at = world_.trace().find(what); at != std::string::npos;
         at = world_.trace().find(what, at + 1)) {
      ++count;
    }
    return count;
  }
  std::vector<std::string> Events() {
    std::vector<std::string> all;
    for (const Event& event : All<Event>()) all.push_back(event.reason + ": " + event.message);
    return all;
  }

  SimWorld world_;
  SimNodes nodes_;
  PodSettings pods_;
  Metrics metrics_;
  OperatorMetrics made_;
  std::string log_;
};

TEST_F(OperatorTest, TakesAJobFromItsAllocationToItsEnd) {
  Submit("a", json::object(), {{"played/run", "60"}});
  ASSERT_TRUE(RunUntil("a", JobPhase::kPending));
  Allocate("a", {"n0", "n1", "n1"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kRunning));
  EXPECT_THAT(All<Pod>(), SizeIs(3));
  world_.clock().RunFor(seconds(10));
  EXPECT_EQ(At("a").status.ready_replicas, 3);
  ASSERT_TRUE(RunUntil("a", JobPhase::kSucceeded));
  world_.clock().RunFor(minutes(1));
  EXPECT_THAT(All<Pod>(), IsEmpty());
  EXPECT_THAT(Events(), IsEmpty());
  const std::string metrics = metrics_.Render();
  EXPECT_THAT(metrics, HasSubstr("\nadaptdl_sched_job_submission_count 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\nadaptdl_sched_job_submission_count_total 1\n"));
  EXPECT_THAT(metrics, HasSubstr("adaptdl_sched_job_completion_time_count{status=\"Succeeded\"} 1\n"));
}

// The server looks through all events for each such question: a slow cluster is not to be slowed down by it.
TEST_F(OperatorTest, AsksLittleAboutManySilentPods) {
  for (int i = 0; i < 60; ++i) {
    Submit("slow-" + std::to_string(i), json::object(), {{"played/start", "400"}});
    Allocate("slow-" + std::to_string(i), {"n0"});
  }
  world_.clock().RunFor(seconds(90));
  const std::size_t lists = Calls("LIST Event");
  EXPECT_GE(lists, 4U);
  EXPECT_LE(lists, 4U + 60 / 2);
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(RunUntil("slow-" + std::to_string(i), JobPhase::kRunning, minutes(10)));
}

// Events about one pod that goes make the operator look at its peers, whose going it has not seen yet.
TEST_F(OperatorTest, DeletesEachPodOnce) {
  Submit("a", json::object(), {{"played/grace", "3"}});
  Allocate("a", std::vector<std::string>(16, "n0"));
  ASSERT_TRUE(RunUntil("a", JobPhase::kRunning));
  Allocate("a", {"n1"});
  ASSERT_TRUE(world_.clock().RunUntil([&] { return At("a").status.group == 1; }, minutes(2)));
  EXPECT_EQ(Calls("operator-a DELETE Pod"), 16U);
}

TEST_F(OperatorTest, MovesAJobThroughItsCheckpoint) {
  Submit("a", json::object(), {{"played/grace", "3"}});
  Allocate("a", {"n0"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kRunning));
  Allocate("a", {"n0", "n1"});
  ASSERT_TRUE(world_.clock().RunUntil([&] { return At("a").status.replicas == 2; }, minutes(1)));
  ASSERT_TRUE(RunUntil("a", JobPhase::kRunning));
  EXPECT_EQ(At("a").status.group, 1);
  EXPECT_EQ(At("a").status.restart_reason, "Reallocated");
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_sched_job_restarts_total{reason=\"Reallocated\"} 1\n"));
}

TEST_F(OperatorTest, WhatTheServerNeverTakesFailsTheJob) {
  Submit("a", {{"template", {{"spec", {{"containers", {{{"name", "main"}}}}}}}}});
  Allocate("a", {"n0"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kFailed));
  EXPECT_EQ(At("a").status.reason, "InvalidPod");
  EXPECT_THAT(*At("a").status.message, HasSubstr("image"));
}

TEST_F(OperatorTest, WhatCannotBeBuiltFailsTheJob) {
  Submit("a", {{"template", {{"spec", {{"containers", "none"}}}}}});
  Allocate("a", {"n0"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kFailed));
  EXPECT_EQ(At("a").status.reason, "InvalidPod");
  EXPECT_THAT(*At("a").status.message, HasSubstr("spec.template.spec.containers"));
}

TEST_F(OperatorTest, OneEventForAStartThatIsStuck) {
  Submit("a", {{"startTimeoutSeconds", 120}}, {{"played/stuck", "CreateContainerConfigError"}});
  Allocate("a", {"n0", "n1"});
  world_.clock().RunFor(seconds(100));
  EXPECT_THAT(Events(),
              ElementsAre("CreateContainerConfigError: replica 0 on n0: CreateContainerConfigError: "
                          "played: it never starts"));
  ASSERT_TRUE(RunUntil("a", JobPhase::kFailed, minutes(10)));
  EXPECT_EQ(At("a").status.reason, "StartTimeout");
  EXPECT_EQ(At("a").status.group, 2);
}

TEST_F(OperatorTest, WordsOfTheNodeComeFromEventsWhereThePodIsSilent) {
  Submit("a", json::object(), {{"played/start", "500"}});
  Allocate("a", {"n0"});
  ASSERT_TRUE(world_.clock().RunUntil([&] { return !All<Pod>().empty(); }, minutes(1)));
  Event event;
  event.metadata = {.name = "e", .name_space = "ns"};
  event.about = {"v1", "Pod", "p", All<Pod>().front().metadata.uid};
  event.warning = true;
  event.reason = "FailedMount";
  event.message = "persistentvolumeclaim \"data\" not found";
  ASSERT_TRUE(world_.server().Create(Kind::kEvent, Document(Encode(event)), world_.clock().Wall()));
  world_.clock().RunFor(minutes(1));
  EXPECT_THAT(FindCondition(At("a").status.conditions, "Running")->message,
              HasSubstr("FailedMount: persistentvolumeclaim \"data\" not found"));
}

TEST_F(OperatorTest, AJobThatCannotBeReadIsTold) {
  Submit("a", {{"minReplicas", 5}, {"maxReplicas", 2}});
  world_.clock().RunFor(seconds(30));
  EXPECT_THAT(Events(), ElementsAre("Unreadable: spec.maxReplicas: 2 is below minReplicas, 5"));
}

TEST_F(OperatorTest, NodesThatComeLaterAreNoticed) {
  Submit("a");
  Allocate("a", {"later"});
  world_.clock().RunFor(minutes(1));
  EXPECT_EQ(At("a").status.phase, JobPhase::kPending);
  nodes_.Add("later");
  EXPECT_TRUE(RunUntil("a", JobPhase::kRunning));
}

TEST_F(OperatorTest, NobodysFieldsAreOverwritten) {
  Submit("a");
  Patch("a",
        {{"train", {{"initBatchSize", 128}}}, {"conditions", {{{"type", "Scheduled"}, {"status", "True"}}}}});
  Allocate("a", {"n0"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kRunning));
  EXPECT_EQ(At("a").status.train->init_batch_size, 128);
  EXPECT_THAT(At("a").status.allocation, ElementsAre("n0"));
  EXPECT_NE(FindCondition(At("a").status.conditions, "Scheduled"), nullptr);
}

TEST_F(OperatorTest, TheOtherOneTakesOver) {
  AddOperator("operator-b");
  Submit("a");
  Allocate("a", {"n0"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kRunning));
  world_.Crash("operator-a");
  Allocate("a", {"n1"});
  ASSERT_TRUE(world_.clock().RunUntil([&] { return At("a").status.group == 1; }, minutes(2)));
  EXPECT_TRUE(RunUntil("a", JobPhase::kRunning));
}

TEST_F(OperatorTest, TtlDeletesTheJob) {
  Submit("a", {{"ttlSecondsAfterFinished", 60}}, {{"played/run", "1"}});
  Allocate("a", {"n0"});
  ASSERT_TRUE(RunUntil("a", JobPhase::kSucceeded));
  world_.clock().RunFor(seconds(70));
  EXPECT_THAT(All<Job>(), IsEmpty());
}

// Untrusted words stay on their line.
TEST_F(OperatorTest, LogsAreSafe) {
  Submit("a", {{"template", {{"spec", {{"containers", {{{"name", "main"}, {"image", "i"}}}}}}}}},
         {{"played/stuck", "Bad\nReason"}});
  Allocate("a", {"n0"});
  world_.clock().RunFor(minutes(15));
  EXPECT_THAT(log_, ::testing::Not(HasSubstr("Bad\nReason")));
}

}  // namespace
}  // namespace adaptdl
