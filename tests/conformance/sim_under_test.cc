#include "tests/conformance/sim_under_test.h"

#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_world.h"

namespace adaptdl {

namespace {

class SimUnderTest final : public ClusterUnderTest {
 public:
  SimUnderTest() {
    for (const char* name : {"played-0", "played-1", "played-2"}) nodes_.Add(name);
  }

  Cluster& cluster() override { return world_.admin(); }
  Clock& clock() override { return world_.clock(); }
  bool RunUntil(const std::function<bool()>& holds) override {
    return world_.clock().RunUntil(holds, std::chrono::minutes(10));
  }
  std::string name_space() override { return "test"; }
  void ForgetHistory() override { world_.server().ForgetHistory(); }

 private:
  SimWorld world_;
  SimNodes nodes_{world_};
};

}  // namespace

Result<std::unique_ptr<ClusterUnderTest>> MakeSimulated() { return std::make_unique<SimUnderTest>(); }

}  // namespace adaptdl
