#include "runtime/leader_election.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/sim/sim_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

const Ref kLease{Kind::kLease, {"system", "operator"}};

// The date as one machine has it: it can be wrong, jump and stand still.
class OddClock final : public Clock {
 public:
  OddClock(Clock& clock, const std::optional<Time>& date) : clock_(clock), date_(date) {}
  Instant Now() const override { return clock_.Now(); }
  Time Wall() const override { return date_.value_or(clock_.Wall()); }
  void Post(std::function<void()> task) override { clock_.Post(std::move(task)); }
  Timer After(Duration delay, std::function<void()> task) override {
    return clock_.After(delay, std::move(task));
  }

 private:
  Clock& clock_;
  const std::optional<Time>& date_;
};

// The network of one machine: while it is cut, no call arrives, and no answer comes back.
class Cable final : public Cluster {
 public:
  Cable(Cluster& cluster, const bool& cut) : cluster_(cluster), cut_(cut) {}
  void Get(const Ref& ref, Done<Object> done) override {
    if (!cut_) cluster_.Get(ref, Answer(std::move(done)));
  }
  void Create(Kind kind, const Document& object, Done<Object> done) override {
    if (!cut_) cluster_.Create(kind, object, Answer(std::move(done)));
  }
  void Apply(const Patch& patch, Done<Object> done) override {
    if (!cut_) cluster_.Apply(patch, Answer(std::move(done)));
  }
  void List(const Query&, std::size_t, const std::string&, Done<Page>) override { FAIL(); }
  std::unique_ptr<Watch> WatchFrom(const Query&, const std::string&, WatchHandler) override {
    return nullptr;
  }
  void Delete(const Deletion&, Done<void>) override { FAIL(); }
  void CheckTemplate(const std::string&, const PodTemplate&, Done<void>) override { FAIL(); }

 private:
  Done<Object> Answer(Done<Object> done) {
    return [this, done = std::move(done)](Result<Object> result) {
      if (!cut_) done(std::move(result));
    };
  }

  Cluster& cluster_;
  const bool& cut_;
};

// One instance of a program, on a machine of its own, which outlives its crashes.
struct Machine {
  bool cut = false;
  std::optional<Time> date;  // Stands still, where there is one.
  LeaderElection* election = nullptr;
  int started = 0;
  int stopped = 0;
  std::function<void()> when_stopped = [] {};
};

class Race {
 public:
  explicit Race(int count, FaultPlan faults = FaultPlan::None(), std::uint64_t seed = 1)
      : world({.seed = seed, .faults = std::move(faults), .keep_trace = false}) {
    for (int i = 0; i < count; ++i) Add("m" + std::to_string(i));
  }

  void Add(const std::string& name) {
    world.AddProcess(name, [this, name](Clock& clock, Cluster& cluster) {
      return std::make_shared<Process>(clock, cluster, name, this->machines[name], ++lives);
    });
  }

  std::vector<std::string> Acting() const {
    std::vector<std::string> acting;
    for (const auto& [name, machine] : machines) {
      if (machine.election != nullptr && machine.election->MayAct()) acting.push_back(name);
    }
    return acting;
  }
  // The one that acts, once there is one.
  std::string Leader(Duration limit = minutes(1)) {
    world.clock().RunUntil([&] { return !Acting().empty(); }, limit);
    const std::vector<std::string> acting = Acting();
    return acting.size() == 1 ? acting[0] : "";
  }
  Lease Record() { return std::get<Lease>(world.server().Get(kLease).value()->object); }
  void Delete() { ASSERT_TRUE(world.server().Delete({.ref = kLease}, world.clock().Wall()).has_value()); }

  std::map<std::string, Machine> machines;
  int lives = 0;
  SimWorld world;  // The last, as its processes know the machines.

 private:
  struct Process {
    Process(Clock& real_clock, Cluster& real_cluster, const std::string& name, Machine& on, int life)
        : machine(on), clock(real_clock, on.date), cluster(real_cluster, on.cut) {
      machine.started = machine.stopped = 0;
      machine.election =
          &election.emplace(clock, cluster,
                            LeaderElectionOptions{.lease = kLease.key,
                                                  .identity = name + "-" + std::to_string(life),
                                                  .seed = static_cast<std::uint64_t>(life)},
                            LeaderElection::Callbacks{.started =
                                                          [this] {
                                                            EXPECT_EQ(machine.started++, machine.stopped);
                                                            EXPECT_TRUE(election->MayAct());
                                                          },
                                                      .stopped =
                                                          [this] {
                                                            EXPECT_EQ(++machine.stopped, machine.started);
                                                            EXPECT_FALSE(election->MayAct());
                                                            machine.when_stopped();
                                                          }},
                            Logger("test", {.sink = [](std::string_view) {}}));
      election->Start();
    }
    ~Process() { machine.election = nullptr; }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    Machine& machine;
    OddClock clock;
    Cable cluster;
    std::optional<LeaderElection> election;
  };
};

TEST(LeaderElection, RefusesTimesThatDoNotFitTogether) {
  const LeaderElectionOptions good{.lease = kLease.key, .identity = "me"};
  EXPECT_TRUE(good.Validate().has_value());
  const auto refused = [&](auto change) {
    LeaderElectionOptions options = good;
    change(options);
    return !options.Validate().has_value();
  };
  EXPECT_TRUE(refused([](auto& o) { o.identity = ""; }));
  EXPECT_TRUE(refused([](auto& o) { o.lease.name = ""; }));
  EXPECT_TRUE(refused([](auto& o) { o.lease.name_space = ""; }));
  EXPECT_TRUE(refused([](auto& o) { o.retry_period = seconds(0); }));
  EXPECT_TRUE(refused([](auto& o) { o.renew_deadline = std::chrono::milliseconds(2400); }));
  EXPECT_TRUE(refused([](auto& o) { o.lease_duration = o.renew_deadline; }));
  EXPECT_TRUE(refused([](auto& o) { o.lease_duration = std::chrono::hours(2); }));
}

TEST(LeaderElection, TheFirstLeadsAtOnceAndKeepsLeading) {
  Race race(3);
  const std::string leader = race.Leader(seconds(1));
  ASSERT_NE(leader, "");
  race.world.clock().RunFor(minutes(10));
  EXPECT_EQ(race.Acting(), std::vector{leader});
  EXPECT_EQ(race.machines[leader].started, 1);
  const Lease lease = race.Record();
  EXPECT_THAT(lease.holder, ::testing::StartsWith(leader));
  EXPECT_EQ(lease.duration_seconds, 15);
  EXPECT_EQ(lease.transitions, 0);
  EXPECT_GT(*lease.renew_time, *lease.acquire_time + minutes(9));
}

TEST(LeaderElection, AfterACrashAnotherLeadsWhenTheLeaseHasRunOut) {
  Race race(3);
  const std::string leader = race.Leader();
  race.world.clock().RunFor(minutes(1));
  race.world.Crash(leader);
  const Instant crash = race.world.clock().Now();
  const std::string next = race.Leader();
  ASSERT_NE(next, "");
  EXPECT_NE(next, leader);
  EXPECT_GT(race.world.clock().Now() - crash, seconds(10));
  EXPECT_LT(race.world.clock().Now() - crash, seconds(20));
  EXPECT_EQ(race.Record().transitions, 1);
}

TEST(LeaderElection, ReleasedItIsTakenOverSoon) {
  Race race(2);
  const std::string leader = race.Leader();
  bool released = false;
  race.machines[leader].election->Release([&] { released = true; });
  EXPECT_TRUE(race.Acting().empty());
  EXPECT_EQ(race.machines[leader].stopped, 1);
  const Instant release = race.world.clock().Now();
  const std::string next = race.Leader();
  EXPECT_TRUE(released);
  EXPECT_NE(next, leader);
  EXPECT_LT(race.world.clock().Now() - release, seconds(3));
  race.world.Crash(next);
  EXPECT_EQ(race.Leader(), "");  // The one that released takes no more part.
}

TEST(LeaderElection, ReleasedWhileARenewalIsOutItIsGivenBackAllTheSame) {
  for (int ms = 0; ms < 2500; ms += 5) {  // Whatever is in flight just then.
    Race race(1);
    ASSERT_EQ(race.Leader(), "m0");
    race.world.clock().RunFor(std::chrono::milliseconds(ms));
    race.machines["m0"].election->Release([] {});
    race.world.clock().RunFor(seconds(1));
    ASSERT_EQ(race.Record().holder, "") << ms;
  }
}

TEST(LeaderElection, ReleasedFromInsideACallbackItTakesNoMorePart) {
  Race race(1);
  ASSERT_EQ(race.Leader(), "m0");
  Machine& machine = race.machines["m0"];
  machine.when_stopped = [&] { machine.election->Release([] {}); };
  race.Delete();
  EXPECT_TRUE(race.world.clock().RunUntil([&] { return machine.stopped == 1; }, seconds(20)));
  EXPECT_EQ(race.Leader(minutes(5)), "");
  EXPECT_FALSE(race.world.server().Get(kLease));
}

TEST(LeaderElection, CutOffItStopsInTimeByItself) {
  Race race(2);
  const std::string leader = race.Leader();
  race.world.clock().RunFor(minutes(1));
  race.machines[leader].cut = true;
  const Instant cut = race.world.clock().Now();
  ASSERT_TRUE(race.world.clock().RunUntil([&] { return race.Acting().empty(); }, seconds(10)));
  EXPECT_GT(race.world.clock().Now() - cut, seconds(7));
  EXPECT_EQ(race.machines[leader].stopped, 1);
  const std::string next = race.Leader();
  EXPECT_NE(next, leader);
  race.machines[leader].cut = false;
  race.world.clock().RunFor(minutes(5));
  EXPECT_EQ(race.Acting(), std::vector{next});
}

TEST(LeaderElection, AnAnswerThatWasLostGivesNoRightToAct) {
  FaultPlan faults;
  faults.timeout_done = 1'000'000;  // Every write happens, and nobody is told.
  faults.end = Instant(minutes(5));
  Race race(2, faults);
  while (race.world.clock().Now() < Instant(minutes(5))) {
    ASSERT_TRUE(race.Acting().empty());
    ASSERT_TRUE(race.world.clock().RunNext());
  }
  EXPECT_NE(race.Leader(seconds(30)), "");
}

TEST(LeaderElection, ADeletedLeaseEndsTheTermAndIsMadeAnew) {
  Race race(2);
  const std::string leader = race.Leader();
  race.world.clock().RunFor(seconds(10));  // By then the other one knows of it, too.
  race.Delete();
  ASSERT_TRUE(race.world.clock().RunUntil([&] { return race.Acting().empty(); }, seconds(3)));
  EXPECT_EQ(race.machines[leader].stopped, 1);
  EXPECT_NE(race.Leader(seconds(25)), "");
}

TEST(LeaderElection, AnothersRecordEndsTheTerm) {
  Race race(1);
  ASSERT_EQ(race.Leader(), "m0");
  const Patch patch{.ref = kLease,
                    .part = Patch::Part::kMain,
                    .merge = Document(json::object({{"spec", {{"holderIdentity", "by hand"}}}}))};
  ASSERT_TRUE(race.world.server().Apply(patch, race.world.clock().Wall()).has_value());
  ASSERT_TRUE(race.world.clock().RunUntil([&] { return race.Acting().empty(); }, seconds(3)));
  EXPECT_EQ(race.Record().holder, "by hand");
  EXPECT_EQ(race.Leader(seconds(25)), "m0");
}

TEST(LeaderElection, AChangeThatLeavesTheHolderInPlaceDoesNotDisturbIt) {
  Race race(2);
  const std::string leader = race.Leader();
  const Patch patch{.ref = kLease,
                    .part = Patch::Part::kMain,
                    .merge = Document(json::object({{"metadata", {{"labels", {{"a", "b"}}}}}}))};
  ASSERT_TRUE(race.world.server().Apply(patch, race.world.clock().Wall()).has_value());
  race.world.clock().RunFor(minutes(2));
  EXPECT_EQ(race.Acting(), std::vector{leader});
  EXPECT_EQ(race.machines[leader].started, 1);
}

TEST(LeaderElection, RenewsVisiblyEvenIfTheDateStandsStill) {
  Race race(2);
  for (auto& [name, machine] : race.machines) machine.date = Time(std::chrono::hours(1));
  const std::string leader = race.Leader();
  race.world.clock().RunFor(minutes(5));
  EXPECT_EQ(race.Acting(), std::vector{leader});
  EXPECT_EQ(race.machines[leader].started, 1);
}

// Runs with everything that the seed brings, and asks after every task.
void NeverTwo(std::uint64_t seed, FaultPlan faults, bool deleted) {
  const Instant end = faults.end;
  Race race(static_cast<int>(2 + seed % 3), std::move(faults), seed);
  SimWorld& world = race.world;
  SimRandom rng(seed);
  Instant next_trouble(seconds(30));
  Instant deletion = deleted ? Instant(rng.Between(minutes(1), minutes(4))) : Instant::max();
  while (world.clock().Now() < end) {
    ASSERT_TRUE(world.clock().RunNext());
    ASSERT_LE(race.Acting().size(), 1u) << "seed " << seed;
    if (world.clock().Now() >= next_trouble) {
      next_trouble = world.clock().Now() + rng.Between(seconds(1), seconds(20));
      for (auto& [name, machine] : race.machines) {
        machine.cut = rng.Below(4) == 0;
        machine.date.reset();
        if (rng.Below(2) == 0) machine.date = Time(seconds(rng.Below(3'000'000'000)));
      }
    }
    if (world.clock().Now() >= deletion) {
      race.Delete();
      deletion = Instant::max();
    }
  }
  for (auto& [name, machine] : race.machines) machine.cut = false;
  ASSERT_TRUE(world.clock().RunUntil([&] { return !race.Acting().empty(); }, seconds(40))) << "seed " << seed;
  const std::string leader = race.Leader();
  world.clock().RunFor(minutes(1));
  ASSERT_EQ(race.Acting(), std::vector{leader}) << "seed " << seed;
}

RC_GTEST_PROP(LeaderElectionProperty, NeverTwoAndSoonOneWhateverGoesWrong, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  NeverTwo(seed, FaultPlan::Draw(seed, minutes(5)), false);
  RC_ASSERT(!::testing::Test::HasFailure());
}

RC_GTEST_PROP(LeaderElectionProperty, NeverTwoEvenIfTheLeaseIsDeleted, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  FaultPlan faults;  // No crashes: a new process knows nothing of the old Lease. What is cut off is enough.
  faults.end = Instant(minutes(5));
  NeverTwo(seed, faults, true);
  RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace adaptdl
