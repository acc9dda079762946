// Pods on nodes: how they begin, run, end and go. Their course is told by annotations, on played nodes of the
// test bed as in the simulation.
#include <gmock/gmock.h>

#include "tests/conformance/conformance.h"

namespace adaptdl {
namespace {

using testing::SizeIs;

TEST_P(PodStory, RunsWithAnAddress) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a")).has_value());
  ASSERT_TRUE(Create(Kind::kPod, PodJson("b")).has_value());
  const Pod a = AwaitPhase("a", PodPhase::kRunning);
  const Pod b = AwaitPhase("b", PodPhase::kRunning);
  EXPECT_FALSE(a.node_name.empty());
  EXPECT_FALSE(a.ip.empty());
  EXPECT_NE(a.ip, b.ip);
  ASSERT_THAT(a.container_statuses, SizeIs(1));
  EXPECT_EQ(a.container_statuses[0].name, "main");
  EXPECT_TRUE(a.container_statuses[0].ready);
  EXPECT_FALSE(a.container_statuses[0].exit_code.has_value());
}

TEST_P(PodStory, GoesToTheNodeItAsksFor) {
  const Page nodes = List({.kind = Kind::kNode}).value();
  ASSERT_FALSE(nodes.objects.empty());
  const std::string host = MetadataOf(nodes.objects.back()).labels.at("kubernetes.io/hostname");
  ASSERT_TRUE(
      Create(Kind::kPod, PodJson("a", "", R"("kubernetes.io/hostname": ")" + host + "\"")).has_value());
  EXPECT_EQ(AwaitPhase("a", PodPhase::kRunning).node_name, MetadataOf(nodes.objects.back()).name);
}

TEST_P(PodStory, EndsWell) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/run": "0.1")")).has_value());
  const Pod pod = AwaitPhase("a", PodPhase::kSucceeded);
  ASSERT_THAT(pod.container_statuses, SizeIs(1));
  EXPECT_EQ(pod.container_statuses[0].exit_code, 0);
}

TEST_P(PodStory, EndsWithItsExitCode) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/run": "0.1", "played/exit": "7")")).has_value());
  const Pod pod = AwaitPhase("a", PodPhase::kFailed);
  ASSERT_THAT(pod.container_statuses, SizeIs(1));
  EXPECT_EQ(pod.container_statuses[0].exit_code, 7);
}

TEST_P(PodStory, IsEvicted) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/evict": "0.1")")).has_value());
  EXPECT_EQ(AwaitPhase("a", PodPhase::kFailed).reason, "Evicted");
}

TEST_P(PodStory, IsStuck) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/stuck": "ImagePullBackOff")")).has_value());
  const Pod pod =
      Await("a", [](const WatchEvent&, const Pod& one) { return !one.container_statuses.empty(); });
  EXPECT_EQ(pod.phase, PodPhase::kPending);
  EXPECT_EQ(pod.container_statuses[0].reason, "ImagePullBackOff");
}

TEST_P(PodStory, NoNodeNoStart) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", "", R"("kubernetes.io/hostname": "nowhere")")).has_value());
  ASSERT_TRUE(Create(Kind::kPod, PodJson("b")).has_value());
  AwaitPhase("b", PodPhase::kRunning);
  EXPECT_EQ(std::get<Pod>(Get(PodRef("a")).value()).node_name, "");
  // Nobody runs it, so nobody has to stop it.
  ASSERT_TRUE(Delete({.ref = PodRef("a")}).has_value());
  EXPECT_EQ(Get(PodRef("a")).error().code, ErrorCode::kNotFound);
}

TEST_P(PodStory, IsStoppedWithGrace) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/grace": "0.2")")).has_value());
  AwaitPhase("a", PodPhase::kRunning);
  ASSERT_TRUE(Delete({.ref = PodRef("a")}).has_value());
  const Pod leaving = Await("a", [](const WatchEvent& event, const Pod& pod) {
    return event.type == WatchEvent::Type::kModified && pod.metadata.deletion_timestamp.has_value();
  });
  EXPECT_EQ(leaving.phase, PodPhase::kRunning);
  const Pod last = Await(
      "a", [](const WatchEvent& event, const Pod&) { return event.type == WatchEvent::Type::kDeleted; });
  EXPECT_TRUE(last.metadata.deletion_timestamp.has_value());
  EXPECT_EQ(Get(PodRef("a")).error().code, ErrorCode::kNotFound);
}

TEST_P(PodStory, GoesAtOnceWithoutGrace) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/grace": "20")")).has_value());
  AwaitPhase("a", PodPhase::kRunning);
  ASSERT_TRUE(Delete({.ref = PodRef("a"), .grace = std::chrono::seconds(0)}).has_value());
  EXPECT_EQ(Get(PodRef("a")).error().code, ErrorCode::kNotFound);
}

TEST_P(PodStory, EndedPodGoesAtOnce) {
  ASSERT_TRUE(Create(Kind::kPod, PodJson("a", R"("played/run": "0.1")")).has_value());
  AwaitPhase("a", PodPhase::kSucceeded);
  ASSERT_TRUE(Delete({.ref = PodRef("a")}).has_value());
  EXPECT_TRUE(RunUntilGone(PodRef("a")));
}

TEST_P(PodStory, GoesAfterItsJob) {
  const Metadata job = MetadataOf(Create(Kind::kJob, JobJson("j")).value());
  std::string json = PodJson("a");
  const std::string reference =
      R"("ownerReferences": [{"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob",
      "name": "j", "uid": ")" +
      job.uid + R"(", "controller": true, "blockOwnerDeletion": true}], )";
  json.insert(json.find(R"("annotations")"), reference);
  ASSERT_TRUE(Create(Kind::kPod, json).has_value());
  AwaitPhase("a", PodPhase::kRunning);
  ASSERT_TRUE(Delete({.ref = JobRef("j")}).has_value());
  EXPECT_TRUE(RunUntilGone(PodRef("a")));
}

}  // namespace

}  // namespace adaptdl
