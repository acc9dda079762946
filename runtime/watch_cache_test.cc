#include "runtime/watch_cache.h"

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
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Logger Quiet() {
  return Logger("test", {.sink = [](std::string_view) {}});
}

std::vector<std::string> Team(const Job& job) {
  const auto team = job.metadata.labels.find("team");
  return team == job.metadata.labels.end() ? std::vector<std::string>{} : std::vector{team->second};
}

template <typename T>
std::vector<std::string> Names(const std::vector<std::shared_ptr<const T>>& objects) {
  std::vector<std::string> names;
  names.reserve(objects.size());
  for (const auto& one : objects) names.push_back(ToString(KeyOf(one->metadata)));
  return names;
}

class WatchCacheTest : public ::testing::Test {
 protected:
  void Create(const std::string& name, const std::string& team) {
    const json job = {
        {"apiVersion", "adaptdl.petuum.com/v1"},
        {"kind", "AdaptDLJob"},
        {"metadata", {{"name", name}, {"namespace", "ns"}, {"labels", {{"team", team}}}}},
        {"spec",
         {{"template", {{"spec", {{"containers", json::array({{{"name", "main"}, {"image", "x"}}})}}}}}}}};
    const auto created = world_.server().Create(Kind::kJob, Document(job), world_.clock().Wall());
    ASSERT_TRUE(created.has_value()) << created.error().message;
  }
  void Apply(const std::string& name, json merge) {
    const Patch patch{
        .ref = {Kind::kJob, {"ns", name}}, .part = Patch::Part::kMain, .merge = Document(std::move(merge))};
    const auto applied = world_.server().Apply(patch, world_.clock().Wall());
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }
  void SetTeam(const std::string& name, const std::string& team) {
    Apply(name, {{"metadata", {{"labels", {{"team", team}}}}}});
  }
  void Delete(const std::string& name) {
    ASSERT_TRUE(
        world_.server().Delete({.ref = {Kind::kJob, {"ns", name}}}, world_.clock().Wall()).has_value());
  }
  void Start() {
    jobs_.Subscribe([this](const Key& key, const Job* before, const Job* after) {
      EXPECT_EQ(jobs_.Find(key).get(), after);  // The cache shows it already.
      changes_.push_back((before == nullptr ? "+" : after == nullptr ? "-" : "~") + key.name);
    });
    jobs_.Start();
    Settle();
  }
  void Settle() { world_.clock().RunFor(seconds(1)); }

  SimWorld world_;
  WatchCache<Job> jobs_{world_.clock(), world_.admin(), {}, Quiet(), {.indexes = {{"team", Team}}}};
  std::vector<std::string> changes_;
};

TEST_F(WatchCacheTest, ShowsWhatThereIsAndWhatBecomesOfIt) {
  Create("b", "red");
  Create("a", "blue");
  bool ready = false;
  jobs_.WhenReady([&] { ready = jobs_.Find({"ns", "a"}) != nullptr && jobs_.ready(); });
  EXPECT_FALSE(jobs_.ready());
  Start();
  EXPECT_TRUE(ready);
  EXPECT_THAT(Names(jobs_.List()), ElementsAre("ns/a", "ns/b"));
  EXPECT_THAT(Names(jobs_.Indexed("team", "red")), ElementsAre("ns/b"));

  const auto before = jobs_.Find({"ns", "a"});
  SetTeam("a", "red");
  Create("c", "red");
  Settle();
  EXPECT_THAT(Names(jobs_.Indexed("team", "red")), ElementsAre("ns/a", "ns/b", "ns/c"));
  EXPECT_THAT(jobs_.Indexed("team", "blue"), IsEmpty());
  EXPECT_EQ(before->metadata.labels.at("team"), "blue");  // What was found stays what it was.

  Delete("b");
  Settle();
  EXPECT_EQ(jobs_.Find({"ns", "b"}), nullptr);
  EXPECT_THAT(Names(jobs_.Indexed("team", "red")), ElementsAre("ns/a", "ns/c"));
  EXPECT_THAT(changes_, ElementsAre("+a", "+b", "~a", "+c", "-b"));
}

TEST_F(WatchCacheTest, AListAgainTellsOnlyWhatDiffers) {
  for (const char* name : {"a", "b", "c"}) Create(name, "red");
  Start();
  changes_.clear();
  // While no stream tells: the present one ends within ten minutes, and its version is gone by then.
  const Reflector::Stats before = jobs_.reflector().stats();
  world_.clock().RunUntil([&] { return jobs_.reflector().stats().failures > before.failures; }, minutes(11));
  Delete("a");
  SetTeam("b", "blue");
  Create("d", "red");
  world_.server().ForgetHistory();
  Settle();
  EXPECT_EQ(jobs_.reflector().stats().lists, 2u);
  EXPECT_THAT(changes_, ElementsAre("~b", "+d", "-a"));
  EXPECT_THAT(Names(jobs_.Indexed("team", "red")), ElementsAre("ns/c", "ns/d"));
}

TEST_F(WatchCacheTest, StreamsThatEndCauseNoList) {
  Start();
  world_.clock().RunFor(std::chrono::hours(5));
  EXPECT_EQ(jobs_.reflector().stats().lists, 1u);
  EXPECT_GE(jobs_.reflector().stats().watches, 30u);
  EXPECT_LT(world_.clock().Now() - jobs_.reflector().last_progress(), minutes(2));
}

TEST_F(WatchCacheTest, WhatCannotBeReadIsKeptApart) {
  Create("a", "red");
  Create("b", "red");
  Start();
  changes_.clear();
  Apply("a", {{"spec", {{"minReplicas", 5}, {"maxReplicas", 2}}}});
  Settle();
  EXPECT_EQ(jobs_.Find({"ns", "a"}), nullptr);
  EXPECT_THAT(Names(jobs_.Indexed("team", "red")), ElementsAre("ns/b"));
  ASSERT_EQ(jobs_.unreadable().size(), 1u);
  EXPECT_EQ(jobs_.unreadable().begin()->first, (Key{"ns", "a"}));
  EXPECT_THAT(jobs_.unreadable().begin()->second.error.message, ::testing::HasSubstr("maxReplicas"));
  Apply("a", {{"spec", {{"minReplicas", 1}}}});
  Settle();
  EXPECT_NE(jobs_.Find({"ns", "a"}), nullptr);
  Apply("b", {{"spec", {{"minReplicas", 5}, {"maxReplicas", 2}}}});
  Settle();
  Delete("b");
  Settle();
  EXPECT_THAT(jobs_.unreadable(), IsEmpty());
  EXPECT_THAT(changes_, ElementsAre("-a", "+a", "-b"));
}

TEST_F(WatchCacheTest, KeepsOnlyWhatIsLeftOfAnObject) {
  WatchCache<Job> trimmed(world_.clock(), world_.admin(), {}, Quiet(),
                          {.trim = [](Job* job) { job->spec.pod_template = {}; }});
  Create("a", "red");
  trimmed.Start();
  Settle();
  ASSERT_NE(trimmed.Find({"ns", "a"}), nullptr);
  EXPECT_EQ(trimmed.Find({"ns", "a"})->spec.pod_template, PodTemplate{});
}

// A cache in a process that crashes and comes back, and all that it ever showed.
class Follower {
 public:
  Follower(Clock& clock, Cluster& cluster)
      : leases(clock, cluster, {}, Quiet(),
               {.indexes = {{"label", [](const Lease& lease) { return std::vector{lease.holder}; }}},
                .reflector = {.page = 3}}) {
    leases.Subscribe([this](const Key& key, const Lease* before, const Lease* after) {
      const Lease& lease = after != nullptr ? *after : *before;
      const auto version = std::stoull(lease.metadata.resource_version);
      EXPECT_GE(version, newest_[key]);
      newest_[key] = version;
      if (after == nullptr) ++newest_[key];  // The same one must not come back.
    });
    leases.Start();
  }

  WatchCache<Lease> leases;

 private:
  std::map<Key, std::uint64_t> newest_;
};

RC_GTEST_PROP(WatchCacheProperty, NeverGoesBackAndShowsAllInTheEnd, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  SimWorld world({.seed = seed, .faults = FaultPlan::Draw(seed, minutes(10)), .keep_trace = false});
  std::weak_ptr<Follower> follower;
  world.AddProcess("follower", [&](Clock& clock, Cluster& cluster) {
    auto made = std::make_shared<Follower>(clock, cluster);
    follower = made;
    return made;
  });
  SimRandom rng(seed);
  SimApiServer& server = world.server();
  while (world.clock().Now() < world.faults().end) {
    const Ref ref{Kind::kLease, {"ns", "l" + std::to_string(rng.Below(8))}};
    const json spec = {{"holderIdentity", "h" + std::to_string(rng.Below(3))}};
    if (!server.Get(ref)) {
      const json lease = {{"apiVersion", "coordination.k8s.io/v1"},
                          {"kind", "Lease"},
                          {"metadata", {{"name", ref.key.name}, {"namespace", "ns"}}},
                          {"spec", spec}};
      RC_ASSERT(server.Create(Kind::kLease, Document(lease), world.clock().Wall()).has_value());
    } else if (rng.Below(3) == 0) {
      RC_ASSERT(server.Delete({.ref = ref}, world.clock().Wall()).has_value());
    } else {
      const Patch patch{
          .ref = ref, .part = Patch::Part::kMain, .merge = Document(json::object({{"spec", spec}}))};
      RC_ASSERT(server.Apply(patch, world.clock().Wall()).has_value());
    }
    // Bursts and pauses.
    world.clock().RunFor(rng.Below(3) == 0 ? rng.Between(seconds(1), seconds(20)) : Duration::zero());
    RC_ASSERT(!::testing::Test::HasFailure());
  }
  world.clock().RunFor(minutes(2));
  const auto last = follower.lock();
  RC_ASSERT(last != nullptr);
  std::vector<Lease> shown;
  for (const auto& lease : last->leases.List()) shown.push_back(*lease);
  std::vector<Lease> real;
  const Result<Page> page = server.List({.kind = Kind::kLease}, 0, "");
  for (const Object& object : page->objects) real.push_back(std::get<Lease>(object));
  RC_ASSERT(shown == real);
  std::size_t indexed = 0;
  for (const char* holder : {"h0", "h1", "h2"}) indexed += last->leases.Indexed("label", holder).size();
  RC_ASSERT(indexed == real.size());
  RC_ASSERT(!last->leases.reflector().failure());
}

}  // namespace
}  // namespace adaptdl
