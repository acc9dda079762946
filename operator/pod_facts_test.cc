#include "operator/pod_facts.h"

#include "gtest/gtest.h"

namespace adaptdl {
namespace {

Pod Failed(std::vector<ContainerStatus> containers, std::string reason = "", std::string message = "") {
  Pod pod;
  pod.phase = PodPhase::kFailed;
  pod.reason = std::move(reason);
  pod.message = std::move(message);
  pod.container_statuses = std::move(containers);
  return pod;
}

TEST(PodFacts, HowItFailed) {
  EXPECT_EQ(HowItFailed(Failed({{"main", false, 1, "Error"}})), "exit code 1 in container main");
  EXPECT_EQ(HowItFailed(Failed({{"side", false, 0, "Completed"}, {"main", false, 137, "OOMKilled"}})),
            "exit code 137 in container main (OOMKilled)");
  EXPECT_EQ(HowItFailed(Failed({}, "Evicted", "low on memory")), "Evicted: low on memory");
  EXPECT_EQ(HowItFailed(Failed({})), "failed");
  Pod init = Failed({{"main", false, {}, "PodInitializing"}});
  init.init_container_statuses = {{"prepare", false, 2, "Error", "no data"}};
  EXPECT_EQ(HowItFailed(init), "exit code 2 in container prepare: no data");
}

TEST(PodFacts, WhyBlocked) {
  struct Case {
    const char* waiting;
    const char* message;
    const char* unschedulable;
    const char* expected;
  };
  const Case cases[] = {
      {"", "", "", "-"},
      {"ContainerCreating", "", "", "-"},
      {"PodInitializing", "", "", "-"},
      {"ErrImagePull", "not found", "", "ImagePullBackOff not found"},
      {"ImagePullBackOff", "back-off", "", "ImagePullBackOff back-off"},
      {"InvalidImageName", "bad", "", "InvalidImageName bad"},
      {"CreateContainerConfigError", "secret \"s\" not found", "",
       "CreateContainerConfigError secret \"s\" not found"},
      {"", "", "0/4 nodes are available", "Unschedulable 0/4 nodes are available"},
  };
  for (const Case& c : cases) {
    Pod pod;
    pod.unschedulable = c.unschedulable;
    if (*c.waiting != 0) pod.container_statuses = {{"main", false, {}, c.waiting, c.message}};
    const auto blockage = WhyBlocked(pod);
    EXPECT_EQ(blockage ? blockage->reason + " " + blockage->message : "-", c.expected);
    pod.phase = PodPhase::kRunning;
    EXPECT_FALSE(WhyBlocked(pod));
  }
}

TEST(PodFacts, InitContainersBlockToo) {
  Pod pod;
  pod.init_container_statuses = {{"a", false, 0, "Completed"}, {"b", false, {}, "ErrImagePull", "gone"}};
  pod.container_statuses = {{"main", false, {}, "PodInitializing", ""}};
  EXPECT_EQ(WhyBlocked(pod), (Blockage{"ImagePullBackOff", "gone"}));
}

TEST(PodFacts, WhyLost) {
  Pod pod;
  pod.phase = PodPhase::kRunning;
  EXPECT_FALSE(WhyLost(pod));
  pod.metadata.deletion_timestamp = Time();
  EXPECT_EQ(WhyLost(pod), "PodDeleted");
  pod.phase = PodPhase::kSucceeded;
  EXPECT_FALSE(WhyLost(pod)) << "it was done before";
  EXPECT_EQ(WhyLost(Failed({}, "Evicted")), "Evicted");
  EXPECT_FALSE(WhyLost(Failed({}, "OutOfcpu")));
}

TEST(PodFacts, ReadyMeansAllContainers) {
  Pod pod;
  pod.phase = PodPhase::kRunning;
  EXPECT_FALSE(IsReady(pod));
  pod.container_statuses = {{"a", true, {}, ""}, {"b", false, {}, ""}};
  EXPECT_FALSE(IsReady(pod));
  pod.container_statuses[1].ready = true;
  EXPECT_TRUE(IsReady(pod));
}

}  // namespace
}  // namespace adaptdl
