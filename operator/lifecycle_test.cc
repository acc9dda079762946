#include "operator/lifecycle.h"

#include <algorithm>

#include "api/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Time At(int second) { return ParseTime("2026-01-01T00:00:00Z").value() + seconds(second); }

// A job, its pods and what is remembered of them; decisions are looked at or carried out.
class LifecycleTest : public ::testing::Test {
 protected:
  LifecycleTest() {
    job_ = ParseJob(R"({"metadata": {"name": "j", "namespace": "ns", "uid": "u", "generation": 1},
                        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}})")
               .value();
  }

  Decision Look() {
    JobView view{.job = job_, .pods = {}, .hostnames = {}, .memory = memory_};
    for (const Pod& pod : pods_) view.pods.push_back(&pod);
    for (const char* node : {"a", "b", "c"}) view.hostnames[node] = std::string("host-") + node;
    return Decide(view, At(now_));
  }

  // Writes what the next decision says of the status, and what follows from that, but does nothing else.
  Decision Settle() {
    Decision decision = Look();
    for (int i = 0; i < 5 && OperatorPatch(job_.status, decision.status); ++i) {
      if (decision.status.group != job_.status.group)
        memory_ = {.group = *decision.status.group, .begun = true};
      for (const JobEvent& event : decision.events) told_.push_back(event.reason);
      job_.status = decision.status;
      decision = Look();
    }
    return decision;
  }

  Pod MakePod(std::int64_t group, std::int64_t rank, const std::string& node, std::int64_t replicas) {
    Pod pod;
    pod.metadata.name = PodName(job_, group, rank);
    pod.metadata.uid = pod.metadata.name + "-uid";
    pod.metadata.annotations = {{"adaptdl/group", std::to_string(group)},
                                {"adaptdl/rank", std::to_string(rank)},
                                {"adaptdl/replicas", std::to_string(replicas)},
                                {"adaptdl/node", node}};
    pod.phase = PodPhase::kRunning;
    pod.node_name = node;
    pod.container_statuses = {{"main", true, {}, ""}};
    return pod;
  }

  // Brings the job to where its group runs on these nodes.
  void Run(const std::vector<std::string>& nodes) {
    job_.status.allocation = nodes;
    const Decision start = Settle();
    for (const Replica& one : start.create) {
      memory_.asked[one.rank] = At(now_);
      memory_.seen.insert(one.rank);
      pods_.push_back(MakePod(one.group, one.rank, one.node, one.replicas));
    }
    Settle();
    ASSERT_EQ(job_.status.phase, JobPhase::kRunning);
  }

  void EndPod(std::size_t index, int code, const std::string& reason = "") {
    pods_[index].phase = code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed;
    pods_[index].reason = reason;
    pods_[index].container_statuses = {{"main", false, code, code == 0 ? "Completed" : "Error"}};
  }

  std::string RunningReason() const {
    const Condition* condition = FindCondition(job_.status.conditions, "Running");
    return condition == nullptr ? "" : condition->status + " " + condition->reason;
  }

  Job job_;
  std::vector<Pod> pods_;
  GroupMemory memory_;
  int now_ = 0;
  std::vector<std::string> told_;  // Events.
};

std::vector<std::int64_t> Ranks(const std::vector<Replica>& replicas) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(replicas.size());
  for (const Replica& one : replicas) ranks.push_back(one.rank);
  return ranks;
}

TEST_F(LifecycleTest, FirstSightMakesItPending) {
  const Decision decision = Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kPending);
  EXPECT_EQ(job_.status.observed_generation, 1);
  EXPECT_FALSE(job_.status.group);
  EXPECT_EQ(RunningReason(), "False Pending");
  EXPECT_FALSE(decision.again_after) << "nobody polls";
}

TEST_F(LifecycleTest, AllocationStartsTheFirstGroup) {
  Settle();
  job_.status.allocation = {"a", "a", "b"};
  const Decision decision = Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kStarting);
  EXPECT_EQ(job_.status.group, 0);
  EXPECT_EQ(job_.status.replicas, 3);
  EXPECT_EQ(job_.status.start_timestamp, At(0));
  ASSERT_THAT(Ranks(decision.create), ElementsAre(0, 1, 2));
  EXPECT_EQ(decision.create[2].hostname, "host-b");
  EXPECT_EQ(decision.create[2].nodes, 2);
  EXPECT_EQ(decision.create[2].replicas, 3);
}

TEST_F(LifecycleTest, WaitsForANodeThatIsNotThere) {
  job_.status.allocation = {"a", "z"};
  EXPECT_THAT(Settle().create, IsEmpty());
  EXPECT_EQ(job_.status.phase, JobPhase::kPending);
  EXPECT_EQ(RunningReason(), "False NodeGone");
}

TEST_F(LifecycleTest, RunsWhenNoReplicaIsPendingAnyMore) {
  job_.status.allocation = {"a", "b"};
  Settle();
  memory_.asked = {{0, At(0)}, {1, At(0)}};
  memory_.seen = {0, 1};
  pods_ = {MakePod(0, 0, "a", 2), MakePod(0, 1, "b", 2)};
  pods_[1].phase = PodPhase::kPending;
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kStarting);
  pods_[1].phase = PodPhase::kRunning;
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kRunning);
  EXPECT_EQ(job_.status.ready_replicas, 2);
  EXPECT_EQ(RunningReason(), "True Running");
}

// The pods of a group are made by the process that began it, and by no other.
TEST_F(LifecycleTest, SomebodyElsesGroupIsNotCompleted) {
  job_.status.allocation = {"a", "b"};
  Settle();
  memory_ = {.group = 0};
  Decision decision = Look();
  EXPECT_THAT(decision.create, IsEmpty());
  EXPECT_THAT(decision.look_for, ElementsAre(0, 1));
  memory_.gone = {1};
  memory_.asked = {{0, At(0)}, {1, At(0)}};
  decision = Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
  EXPECT_EQ(job_.status.restart_reason, "PodMissing");
}

TEST_F(LifecycleTest, EveryReplicaIsAskedForOnce) {
  job_.status.allocation = {"a", "b"};
  Settle();
  memory_.asked = {{0, At(0)}};
  EXPECT_THAT(Ranks(Look().create), ElementsAre(1));
  memory_.asked[1] = At(0);
  const Decision waits = Look();
  EXPECT_THAT(waits.create, IsEmpty());
  EXPECT_THAT(waits.look_for, IsEmpty());
  EXPECT_TRUE(waits.again_after);
  now_ = 20;  // Neither has come into view.
  EXPECT_THAT(Look().create, IsEmpty());
  EXPECT_THAT(Look().look_for, ElementsAre(0, 1));
}

TEST_F(LifecycleTest, NewAllocationStopsAndThenStarts) {
  struct Case {
    const char* name;
    std::vector<std::string> allocation;
  };
  for (const Case& c :
       std::vector<Case>{{"more", {"a", "b", "c"}}, {"fewer", {"a"}}, {"elsewhere", {"a", "c"}}}) {
    SCOPED_TRACE(c.name);
    job_.status = {};
    memory_ = {};
    pods_.clear();
    now_ = 0;
    Run({"a", "b"});
    now_ = 100;
    job_.status.allocation = c.allocation;
    const Decision stop = Settle();
    EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
    EXPECT_EQ(job_.status.restart_reason, "Reallocated");
    EXPECT_EQ(job_.status.attained_replica_seconds, 200);
    EXPECT_THAT(stop.remove, SizeIs(2));
    EXPECT_THAT(stop.create, IsEmpty());

    for (Pod& pod : pods_) pod.metadata.deletion_timestamp = At(130);
    EXPECT_THAT(Settle().remove, IsEmpty()) << "told once";
    pods_.pop_back();
    EXPECT_THAT(Settle().create, IsEmpty()) << "the other one still runs";
    pods_.clear();
    const Decision start = Settle();
    EXPECT_EQ(job_.status.phase, JobPhase::kStarting);
    EXPECT_EQ(job_.status.group, 1);
    EXPECT_THAT(start.create, SizeIs(c.allocation.size()));
    EXPECT_THAT(told_, IsEmpty()) << "the scheduler tells about that";
  }
}

TEST_F(LifecycleTest, WithoutAllocationItStopsAndWaits) {
  Run({"a"});
  job_.status.allocation.clear();
  Settle();
  pods_.clear();
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kPending);
  EXPECT_EQ(job_.status.replicas, 0);
  EXPECT_EQ(job_.status.group, 0);
  EXPECT_EQ(RunningReason(), "False Pending");
}

// A cache that does not show a pod proves nothing, unless it has shown it before.
TEST_F(LifecycleTest, NextGroupWaitsUntilTheServerSaysThatAllAreGone) {
  Run({"a", "b"});
  job_.status.allocation = {"c"};
  Settle();
  pods_.clear();
  memory_ = {.group = 0, .seen = {0}};  // A restart in between: rank 1 was never seen.
  const Decision ask = Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
  EXPECT_THAT(ask.remove, ElementsAre(PodDeletion{PodName(job_, 0, 1), "", 1}));
  memory_.asked[1] = At(now_);
  EXPECT_THAT(Settle().remove, IsEmpty());
  EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
  memory_.gone = {1};
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kStarting);
}

TEST_F(LifecycleTest, AnOlderViewThanItsPodsIsNotActedOn) {
  Run({"a"});
  pods_ = {MakePod(1, 0, "b", 1)};
  const Decision decision = Look();
  EXPECT_FALSE(OperatorPatch(job_.status, decision.status));
  EXPECT_THAT(decision.remove, IsEmpty());
  EXPECT_THAT(decision.look_for, IsEmpty());
}

TEST_F(LifecycleTest, StraysGoBeforeReplicasCome) {
  Run({"a"});
  job_.status.allocation = {"b"};
  Settle();
  const Pod old = pods_[0];
  pods_.clear();
  Settle();
  ASSERT_EQ(job_.status.phase, JobPhase::kStarting);
  pods_ = {old};
  const Decision decision = Look();
  EXPECT_THAT(decision.create, IsEmpty());
  EXPECT_THAT(decision.remove, SizeIs(1));
}

TEST_F(LifecycleTest, EndsOfPodsDecideTheEnd) {
  struct Case {
    const char* name;
    std::vector<int> codes;  // -1: still runs.
    const char* pod_reason;
    bool preemptible;
    JobPhase phase;
    const char* reason;  // Of the end, or of the restart.
  };
  const Case cases[] = {
      {"all succeed", {0, 0}, "", true, JobPhase::kSucceeded, ""},
      {"one succeeds", {0, -1}, "", true, JobPhase::kRunning, ""},
      {"an exit code", {1, -1}, "", true, JobPhase::kFailed, "PodFailure"},
      {"the other one", {-1, 2}, "", true, JobPhase::kFailed, "PodFailure"},
      {"one of each", {0, 1}, "", true, JobPhase::kFailed, "PodFailure"},
      {"told to stop", {143, -1}, "", true, JobPhase::kStopping, "Preempted"},
      {"told to stop, and a failure", {143, 1}, "", true, JobPhase::kFailed, "PodFailure"},
      {"told to stop after the other was done", {0, 143}, "", true, JobPhase::kStopping, "Preempted"},
      {"not preemptible", {143, -1}, "", false, JobPhase::kFailed, "PodFailure"},
      {"evicted", {137, -1}, "Evicted", true, JobPhase::kStopping, "Evicted"},
      {"evicted, not preemptible", {137, -1}, "Evicted", false, JobPhase::kStopping, "Evicted"},
      {"not admitted", {1, -1}, "UnexpectedAdmissionError", true, JobPhase::kStopping, "Preempted"},
      {"no room", {1, -1}, "OutOfnvidia.com/gpu", true, JobPhase::kStopping, "Preempted"},
      {"no room, as once spelled", {1, -1}, "Outofcpu", true, JobPhase::kStopping, "Preempted"},
      {"not admitted, not preemptible",
       {1, -1},
       "UnexpectedAdmissionError",
       false,
       JobPhase::kFailed,
       "PodFailure"},
      {"node shut down", {1, -1}, "NodeShutdown", true, JobPhase::kStopping, "NodeShutdown"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    job_.status = {};
    job_.spec.preemptible = c.preemptible;
    memory_ = {};
    pods_.clear();
    Run({"a", "b"});
    for (std::size_t i = 0; i < c.codes.size(); ++i) {
      if (c.codes[i] >= 0) EndPod(i, c.codes[i], i == 0 ? c.pod_reason : "");
    }
    Settle();
    EXPECT_EQ(job_.status.phase, c.phase);
    EXPECT_EQ(c.phase == JobPhase::kStopping ? job_.status.restart_reason.value_or("")
                                             : job_.status.reason.value_or(""),
              c.reason);
  }
}

TEST_F(LifecycleTest, SuccessClearsUp) {
  Run({"a", "b"});
  now_ = 50;
  EndPod(0, 0);
  EndPod(1, 0);
  const Decision after = Settle();
  EXPECT_EQ(job_.status.completion_timestamp, At(50));
  EXPECT_THAT(job_.status.allocation, IsEmpty());
  EXPECT_EQ(job_.status.replicas, 0);
  EXPECT_EQ(job_.status.attained_replica_seconds, 100);
  EXPECT_EQ(FindCondition(job_.status.conditions, "Succeeded")->status, "True");
  EXPECT_EQ(RunningReason(), "False Succeeded");
  EXPECT_THAT(after.remove, SizeIs(2));
}

TEST_F(LifecycleTest, FailureKeepsTheFailedPodsAndSaysWhy) {
  Run({"a", "b"});
  EndPod(1, 3);
  pods_[1].container_statuses[0].message = "out of data";
  const Decision after = Settle();
  EXPECT_EQ(job_.status.message, "replica 1 on b: exit code 3 in container main: out of data");
  EXPECT_EQ(FindCondition(job_.status.conditions, "Failed")->status, "True");
  ASSERT_THAT(after.remove, SizeIs(1));
  EXPECT_EQ(after.remove[0].name, PodName(job_, 0, 0));
  EXPECT_THAT(told_, ElementsAre("PodFailure"));
}

TEST_F(LifecycleTest, TerminalPhasesStay) {
  for (const JobPhase phase : {JobPhase::kSucceeded, JobPhase::kFailed}) {
    job_.status = {.phase = phase};
    job_.status.completion_timestamp = At(0);
    job_.status.group = 0;
    job_.status.allocation = {"a"};  // A scheduler that has not seen it yet.
    job_.spec.suspend = true;
    pods_ = {MakePod(0, 0, "a", 1)};
    EndPod(0, 1);
    const Decision decision = Settle();
    EXPECT_EQ(job_.status.phase, phase);
    EXPECT_THAT(job_.status.allocation, IsEmpty());
    EXPECT_THAT(decision.create, IsEmpty());
    EXPECT_FALSE(decision.again_after);
  }
}

TEST_F(LifecycleTest, AReplicaThatLostItsPeerIsNoFailure) {
  const auto lose = [&](int how) {
    if (how == 0) pods_[0].metadata.deletion_timestamp = At(30);
    if (how == 1) pods_[0].phase = PodPhase::kUnknown;
    if (how == 2) pods_.erase(pods_.begin());
    if (how == 3) EndPod(0, 137, "Evicted");
  };
  for (const int how : {0, 1, 2, 3}) {
    SCOPED_TRACE(how);
    job_.status = {};
    pods_.clear();
    memory_ = {};
    Run({"a", "b"});
    EndPod(1, 1);
    lose(how);
    Settle();
    EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
    EXPECT_EQ(job_.status.failures, 0);
  }
}

TEST_F(LifecycleTest, BackoffLimitAnswersFailuresWithNewGroups) {
  job_.spec.backoff_limit = 2;
  std::vector<std::int64_t> delays;
  for (int failure = 1; failure <= 2; ++failure) {
    Run({"a"});
    EndPod(0, 1);
    Settle();
    ASSERT_EQ(job_.status.phase, JobPhase::kStopping);
    EXPECT_EQ(job_.status.failures, failure);
    pods_.clear();
    const Decision waits = Settle();
    EXPECT_EQ(job_.status.phase, JobPhase::kPending);
    ASSERT_TRUE(waits.again_after);
    delays.push_back(waits.again_after->count());
    now_ += static_cast<int>(waits.again_after->count());
  }
  EXPECT_THAT(delays, ElementsAre(10, 20));
  Run({"a"});
  EndPod(0, 1);
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kFailed);
  EXPECT_EQ(job_.status.reason, "PodFailure");
}

TEST_F(LifecycleTest, WhatCannotStartIsToldOnceAndGivenUp) {
  job_.spec.start_timeout_seconds = 60;
  job_.status.allocation = {"a"};
  for (int group = 0; group < 3; ++group) {
    SCOPED_TRACE(group);
    Settle();
    ASSERT_EQ(job_.status.phase, JobPhase::kStarting);
    ASSERT_EQ(job_.status.group, group);
    memory_.asked[0] = At(now_);
    memory_.seen = {0};
    pods_ = {MakePod(group, 0, "a", 1)};
    pods_[0].phase = PodPhase::kPending;
    pods_[0].container_statuses = {{"main", false, {}, "ErrImagePull", "no such image"}};
    now_ += 5;
    told_.clear();
    const Decision decision = Settle();
    EXPECT_EQ(RunningReason(), "False ImagePullBackOff");
    EXPECT_EQ(FindCondition(job_.status.conditions, "Running")->message,
              "replica 0 on a: ImagePullBackOff: no such image");
    EXPECT_EQ(decision.again_after, seconds(55));
    pods_[0].container_statuses[0] = {"main", false, {}, "ImagePullBackOff", "back-off"};
    Settle();
    EXPECT_THAT(told_, ElementsAre("ImagePullBackOff"));
    now_ += 55;
    Settle();
    if (group == 2) break;
    EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
    EXPECT_EQ(job_.status.restart_reason, "StartTimeout");
    EXPECT_EQ(job_.status.start_timeouts, group + 1);
    pods_.clear();
    const Decision waits = Settle();
    EXPECT_EQ(job_.status.phase, JobPhase::kPending);
    ASSERT_TRUE(waits.again_after);
    now_ += static_cast<int>(waits.again_after->count());
  }
  EXPECT_EQ(job_.status.phase, JobPhase::kFailed);
  EXPECT_EQ(job_.status.reason, "StartTimeout");
  EXPECT_THAT(*job_.status.message, HasSubstr("no such image"));
}

TEST_F(LifecycleTest, ZeroSecondsToStartAreForEver) {
  job_.spec.start_timeout_seconds = 0;
  job_.status.allocation = {"a"};
  Settle();
  memory_.asked[0] = At(0);
  memory_.seen = {0};
  pods_ = {MakePod(0, 0, "a", 1)};
  pods_[0].phase = PodPhase::kPending;
  pods_[0].unschedulable = "0/3 nodes are available";
  now_ = 1'000'000;
  EXPECT_FALSE(Settle().again_after);
  EXPECT_EQ(RunningReason(), "False Unschedulable");
}

TEST_F(LifecycleTest, ARunBetweenTwoStartTimeoutsCounts) {
  job_.status.start_timeouts = 2;
  Run({"a"});
  EXPECT_EQ(job_.status.start_timeouts, 0);
}

TEST_F(LifecycleTest, ASilentPodIsAskedAbout) {
  job_.status.allocation = {"a"};
  Settle();
  memory_.asked[0] = At(0);
  memory_.seen = {0};
  pods_ = {MakePod(0, 0, "a", 1)};
  pods_[0].phase = PodPhase::kPending;
  pods_[0].container_statuses = {{"main", false, {}, "ContainerCreating", ""}};
  now_ = 29;
  EXPECT_FALSE(Settle().inquire);
  now_ = 30;
  EXPECT_EQ(Settle().inquire, (Inquiry{0, pods_[0].metadata.uid}));
  memory_.inquired = At(30);
  EXPECT_FALSE(Settle().inquire);
  memory_.told[0] = {"FailedMount", "no such claim"};
  Settle();
  EXPECT_EQ(RunningReason(), "False FailedMount");
  EXPECT_THAT(told_, ElementsAre("FailedMount"));
}

TEST_F(LifecycleTest, APodThatIsRefusedFailsTheJobOrIsTriedAgain) {
  job_.status.allocation = {"a"};
  Settle();
  memory_.refused = "exceeded quota";
  now_ = 5;
  EXPECT_THAT(Settle().create, SizeIs(1));
  EXPECT_EQ(RunningReason(), "False PodRefused");
  now_ = 600;
  Settle();
  EXPECT_EQ(job_.status.restart_reason, "StartTimeout");
  pods_.clear();
  memory_.gone = {0};
  Settle();
  now_ = 700;
  EXPECT_THAT(Settle().create, SizeIs(1));
  memory_.refused = "spec.containers[0].image: Required value";
  memory_.refused_for_good = true;
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kFailed);
  EXPECT_EQ(job_.status.reason, "InvalidPod");
  EXPECT_EQ(job_.status.message, "spec.containers[0].image: Required value");
}

TEST_F(LifecycleTest, SuspendReleasesAndResumes) {
  Run({"a"});
  job_.spec.suspend = true;
  job_.metadata.generation = 2;
  EXPECT_THAT(Settle().remove, SizeIs(1));
  EXPECT_EQ(job_.status.phase, JobPhase::kStopping);
  EXPECT_EQ(job_.status.observed_generation, 2);
  pods_.clear();
  EXPECT_FALSE(Settle().again_after);
  EXPECT_EQ(job_.status.phase, JobPhase::kPending);
  EXPECT_EQ(FindCondition(job_.status.conditions, "Suspended")->status, "True");
  EXPECT_EQ(RunningReason(), "False Suspended");
  job_.spec.suspend = false;
  EXPECT_THAT(Settle().create, SizeIs(1));
  EXPECT_EQ(FindCondition(job_.status.conditions, "Suspended")->status, "False");
}

TEST_F(LifecycleTest, DeadlineEndsItWhereverItIs) {
  job_.spec.active_deadline_seconds = 100;
  EXPECT_FALSE(Settle().again_after) << "it counts from the first start";
  now_ = 500;
  Run({"a"});
  EXPECT_EQ(Look().again_after, seconds(100));
  now_ = 600;
  EXPECT_THAT(Settle().remove, SizeIs(1));
  EXPECT_EQ(job_.status.phase, JobPhase::kFailed);
  EXPECT_EQ(job_.status.reason, "DeadlineExceeded");
}

TEST_F(LifecycleTest, TtlDeletesTheJob) {
  job_.spec.ttl_seconds_after_finished = 30;
  Run({"a"});
  EndPod(0, 0);
  EXPECT_EQ(Settle().again_after, seconds(30));
  EXPECT_FALSE(Look().delete_job);
  now_ = 30;
  EXPECT_TRUE(Look().delete_job);
}

TEST_F(LifecycleTest, NothingIsDoneForAJobThatIsBeingDeleted) {
  Run({"a"});
  job_.metadata.deletion_timestamp = At(0);
  job_.status.allocation = {"b", "c"};
  const Decision decision = Look();
  EXPECT_FALSE(OperatorPatch(job_.status, decision.status));
  EXPECT_THAT(decision.remove, IsEmpty());
}

TEST_F(LifecycleTest, AShortLifeIsFollowedByAPause) {
  Run({"a"});
  now_ = 2;
  EndPod(0, 143);
  Settle();
  pods_.clear();
  EXPECT_EQ(Settle().again_after, seconds(10));
  now_ = 12;
  Run({"a"});
  now_ = 500;
  EndPod(0, 143);
  Settle();
  pods_.clear();
  EXPECT_THAT(Settle().create, SizeIs(1)) << "at once";
}

TEST_F(LifecycleTest, AnEndedReplicaIsKeptInViewUntilAllHaveEnded) {
  Run({"a", "b"});
  EndPod(0, 0);
  job_.status.allocation = {"c"};
  const Decision stop = Settle();
  ASSERT_THAT(stop.remove, SizeIs(1));
  EXPECT_EQ(stop.remove[0].rank, -1);
  EXPECT_EQ(stop.remove[0].name, PodName(job_, 0, 1));
  EndPod(1, 0);
  Settle();
  EXPECT_EQ(job_.status.phase, JobPhase::kSucceeded) << "it was done before it could stop";
}

TEST_F(LifecycleTest, AStopThatTakesLongSaysWhatItWaitsFor) {
  Run({"a"});
  job_.status.allocation = {"b"};
  Settle();
  pods_[0].metadata.deletion_timestamp = At(30);
  EXPECT_EQ(Settle().again_after, seconds(120));
  now_ = 120;
  Settle();
  EXPECT_EQ(RunningReason(), "False Stopping");
  EXPECT_THAT(FindCondition(job_.status.conditions, "Running")->message, HasSubstr("on a has not ended yet"));
}

TEST_F(LifecycleTest, ConditionsOfOthersAreKept) {
  job_.status.conditions = {{.type = "Scheduled", .status = "True"}};
  Run({"a"});
  EXPECT_EQ(FindCondition(job_.status.conditions, "Scheduled")->status, "True");
}

}  // namespace
}  // namespace adaptdl
