// The suite on a real API server, and the same random calls on it and on the simulated one.
#include "cluster/kube/kube_cluster.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/differential.h"
#include "tests/conformance/sim_under_test.h"
#include "tests/conformance/supervisor_conformance.h"
#include "tests/e2e/testbed.h"

namespace adaptdl {
namespace {

class KubeUnderTest final : public ClusterUnderTest {
 public:
  explicit KubeUnderTest(std::unique_ptr<Testbed> testbed)
      : testbed_(std::move(testbed)),
        cluster_(
            ConnectToKubernetes(testbed_->Connection(), {.requests_per_second = 1000, .burst = 1000}, loop_)
                .value()) {}
  ~KubeUnderTest() override {
    if (!name_space_.empty()) testbed_->Kubectl({"delete", "namespace", "--wait=false", name_space_});
  }

  Cluster& cluster() override { return *cluster_; }
  Clock& clock() override { return loop_; }
  bool RunUntil(const std::function<bool()>& holds) override {
    return loop_.RunUntil(holds, std::chrono::seconds(120));
  }
  std::string name_space() override {
    if (name_space_.empty()) name_space_ = testbed_->MakeNamespace();
    return name_space_;
  }
  void ForgetHistory() override { testbed_->Do({"compact"}); }

 private:
  std::unique_ptr<Testbed> testbed_;
  EventLoop loop_;
  std::unique_ptr<Cluster> cluster_;
  std::string name_space_;
};

Result<std::unique_ptr<ClusterUnderTest>> MakeKube() {
  return Testbed::Shared().map([](std::unique_ptr<Testbed>&& testbed) -> std::unique_ptr<ClusterUnderTest> {
    return std::make_unique<KubeUnderTest>(std::move(testbed));
  });
}

INSTANTIATE_TEST_SUITE_P(Kube, Conformance, testing::Values(&MakeKube));
INSTANTIATE_TEST_SUITE_P(Kube, PodStory, testing::Values(&MakeKube));
INSTANTIATE_TEST_SUITE_P(Kube, SupervisorTable, testing::Values(&MakeKube));

// The simulation can be believed where nobody can tell it from the real thing.
class Differential : public testing::TestWithParam<int> {};

TEST_P(Differential, SimulationAnswersAsKubernetesDoes) {
  const auto kube = MakeKube();
  if (!kube && kube.error().code == ErrorCode::kNotFound) GTEST_SKIP() << kube.error().message;
  ASSERT_TRUE(kube.has_value()) << kube.error().message;
  const auto sim = MakeSimulated();
  const auto seed = static_cast<std::uint64_t>(GetParam());
  EXPECT_EQ(Play(**sim, seed, 120), Play(**kube, seed, 120)) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Kube, Differential, testing::Range(1, 13));

}  // namespace
}  // namespace adaptdl
