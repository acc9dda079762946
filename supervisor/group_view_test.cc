#include "supervisor/group_view.h"

#include "api/replica.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kForming = GroupView::State::kForming;
constexpr auto kComplete = GroupView::State::kComplete;
constexpr auto kOver = GroupView::State::kOver;

Job Running(std::int64_t group, const std::vector<std::string>& nodes) {
  Job job;
  job.metadata = {.name = "job", .name_space = "ns", .uid = "uid"};
  job.status.phase = JobPhase::kRunning;
  job.status.group = group;
  job.status.allocation = nodes;
  job.status.replicas = static_cast<std::int64_t>(nodes.size());
  return job;
}

Pod Member(std::int64_t group, std::int64_t rank, std::int64_t replicas, const std::string& ip) {
  Replica replica;
  replica.group = group;
  replica.rank = rank;
  replica.replicas = replicas;
  replica.node = "n" + std::to_string(rank);
  Pod pod;
  pod.metadata = {.name = "pod-" + std::to_string(group) + "-" + std::to_string(rank),
                  .name_space = "ns",
                  .labels = ReplicaLabels("job"),
                  .annotations = ReplicaAnnotations(replica),
                  .owner = Owner{.name = "job", .uid = "uid"}};
  pod.phase = PodPhase::kRunning;
  pod.ip = ip;
  return pod;
}

std::vector<const Pod*> Pointers(const std::vector<Pod>& pods) {
  std::vector<const Pod*> out;
  out.reserve(pods.size());
  for (const Pod& pod : pods) out.push_back(&pod);
  return out;
}

GroupView Look(const Job& job, const std::vector<Pod>& pods, std::int64_t group) {
  return LookAtGroup(&job, Pointers(pods), group);
}

TEST(GroupView, AddressesComeInTheOrderOfRanks) {
  const GroupView view = Look(Running(3, {"n0", "n1", "n2"}),
                              {Member(3, 2, 3, "10.0.0.1"), Member(3, 0, 3, "10.0.0.9"),
                               Member(3, 1, 3, "fd00::17"), Member(2, 0, 1, "10.0.0.4")},
                              3);
  EXPECT_EQ(view.state, kComplete);
  EXPECT_THAT(view.addresses, ElementsAre("10.0.0.9", "fd00::17", "10.0.0.1"));
}

// The table of docs/supervisor.md.
TEST(GroupView, EachStateHasItsAnswer) {
  struct Case {
    const char* what;
    std::function<void(Job*, std::vector<Pod>*)> change;
    GroupView::State state;
    const char* why;
  };
  const Case cases[] = {
      {"a pod without an address", [](Job*, auto* pods) { (*pods)[1].ip = ""; }, kForming,
       "1 of its 2 replicas have an address"},
      {"a pod is missing", [](Job*, auto* pods) { pods->pop_back(); }, kForming,
       "1 of its 2 replicas have an address"},
      {"no pod", [](Job*, auto* pods) { pods->clear(); }, kForming, "none of its replicas"},
      {"pods of an older group",
       [](Job*, auto* pods) {
         *pods = {Member(2, 0, 2, "a"), Member(2, 1, 2, "b")};
       },
       kForming, "none of its replicas"},
      {"the status lags behind the pods", [](Job* job, auto*) { job->status.group = 2; }, kComplete, ""},
      {"the job is new", [](Job* job, auto*) { job->status = {}; }, kComplete, ""},
      {"the group was replaced", [](Job* job, auto*) { job->status.group = 4; }, kOver,
       "group 4 has taken its place"},
      {"the job has ended", [](Job* job, auto*) { job->status.phase = JobPhase::kFailed; }, kOver, "ended"},
      {"the job goes", [](Job* job, auto*) { job->metadata.deletion_timestamp = Time(); }, kOver, "deleted"},
      {"the group is stopping", [](Job* job, auto*) { job->status.phase = JobPhase::kStopping; }, kComplete,
       ""},
      {"a replica was quick", [](Job*, auto* pods) { (*pods)[1].phase = PodPhase::kSucceeded; }, kComplete,
       ""},
      {"two of a rank", [](Job*, auto* pods) { pods->push_back(Member(3, 1, 2, "c")); }, kForming,
       "rank 1 has more than one pod"},
      {"two of a rank, one of them over",
       [](Job*, auto* pods) {
         pods->push_back(Member(3, 1, 2, "c"));
         pods->back().phase = PodPhase::kFailed;
       },
       kComplete, ""},
      {"two of a rank, one of them going",
       [](Job*, auto* pods) {
         pods->insert(pods->begin(), Member(3, 1, 2, "c"));
         pods->front().metadata.deletion_timestamp = Time();
       },
       kComplete, ""},
      {"they do not agree", [](Job*, auto* pods) { pods->push_back(Member(3, 2, 3, "c")); }, kForming,
       "do not agree"},
      {"somebody else's pod", [](Job*, auto* pods) { (*pods)[0].metadata.owner->uid = "other"; }, kForming,
       "1 of its 2 replicas have an address"},
      {"nobody's pod", [](Job*, auto* pods) { (*pods)[0].metadata.owner.reset(); }, kForming, "1 of its 2"},
      {"a pod with rubbish for a rank",
       [](Job*, auto* pods) { (*pods)[0].metadata.annotations["adaptdl/rank"] = "0x0"; }, kForming,
       "1 of its 2"},
  };
  for (const Case& one : cases) {
    Job job = Running(3, {"n0", "n1"});
    std::vector<Pod> pods = {Member(3, 0, 2, "a"), Member(3, 1, 2, "b")};
    one.change(&job, &pods);
    const GroupView view = Look(job, pods, 3);
    EXPECT_EQ(view.state, one.state) << one.what;
    EXPECT_THAT(view.why, HasSubstr(one.why)) << one.what;
    if (view.state != kComplete) continue;
    EXPECT_THAT(view.addresses, ElementsAre("a", "b")) << one.what;
  }
  EXPECT_EQ(LookAtGroup(nullptr, {}, 0).state, kForming);
}

TEST(GroupView, TellsWhyAGroupEnds) {
  struct Case {
    std::function<void(Job*, std::vector<Pod>*)> change;
    std::optional<std::string> why;
  };
  const Case cases[] = {
      {[](Job*, auto*) {}, std::nullopt},
      {[](Job* job, auto*) { job->status.phase = JobPhase::kStarting; }, std::nullopt},
      {[](Job*, auto* pods) { pods->clear(); }, std::nullopt},
      {[](Job* job, auto*) { job->status.group = 2; }, std::nullopt},
      {[](Job* job, auto*) { job->status.group.reset(); }, std::nullopt},
      {[](Job* job, auto*) { job->status.allocation = {"n0"}; }, "Reallocated"},
      {[](Job* job, auto*) { job->status.allocation = {}; }, "Reallocated"},
      {[](Job* job, auto*) {
         job->status.allocation = {"n0", "n2"};
       },
       "Reallocated"},
      {[](Job* job, auto*) { job->spec.suspend = true; }, "Suspended"},
      {[](Job* job, auto*) { job->status.phase = JobPhase::kStopping; }, "Stopping"},
      {[](Job* job, auto*) {
         job->status.phase = JobPhase::kStopping;
         job->status.restart_reason = "Evicted";
       },
       "Evicted"},
      {[](Job* job, auto*) { job->status.phase = JobPhase::kPending; }, "Replaced"},
      {[](Job* job, auto*) { job->status.group = 4; }, "Replaced"},
      {[](Job* job, auto*) { job->status.phase = JobPhase::kSucceeded; }, "Succeeded"},
      {[](Job* job, auto*) { job->metadata.deletion_timestamp = Time(); }, "Deleted"},
  };
  int number = 0;
  for (const Case& one : cases) {
    Job job = Running(3, {"n0", "n1"});
    std::vector<Pod> pods = {Member(3, 0, 2, "a"), Member(3, 1, 2, "b")};
    one.change(&job, &pods);
    EXPECT_EQ(WhyGroupEnds(job, Pointers(pods), 3), one.why) << number;
    ++number;
  }
}

}  // namespace
}  // namespace adaptdl
