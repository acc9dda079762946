// The life of a job on a real API server: from `kubectl apply` to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>

#include "api/event.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/operator_fixture.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class OperatorLife : public OperatorTest {
 protected:
  void SetUp() override {
    OperatorTest::SetUp();
    if (!IsSkipped()) operator_ = &StartOperator();
  }

  // Submits it, and brings it to run on these nodes.
  void Run(const std::string& name, const std::vector<std::string>& nodes, const JobText& text) {
    Submit(name, text);
    Allocate(name, nodes);
    ASSERT_TRUE(EventuallyIn(name, JobPhase::kRunning, 0));
  }
  void Run(const std::string& name, const std::vector<std::string>& nodes) { Run(name, nodes, {}); }

  json Events(const std::string& name, const std::string& reason) const {
    return json::parse(Kubectl({"get", "events", "-o", "json", "--field-selector",
                                "involvedObject.name=" + name + ",reason=" + reason}))
        .at("items");
  }

  ChildProgram* operator_ = nullptr;
};

// The contract with those who write training code and dashboards.
TEST_F(OperatorLife, ReplicasAreWhatUsersRelyOn) {
  Submit("train");
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kPending, -1));
  EXPECT_THAT(ReplicasOf("train"), IsEmpty());
  Allocate("train", {"played-1", "played-0", "played-1"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, 0));
  Kubectl({"wait", "--for=condition=Running", "adljob/train", "--timeout=60s"});

  const std::string uid = Find("train")->metadata.uid;
  const json pods =
      json::parse(Kubectl({"get", "pods", "-l", "adaptdl/job=train", "-o", "json"})).at("items");
  ASSERT_EQ(pods.size(), 3);
  const char* nodes[] = {"played-1", "played-0", "played-1"};
  for (int rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    const json& pod = pods[static_cast<std::size_t>(rank)];
    const json& metadata = pod.at("metadata");
    EXPECT_EQ(metadata.at("name"), "train-" + uid + "-0-" + number);
    EXPECT_EQ(metadata.at("labels"),
              (json{{"adaptdl", "true"}, {"adaptdl/job", "train"}, {"petuum.com/nodegroup", "all"}}));
    EXPECT_EQ(metadata.at("annotations"), (json{{"adaptdl/group", "0"},
                                                {"adaptdl/rank", number},
                                                {"adaptdl/replicas", "3"},
                                                {"adaptdl/node", nodes[rank]}}));
    EXPECT_EQ(metadata.at("ownerReferences"), (json{{{"apiVersion", "adaptdl.petuum.com/v1"},
                                                     {"kind", "AdaptDLJob"},
                                                     {"name", "train"},
                                                     {"uid", uid},
                                                     {"controller", true},
                                                     {"blockOwnerDeletion", true}}}));
    const json& spec = pod.at("spec");
    EXPECT_EQ(spec.at("hostname"), "train-0-" + number);
    EXPECT_EQ(spec.at("restartPolicy"), "Never");
    EXPECT_EQ(spec.at("nodeSelector"), (json{{"kubernetes.io/hostname", nodes[rank]}}));
    EXPECT_EQ(spec.at("nodeName"), nodes[rank]);
    const json& container = spec.at("containers")[0];
    std::map<std::string, std::string> environment;
    for (const json& entry : container.at("env")) environment[entry.at("name")] = entry.value("value", "");
    environment.erase("ADAPTDL_SCHED_VERSION");
    EXPECT_EQ(environment, (std::map<std::string, std::string>{{"ADAPTDL_JOB_ID", name_space_ + "/train"},
                                                               {"ADAPTDL_MASTER_PORT", "47000"},
                                                               {"ADAPTDL_NUM_NODES", "2"},
                                                               {"ADAPTDL_NUM_REPLICAS", "3"},
                                                               {"ADAPTDL_NUM_RESTARTS", "0"},
                                                               {"ADAPTDL_REPLICA_RANK", number},
                                                               {"ADAPTDL_SUPERVISOR_URL", ""},
                                                               {"NVIDIA_VISIBLE_DEVICES", "none"}}));
    EXPECT_EQ(container.at("volumeMounts")[0].at("mountPath"), "/dev/shm");
    EXPECT_EQ(spec.at("volumes")[0], (json{{"name", "adaptdl-shm"}, {"emptyDir", {{"medium", "Memory"}}}}));
  }
}

TEST_F(OperatorLife, ChangesItsSizeOneGroupAfterTheOther) {
  // They take a moment to stop, so that a hasty successor would meet them.
  Run("train", {"played-0", "played-1"}, {.annotations = R"("played/grace": "0.5")"});
  const std::vector<std::vector<std::string>> steps = {
      {"played-0", "played-1", "played-2", "played-2"}, {"played-3"}, {"played-4"}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto group = static_cast<std::int64_t>(i) + 1;
    Allocate("train", steps[i]);
    ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, group));
    std::vector<std::string> nodes;
    for (const Pod& pod : ReplicasOf("train")) {
      EXPECT_EQ(GroupOf(pod), group);
      nodes.push_back(pod.node_name);
    }
    EXPECT_EQ(nodes, steps[i]);
    EXPECT_EQ(StatusOf("train").restart_reason, "Reallocated");
    EXPECT_EQ(StatusOf("train").replicas, static_cast<std::int64_t>(nodes.size()));
  }
}

TEST_F(OperatorLife, SucceedsWhenEveryReplicaHas) {
  Run("train", {"played-0", "played-1"});
  const std::vector<Pod> pods = ReplicasOf("train");
  ASSERT_THAT(pods, SizeIs(2));
  EndReplica(pods[1], 0);
  ASSERT_TRUE(Eventually([&] { return StatusOf("train").ready_replicas == 1; }));
  EXPECT_EQ(StatusOf("train").phase, JobPhase::kRunning);
  EndReplica(pods[0], 0);
  ASSERT_TRUE(Eventually([&] { return StatusOf("train").phase == JobPhase::kSucceeded; }));
  Kubectl({"wait", "--for=condition=Succeeded", "adljob/train", "--timeout=60s"});
  ASSERT_TRUE(Eventually([&] { return ReplicasOf("train").empty(); }));
  const JobStatus status = StatusOf("train");
  EXPECT_TRUE(status.completion_timestamp.has_value());
  EXPECT_THAT(status.allocation, IsEmpty());
  EXPECT_EQ(status.replicas, 0);
  EXPECT_THAT(Kubectl({"get", "adljob", "train", "--no-headers"}), HasSubstr("Succeeded"));
}

TEST_F(OperatorLife, FailsByTheFaultOfOneReplica) {
  Run("train", {"played-0", "played-1", "played-2"});
  EndReplica(ReplicasOf("train")[1], 3);
  ASSERT_TRUE(Eventually([&] { return StatusOf("train").phase == JobPhase::kFailed; }));
  Kubectl({"wait", "--for=condition=Failed", "adljob/train", "--timeout=60s"});
  EXPECT_EQ(StatusOf("train").reason, "PodFailure");
  EXPECT_THAT(StatusOf("train").message.value_or(""),
              AllOf(HasSubstr("replica 1 on played-1"), HasSubstr("exit code 3 in container main")));
  ASSERT_TRUE(Eventually([&] { return ReplicasOf("train").size() == 1; }));
  EXPECT_EQ(RankOf(ReplicasOf("train")[0]), 1) << "the one that failed is what people want to look at";
  EXPECT_THAT(Events("train", "PodFailure"), SizeIs(1));
}

// What befalls replicas without their own doing, or is allowed to happen: the job goes on with a new group.
TEST_F(OperatorLife, GoesOnAfterDisruptions) {
  struct Case {
    const char* name;
    JobText text;
    std::function<void(const std::string& name)> befall;
    const char* reason;
    std::int64_t failures;
  };
  const auto exit = [this](int code) {
    return [this, code](const std::string& name) {
      ASSERT_TRUE(EventuallyIn(name, JobPhase::kRunning, 0));
      EndReplica(ReplicasOf(name)[1], code);
    };
  };
  const auto nothing = [](const std::string&) {};
  const std::vector<Case> cases = {
      {"told-to-stop", {}, exit(143), "Preempted", 0},
      {"failed-once", {.spec = R"("backoffLimit": 1)"}, exit(3), "PodFailure", 1},
      {"evicted", {.annotations = R"("played/evict": "0.5")"}, nothing, "Evicted", 0},
      {"not-admitted",
       {.annotations = R"("played/reject": "UnexpectedAdmissionError")"},
       nothing,
       "Preempted",
       0},
      {"deleted",
       {},
       [this](const std::string& name) {
         ASSERT_TRUE(EventuallyIn(name, JobPhase::kRunning, 0));
         Kubectl({"delete", "pod", ReplicasOf(name)[0].metadata.name});
       },
       "PodDeleted",
       0},
  };
  // All at once, as each waits a while before its next group.
  for (const Case& one : cases) {
    Submit(one.name, one.text);
    Allocate(one.name, {"played-0", "played-1"});
    one.befall(one.name);
  }
  for (const Case& one : cases) {
    ASSERT_TRUE(Eventually([&] { return StatusOf(one.name).group.value_or(0) >= 1; })) << one.name;
    EXPECT_EQ(StatusOf(one.name).restart_reason, one.reason) << one.name;
    EXPECT_EQ(StatusOf(one.name).failures, one.failures) << one.name;
    EXPECT_THAT(Events(one.name, one.reason), SizeIs(testing::Ge(1))) << one.name;
  }
  // One failure was allowed, not two.
  ASSERT_TRUE(EventuallyIn("failed-once", JobPhase::kRunning, 1));
  EndReplica(ReplicasOf("failed-once")[0], 3);
  ASSERT_TRUE(EventuallyIn("failed-once", JobPhase::kFailed, 1));
}

TEST_F(OperatorLife, DeletedWhileItStarts) {
  Submit("train", {.annotations = R"("played/start": "1000")"});
  Allocate("train", {"played-0", "played-1", "played-2", "played-3"});
  ASSERT_TRUE(Eventually([&] { return !ReplicasOf("train").empty(); }));
  Kubectl({"delete", "adljob", "train"});
  EXPECT_TRUE(Eventually([&] { return Find("train") == nullptr && replicas_->size() == 0; }));
  // Another one by that name has nothing of the first.
  Run("train", {"played-0"});
}

TEST_F(OperatorLife, SuspendedAndResumed) {
  Run("train", {"played-0", "played-1"});
  Kubectl({"patch", "adljob", "train", "--type=merge", "-p", R"({"spec": {"suspend": true}})"});
  Kubectl({"wait", "--for=condition=Suspended", "adljob/train", "--timeout=60s"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kPending, 0));
  EXPECT_THAT(ReplicasOf("train"), IsEmpty());
  EXPECT_EQ(ReasonOf("train"), "Suspended");
  Kubectl({"patch", "adljob", "train", "--type=merge", "-p", R"({"spec": {"suspend": false}})"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, 1));
  Kubectl({"wait", "--for=condition=Suspended=false", "adljob/train", "--timeout=60s"});
}

TEST_F(OperatorLife, EndsByTheClock) {
  Submit("short", {.spec = R"("activeDeadlineSeconds": 2, "ttlSecondsAfterFinished": 3)"});
  Allocate("short", {"played-0"});
  ASSERT_TRUE(EventuallyIn("short", JobPhase::kFailed, 0));
  EXPECT_EQ(StatusOf("short").reason, "DeadlineExceeded");
  EXPECT_TRUE(Eventually([&] { return Find("short") == nullptr && replicas_->size() == 0; }));
}

TEST_F(OperatorLife, CountsWhatItDoes) {
  // What is left of other tests does not count.
  EXPECT_EQ(EndOperator(*operator_, SIGTERM), 0);
  operator_ = &StartOperator({"--namespace", name_space_});
  Run("one", {"played-0"});
  Run("two", {"played-1"});
  Allocate("one", {"played-2"});
  ASSERT_TRUE(EventuallyIn("one", JobPhase::kRunning, 1));
  EndReplica(ReplicasOf("two")[0], 0);
  ASSERT_TRUE(EventuallyIn("two", JobPhase::kSucceeded, 0));
  EXPECT_TRUE(Eventually([&] { return Serves(*operator_, "/readyz") == "ok"; }));
  EXPECT_THAT(
      Serves(*operator_, "/metrics"),
      AllOf(HasSubstr("\nadaptdl_sched_job_submission_count 2\n"),
            HasSubstr("\nadaptdl_sched_job_completion_time_count{status=\"Succeeded\"} 1\n"),
            HasSubstr("\nadaptdl_sched_job_restarts_total{reason=\"Reallocated\"} 1\n"),
            HasSubstr("\nadaptdl_api_requests_total{code=\"201\",kind=\"Pod\",verb=\"create\"} 3\n")));
}

// What its account may do beyond what all other tests show that it must.
TEST_F(OperatorLife, HasNoMoreRightsThanItNeeds) {
  const auto may = [&](std::vector<std::string> what) {
    what.insert(what.begin(), {"auth", "can-i"});
    what.insert(what.end(), {"--as", "system:serviceaccount:adaptdl:adaptdl-operator"});
    return Server().TryKubectl(what).output;
  };
  EXPECT_EQ(may({"create", "pods", "--all-namespaces"}), "yes\n");
  const std::vector<std::vector<std::string>> forbidden = {
      {"get", "secrets", "--namespace", "adaptdl"},
      {"list", "configmaps"},
      {"delete", "nodes"},
      {"patch", "nodes"},
      {"patch", "pods"},
      {"create", "pods", "--subresource=exec"},
      {"create", "pods", "--subresource=binding"},
      {"create", "adaptdljobs"},
      {"update", "adaptdljobs"},
      {"patch", "adaptdljobs"},
      {"delete", "podtemplates"},
      {"delete", "events"},
      {"create", "leases", "--namespace", "kube-node-lease"},
      {"get", "leases/other", "--namespace", "adaptdl"},
      {"delete", "leases/adaptdl-operator", "--namespace", "adaptdl"},
      {"impersonate", "users"},
      {"create", "serviceaccounts", "--subresource=token"},
  };
  for (const auto& what : forbidden) {
    EXPECT_THAT(may(what), HasSubstr("no\n")) << what[0] << " " << what[1];
  }
}

// Jobs that get nowhere for a while. Nothing is asked of the clock, but these take their time.
class OperatorWaits : public OperatorLife {};

TEST_F(OperatorWaits, ForAnImageAndSaysSo) {
  Submit("train",
         {.spec = R"("startTimeoutSeconds": 8)", .annotations = R"("played/stuck": "ImagePullBackOff")"});
  Allocate("train", {"played-0", "played-1"});
  ASSERT_TRUE(Eventually([&] { return ReasonOf("train") == "ImagePullBackOff"; }));
  const JobStatus stuck = StatusOf("train");
  EXPECT_EQ(FindCondition(stuck.conditions, "Running")->status, "False");
  EXPECT_EQ(FindCondition(stuck.conditions, "Running")->message,
            "replica 0 on played-0: ImagePullBackOff: played/stuck: ImagePullBackOff");
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kPending, 0));
  EXPECT_EQ(StatusOf("train").restart_reason, "StartTimeout");
  EXPECT_EQ(StatusOf("train").start_timeouts, 1);
  EXPECT_THAT(ReplicasOf("train"), IsEmpty());
  EXPECT_THAT(Events("train", "ImagePullBackOff"), SizeIs(1));
  EXPECT_THAT(Events("train", "StartTimeout"), SizeIs(1));
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kStarting, 1));
}

// Of what a volume lacks only events tell.
TEST_F(OperatorWaits, ForWhatAPodIsSilentAbout) {
  Submit("train", {.annotations = R"("played/start": "1000")"});
  Allocate("train", {"played-0"});
  ASSERT_TRUE(Eventually([&] { return !ReplicasOf("train").empty(); }));
  const Metadata pod = ReplicasOf("train")[0].metadata;
  Event event;
  event.metadata = {.name = pod.name + ".1", .name_space = name_space_};
  event.about = {"v1", "Pod", pod.name, pod.uid};
  event.warning = true;
  event.reason = "FailedMount";
  event.message = "no such volume";
  cluster_->Create(Kind::kEvent, Document(Encode(event)),
                   [](const Result<Object>& result) { EXPECT_TRUE(result.has_value()); });
  ASSERT_TRUE(Eventually([&] { return ReasonOf("train") == "FailedMount"; }));
  const JobStatus status = StatusOf("train");
  EXPECT_THAT(FindCondition(status.conditions, "Running")->message, HasSubstr("no such volume"));
}

TEST_F(OperatorWaits, ForRoomInItsQuota) {
  Kubectl({"create", "quota", "small", "--hard=pods=1"});
  Submit("train");
  Allocate("train", {"played-0", "played-1"});
  ASSERT_TRUE(Eventually([&] { return ReasonOf("train") == "PodRefused"; }));
  const JobStatus refused = StatusOf("train");
  EXPECT_THAT(FindCondition(refused.conditions, "Running")->message, HasSubstr("exceeded quota: small"));
  EXPECT_EQ(refused.phase, JobPhase::kStarting);
  Kubectl({"delete", "quota", "small"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, 0));
}

// Machines that are taken away: one is drained, one is deleted from the cluster.
TEST_F(OperatorWaits, ForPodsOfNodesThatAreTakenAway) {
  Run("drained", {"played-4", "played-0"});
  Run("gone", {"played-5", "played-1"});
  Kubectl({"delete", "node", "played-5", "--wait=false"});
  Kubectl({"drain", "played-4", "--ignore-daemonsets", "--delete-emptydir-data", "--force"});
  Allocate("drained", {"played-2", "played-0"});
  Allocate("gone", {"played-1"});
  ASSERT_TRUE(EventuallyIn("gone", JobPhase::kRunning, 1));
  ASSERT_TRUE(Eventually([&] {
    const std::vector<Pod> pods = ReplicasOf("drained");
    return StatusOf("drained").phase == JobPhase::kRunning && pods.size() == 2 &&
           pods[0].node_name == "played-2";
  }));
  EXPECT_THAT(Events("drained", "PodDeleted"), SizeIs(1));
  for (const char* name : {"drained", "gone"}) EXPECT_EQ(StatusOf(name).failures, 0) << name;
  Kubectl({"uncordon", "played-4"});
}

}  // namespace
}  // namespace adaptdl
