// Each fault of a plan happens, is told in the trace, and is over when the plan is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_testing.h"
#include "cluster/sim/sim_world.h"

namespace adaptdl {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::JobNamed;
using testing::Mirror;

// Ten minutes with that plan, in which jobs come and go, and time to recover. In the end the mirror shows
// what the server has, and everything that went away is back.
class Trial {
 public:
  Trial(FaultPlan plan, std::uint64_t seed)
      : world_({.seed = seed, .faults = std::move(plan)}), nodes_(world_) {
    nodes_.Add("n0");
    nodes_.Add("n1");
    world_.AddProcess("mirror", [this](Clock& clock, Cluster& cluster) {
      auto mirror = std::make_shared<Mirror>(clock, cluster, Kind::kJob);
      mirror_ = mirror;
      return mirror;
    });
    for (int i = 0; i < 100; ++i) {
      world_.admin().Create(Kind::kJob, JobNamed("j" + std::to_string(i)), [](auto) {});
      world_.clock().RunFor(seconds(6));
      if (i % 2 == 1) {
        world_.admin().Delete({.ref = {Kind::kJob, {"default", "j" + std::to_string(i)}}}, [](auto) {});
      }
    }
    world_.clock().RunFor(minutes(2));
  }

  // Empty where all is well.
  std::string Complaint() {
    const std::shared_ptr<Mirror> mirror = mirror_.lock();
    if (mirror == nullptr) return "the process does not run";
    const Page page = world_.server().List({Kind::kJob, "", {}}, 0, "").value();
    if (page.objects.size() != 50) return "jobs are missing";
    if (mirror->objects().size() != page.objects.size()) return "the mirror has another number of jobs";
    for (const Object& object : page.objects) {
      if (mirror->objects().at(KeyOf(MetadataOf(object))) != object) return "the mirror shows something else";
    }
    if (nodes_.Present().size() != 2) return "a node has not come back";
    return "";
  }

  SimWorld& world() { return world_; }

 private:
  SimWorld world_;
  SimNodes nodes_;
  std::weak_ptr<Mirror> mirror_;
};

TEST(SimFaultsTest, EachHappensAndIsTraced) {
  const Instant end(minutes(10));
  const struct {
    const char* trace;
    std::function<void(FaultPlan&)> set;
  } cases[] = {
      {"is late (fault)", [](FaultPlan& plan) { plan.late_event = 200'000; }},
      {"(event lost)", [](FaultPlan& plan) { plan.lost_event = 200'000; }},
      {"-> Gone", [](FaultPlan& plan) { plan.lost_event = 200'000; }},
      {"falls silent (fault)", [](FaultPlan& plan) { plan.silent_stream = 1'000'000; }},
      {"(stale) rv=", [](FaultPlan& plan) { plan.stale_list = 1'000'000, plan.crash_after_write = 100'000; }},
      {"-> Unavailable (fault)", [](FaultPlan& plan) { plan.unavailable = 200'000; }},
      {"-> Ok (timeout, done)", [](FaultPlan& plan) { plan.timeout_done = 200'000; }},
      {"(timeout, not done)", [](FaultPlan& plan) { plan.timeout_not_done = 200'000; }},
      {"-> not sent (crash)", [](FaultPlan& plan) { plan.crash_before_write = 200'000; }},
      {"(crash before the answer)", [](FaultPlan& plan) { plan.crash_after_write = 200'000; }},
      {"(outage)",
       [&](FaultPlan& plan) {
         plan.outages = {{Instant(minutes(2)), Instant(minutes(3))}};
       }},
      {"is cut off (fault)", [](FaultPlan& plan) { plan.cut_off_after_write = 200'000; }},
      {"history forgotten (fault)", [](FaultPlan& plan) { plan.history_expiries = {Instant(minutes(1))}; }},
      {"vanishes", [](FaultPlan& plan) { plan.node_losses = {Instant(minutes(1))}; }},
  };
  for (const auto& one : cases) {
    FaultPlan plan;
    plan.end = end;
    one.set(plan);
    Trial run(plan, 3);
    EXPECT_THAT(run.world().trace(), HasSubstr(one.trace));
  }
}

TEST(SimFaultsTest, APlanHealsWhateverItsSeed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const FaultPlan plan = FaultPlan::Draw(seed, minutes(10));
    Trial run(plan, seed);
    ASSERT_EQ(run.Complaint(), "") << "seed " << seed << ": " << plan.ToString();
  }
}

TEST(SimFaultsTest, WithoutAPlanThereIsNoFault) {
  Trial run(FaultPlan::None(), 1);
  EXPECT_EQ(run.Complaint(), "");
  EXPECT_EQ(FaultPlan::None().ToString(), "none");
}

TEST(SimFaultsTest, PlansDifferAndEachFaultIsAbsentFromSome) {
  std::set<std::string> plans;
  int without_crashes = 0;
  int without_outages = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const FaultPlan plan = FaultPlan::Draw(seed, minutes(10));
    plans.insert(plan.ToString());
    without_crashes += plan.crash_before_write == 0 && plan.crash_after_write == 0 ? 1 : 0;
    without_outages += plan.outages.empty() ? 1 : 0;
    for (const auto& outage : plan.outages) {
      EXPECT_LT(outage.begin, outage.end);
      EXPECT_LE(outage.end, plan.end);
    }
  }
  EXPECT_EQ(plans.size(), 100U);
  EXPECT_GT(without_crashes, 10);
  EXPECT_GT(without_outages, 10);
  EXPECT_LT(without_outages, 90);
}

TEST(SimFaultsTest, AFamilyHasItsOwnFaultsAndNoOthers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto draw = [&](FaultFamily family) { return FaultPlan::Draw(seed, minutes(10), family); };
    const FaultPlan crashes = draw(FaultFamily::kCrashes);
    EXPECT_GT(crashes.crash_before_write, 0U);
    EXPECT_GT(crashes.crash_after_write, 0U);
    EXPECT_EQ(crashes.late_event + crashes.lost_event + crashes.silent_stream + crashes.stale_list, 0U);
    const FaultPlan unobserved = draw(FaultFamily::kUnobserved);
    EXPECT_GT(unobserved.late_event, 0U);
    EXPECT_EQ(unobserved.crash_before_write + unobserved.crash_after_write + unobserved.stale_list, 0U);
    const FaultPlan stale = draw(FaultFamily::kStale);
    EXPECT_GT(stale.stale_list, 0U);
    EXPECT_GT(stale.crash_after_write, 0U);
    EXPECT_GT(stale.cut_off_after_write, 0U);
    for (const FaultPlan& plan : {crashes, unobserved, stale}) {
      EXPECT_EQ(plan.unavailable + plan.timeout_done + plan.timeout_not_done, 0U);
      EXPECT_TRUE(plan.outages.empty() && plan.node_losses.empty());
    }
  }
}

}  // namespace
}  // namespace adaptdl
