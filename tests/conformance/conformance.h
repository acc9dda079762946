// What cluster/cluster.h promises, as tests that run on every cluster. A program instantiates the suite with
// the cluster it brings:
//   INSTANTIATE_TEST_SUITE_P(Sim, Conformance, testing::Values(&MakeSimulated));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/cluster_under_test.h"

namespace adaptdl {

// A watch that keeps what came. A busy server may end a stream at any time; then it goes on from where it
// was.
struct Recording {
  std::vector<WatchEvent> events;  // Without bookmarks.
  std::optional<Error> end;        // That nothing can go on from.
  std::string resource_version;
  std::unique_ptr<Watch> watch;
};

class Conformance : public testing::TestWithParam<MakeCluster> {
 protected:
  void SetUp() override;

  Cluster& cluster() { return under_test_->cluster(); }
  Clock& clock() { return under_test_->clock(); }
  const std::string& name_space() const { return name_space_; }
  bool RunUntil(const std::function<bool()>& holds) { return under_test_->RunUntil(holds); }
  void ForgetHistory() { under_test_->ForgetHistory(); }

  // The port's methods, run to their end. "No answer" fails the test.
  Result<Object> Get(const Ref& ref);
  Result<Page> List(const Query& query, std::size_t limit = 0, const std::string& token = "");
  Result<Object> Create(Kind kind, const std::string& json);
  Result<Object> Apply(const Patch& patch);
  Result<void> Delete(const Deletion& deletion);
  Result<void> CheckTemplate(const std::string& json);
  std::unique_ptr<Recording> Record(const Query& query, const std::string& resource_version);
  void GoOn(const Query& query, Recording* recording);
  bool RunUntilGone(const Ref& ref);

  // Objects of this test's namespace.
  Ref JobRef(const std::string& name) const { return {Kind::kJob, {name_space_, name}}; }
  Ref PodRef(const std::string& name) const { return {Kind::kPod, {name_space_, name}}; }
  Query Jobs() const { return {.kind = Kind::kJob, .name_space = name_space_}; }
  Query Pods() const { return {.kind = Kind::kPod, .name_space = name_space_}; }
  std::string JobJson(const std::string& name, const std::string& metadata = "",
                      const std::string& spec = "") const;
  // With `annotations` as JSON members, `selector` as that of its node selector.
  std::string PodJson(const std::string& name, const std::string& annotations = "",
                      const std::string& selector = "") const;
  Patch StatusPatch(const std::string& name, const std::string& json,
                    std::string resource_version = {}) const;
  Patch MainPatch(const Ref& ref, const std::string& json, std::string resource_version = {}) const;

 private:
  template <typename T>
  Result<T> Await(const std::function<void(Done<T>)>& call);

  std::unique_ptr<ClusterUnderTest> under_test_;
  std::string name_space_;
};

// The story of pods on nodes, as a watch tells it.
class PodStory : public Conformance {
 protected:
  void SetUp() override;
  void TearDown() override;

  using Has = std::function<bool(const WatchEvent& event, const Pod& pod)>;
  // Runs until the watch has told of a state of `name` that has what is asked for; the last such state.
  Pod Await(const std::string& name, const Has& has);
  Pod AwaitPhase(const std::string& name, PodPhase phase);

 private:
  std::unique_ptr<Recording> recording_;
};

// "added a", ...: what happened, in its order.
std::vector<std::string> Story(const std::vector<WatchEvent>& events);

}  // namespace adaptdl
