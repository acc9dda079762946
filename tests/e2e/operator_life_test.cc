// The life of a job on a real API server: from `kubectl apply` to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace adaptdl
