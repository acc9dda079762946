#include "cluster/sim/sim_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cluster/sim/sim_testing.h"

namespace adaptdl {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::PodNamed;
using testing::PodRef;

class SimNodesTest : public ::testing::Test {
 protected:
  SimNodesTest() {
    nodes_.Add("n0");
    nodes_.Add("n1");
  }

  void Create(const std::string& name, const std::string& annotations = "", const std::string& spec = "") {
    const std::string metadata = annotations.empty() ? "" : R"(, "annotations": {)" + annotations + "}";
    ASSERT_TRUE(world_.server().Create(Kind::kPod, PodNamed(name, metadata, spec), world_.clock().Wall()));
  }
  void Delete(const std::string& name, std::optional<seconds> grace = {}) {
    ASSERT_TRUE(world_.server().Delete({PodRef(name), {}, grace}, world_.clock().Wall()));
  }
  void RunFor(Duration time) { world_.clock().RunFor(time); }
  bool Exists(const std::string& name) { return world_.server().Get(PodRef(name)).has_value(); }
  Pod Get(const std::string& name) {
    return std::get<Pod>(world_.server().Get(PodRef(name)).value()->object);
  }

  // The phases, and exit codes, that a pod went through, in order.
  std::vector<std::string> Course(const std::string& name) {
    std::vector<std::string> course;
    const Query query{.kind = Kind::kPod, .name_space = "", .labels = {}};
    const Result<std::vector<WatchEvent>> events = world_.server().Since(query, 0);
    for (const WatchEvent& event : *events) {
      const auto& pod = std::get<Pod>(*event.object);
      if (pod.metadata.name != name) continue;
      std::string state(ToString(pod.phase));
      if (!pod.container_statuses.empty() && pod.container_statuses[0].exit_code) {
        state += " " + std::to_string(*pod.container_statuses[0].exit_code);
      }
      if (event.type == WatchEvent::Type::kDeleted) state = "gone";
      if (course.empty() || course.back() != state) course.push_back(state);
    }
    return course;
  }

  SimWorld world_;
  SimNodes nodes_{world_};
};

TEST_F(SimNodesTest, APodRunsWithAnAddressOfItsOwn) {
  Create("a");
  Create("b");
  RunFor(seconds(10));
  for (const char* name : {"a", "b"}) {
    const Pod pod = Get(name);
    EXPECT_EQ(pod.phase, PodPhase::kRunning);
    EXPECT_FALSE(pod.node_name.empty());
    ASSERT_EQ(pod.container_statuses.size(), 1U);
    EXPECT_TRUE(pod.container_statuses[0].ready);
  }
  EXPECT_NE(Get("a").ip, Get("b").ip);
}

TEST_F(SimNodesTest, AnnotationsDecideACourse) {
  Create("succeeds", R"("played/run": "5")");
  Create("fails", R"("played/run": "5", "played/exit": "7")");
  Create("evicted", R"("played/evict": "5")");
  Create("stuck", R"("played/stuck": "ImagePullBackOff")");
  Create("slow", R"("played/start": "100")");
  RunFor(seconds(60));
  EXPECT_THAT(Course("succeeds"), ElementsAre("Pending", "Running", "Succeeded 0"));
  EXPECT_THAT(Course("fails"), ElementsAre("Pending", "Running", "Failed 7"));
  EXPECT_THAT(Course("evicted"), ElementsAre("Pending", "Running", "Failed 137"));
  EXPECT_EQ(Get("evicted").reason, "Evicted");
  EXPECT_EQ(Get("stuck").phase, PodPhase::kPending);
  EXPECT_EQ(Get("stuck").container_statuses[0].reason, "ImagePullBackOff");
  EXPECT_EQ(Get("slow").phase, PodPhase::kPending);
  RunFor(seconds(60));
  EXPECT_EQ(Get("slow").phase, PodPhase::kRunning);
}

TEST_F(SimNodesTest, AStoppedPodTakesItsTimeAndThenGoes) {
  Create("plain");
  Create("polite", R"("played/term": "0", "played/grace": "20")");
  Create("stubborn", R"("played/grace": "1000")");
  RunFor(seconds(10));
  for (const char* name : {"plain", "polite", "stubborn"}) Delete(name);
  RunFor(seconds(10));
  EXPECT_FALSE(Exists("plain"));
  EXPECT_TRUE(Exists("polite"));
  EXPECT_TRUE(Exists("stubborn"));
  RunFor(seconds(12));
  EXPECT_FALSE(Exists("polite"));
  EXPECT_TRUE(Exists("stubborn"));
  RunFor(seconds(12));
  EXPECT_FALSE(Exists("stubborn"));
  EXPECT_THAT(Course("plain"), ElementsAre("Pending", "Running", "Failed 143", "gone"));
  EXPECT_THAT(Course("polite"), ElementsAre("Pending", "Running", "Succeeded 0", "gone"));
  EXPECT_THAT(Course("stubborn"), ElementsAre("Pending", "Running", "Failed 137", "gone"));
}

TEST_F(SimNodesTest, ASecondDeletionMayShortenTheWait) {
  Create("a", R"("played/grace": "25")");
  RunFor(seconds(10));
  Delete("a");
  RunFor(seconds(1));
  Delete("a", seconds(5));
  RunFor(seconds(7));
  EXPECT_THAT(Course("a"), ElementsAre("Pending", "Running", "Failed 137", "gone"));
}

TEST_F(SimNodesTest, APodGoesWhereItsSelectorSaysAndOnlyWhereThereIsRoom) {
  for (const char* name : {"a", "b", "c"}) {
    const Document pod =
        testing::Parsed(R"({"metadata": {"namespace": "default", "name": ")" + std::string(name) +
                        R"("}, "spec": {"nodeSelector": {"kubernetes.io/hostname": "n1"}, "containers": [
            {"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}})");
    ASSERT_TRUE(world_.server().Create(Kind::kPod, pod, world_.clock().Wall()));
  }
  Create("nowhere", "", R"(, "nodeSelector": {"kubernetes.io/hostname": "n7"})");
  RunFor(seconds(10));
  EXPECT_EQ(Get("a").node_name, "n1");
  EXPECT_EQ(Get("b").node_name, "n1");
  EXPECT_EQ(Get("c").node_name, "") << "four GPUs are taken";
  EXPECT_EQ(Get("nowhere").node_name, "");
  Delete("a");
  nodes_.Add("n7");
  RunFor(seconds(10));
  EXPECT_EQ(Get("c").node_name, "n1");
  EXPECT_EQ(Get("nowhere").node_name, "n7");
}

TEST_F(SimNodesTest, PodsOfAVanishedNodeAreLostAndCollected) {
  Create("a", R"("played/run": "30")", R"(, "nodeSelector": {"kubernetes.io/hostname": "n0"})");
  Create("b", "", R"(, "nodeSelector": {"kubernetes.io/hostname": "n1"})");
  RunFor(seconds(10));
  nodes_.Vanish("n0");
  EXPECT_THAT(nodes_.Present(), ElementsAre("n1"));
  RunFor(seconds(35));
  EXPECT_EQ(Get("a").phase, PodPhase::kRunning) << "nobody is there to say anything else";
  RunFor(seconds(30));
  EXPECT_FALSE(Exists("a"));
  EXPECT_TRUE(Exists("b"));
  nodes_.Return("n0");
  Create("c", "", R"(, "nodeSelector": {"kubernetes.io/hostname": "n0"})");
  RunFor(seconds(10));
  EXPECT_EQ(Get("c").phase, PodPhase::kRunning);
}

}  // namespace
}  // namespace adaptdl
