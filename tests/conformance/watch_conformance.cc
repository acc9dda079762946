// Streams of changes.
#include <gmock/gmock.h>

#include <map>

#include "tests/conformance/conformance.h"

namespace adaptdl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(Conformance, WatchTellsWhatHappens) {
  const std::string start = List(Jobs()).value().resource_version;
  const auto recording = Record(Jobs(), start);
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  ASSERT_TRUE(Apply(StatusPatch("a", R"({"group": 1})")).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("b")).has_value());
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  ASSERT_TRUE(RunUntil([&] { return recording->events.size() >= 4; }));
  EXPECT_THAT(Story(recording->events), ElementsAre("added a", "modified a", "added b", "deleted a"));
  EXPECT_EQ(std::get<Job>(*recording->events[1].object).status.group, 1);
  EXPECT_EQ(std::get<Job>(*recording->events[3].object).status.group, 1);
  EXPECT_FALSE(recording->end.has_value());
}

TEST_P(Conformance, WatchGoesOnFromAnyEvent) {
  const std::string start = List(Jobs()).value().resource_version;
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  for (const char* group : {"1", "2", "3"}) {
    ASSERT_TRUE(Apply(StatusPatch("a", std::string(R"({"group": )") + group + "}")).has_value());
  }
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  const auto all = Record(Jobs(), start);
  ASSERT_TRUE(RunUntil([&] { return all->events.size() >= 5; }));
  EXPECT_THAT(Story(all->events),
              ElementsAre("added a", "modified a", "modified a", "modified a", "deleted a"));
  for (std::size_t i = 0; i + 1 < all->events.size(); ++i) {
    const auto rest = Record(Jobs(), all->events[i].resource_version);
    ASSERT_TRUE(RunUntil([&] { return rest->events.size() >= 4 - i; }));
    for (std::size_t j = 0; j < rest->events.size(); ++j) {
      EXPECT_EQ(rest->events[j].object, all->events[i + 1 + j].object);
      EXPECT_EQ(rest->events[j].resource_version, all->events[i + 1 + j].resource_version);
    }
  }
}

TEST_P(Conformance, WatchIsOfOneNamespace) {
  const std::string start = List(Jobs()).value().resource_version;
  const auto elsewhere = Record({.kind = Kind::kJob, .name_space = "no-such-namespace"}, start);
  const auto here = Record(Jobs(), start);
  const auto pods = Record(Pods(), start);
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  ASSERT_TRUE(RunUntil([&] { return !here->events.empty(); }));
  EXPECT_THAT(elsewhere->events, IsEmpty());
  EXPECT_THAT(pods->events, IsEmpty());
}

TEST_P(Conformance, WatchFollowsLabels) {
  const std::string start = List(Jobs()).value().resource_version;
  Query query = Jobs();
  query.labels = {{"x", "1"}};
  const auto recording = Record(query, start);
  ASSERT_TRUE(Create(Kind::kJob, JobJson("other")).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  const auto label = [&](const char* value) {
    const std::string json = std::string(R"({"metadata": {"labels": {"x": )") + value + "}}}";
    ASSERT_TRUE(Apply(MainPatch(JobRef("a"), json)).has_value());
  };
  label(R"("1")");
  ASSERT_TRUE(Apply(StatusPatch("a", R"({"group": 1})")).has_value());
  label(R"("2")");
  label(R"("1")");
  label("null");
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("last", R"("labels": {"x": "1"})")).has_value());
  ASSERT_TRUE(RunUntil([&] { return recording->events.size() >= 6; }));
  EXPECT_THAT(Story(recording->events),
              ElementsAre("added a", "modified a", "deleted a", "added a", "deleted a", "added last"));
}

TEST_P(Conformance, WatchTellsOfDeletionInSteps) {
  const std::string start = List(Jobs()).value().resource_version;
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a", R"("finalizers": ["example.com/wait"])")).has_value());
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  ASSERT_TRUE(Apply(MainPatch(JobRef("a"), R"({"metadata": {"finalizers": null}})")).has_value());
  const auto recording = Record(Jobs(), start);
  ASSERT_TRUE(RunUntil([&] { return recording->events.size() >= 3; }));
  EXPECT_EQ(recording->events.front().type, WatchEvent::Type::kAdded);
  EXPECT_EQ(recording->events.back().type, WatchEvent::Type::kDeleted);
  EXPECT_TRUE(MetadataOf(*recording->events[1].object).deletion_timestamp.has_value());
}

TEST_P(Conformance, WatchThatIsDestroyedIsSilent) {
  const std::string start = List(Jobs()).value().resource_version;
  const auto stopped = Record(Jobs(), start);
  const auto other = Record(Jobs(), start);
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  stopped->watch.reset();
  const std::size_t seen = stopped->events.size();
  ASSERT_TRUE(Create(Kind::kJob, JobJson("b")).has_value());
  ASSERT_TRUE(RunUntil([&] { return other->events.size() >= 2; }));
  EXPECT_EQ(stopped->events.size(), seen);
  EXPECT_FALSE(stopped->end.has_value());
}

TEST_P(Conformance, WatchMayBeDestroyedByItsHandler) {
  const std::string start = List(Jobs()).value().resource_version;
  int calls = 0;
  std::unique_ptr<Watch> watch;
  watch = cluster().WatchFrom(Jobs(), start, [&](const Result<WatchEvent>&) {
    ++calls;
    watch.reset();
  });
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Create(Kind::kJob, JobJson(name)).has_value());
  const auto other = Record(Jobs(), start);
  ASSERT_TRUE(RunUntil([&] { return calls > 0 && other->events.size() >= 3; }));
  EXPECT_EQ(calls, 1);
}

TEST_P(Conformance, WatchFromForgottenVersionIsGone) {
  const std::string start = List(Jobs()).value().resource_version;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Create(Kind::kJob, JobJson(name)).has_value());
  ForgetHistory();
  const auto recording = Record(Jobs(), "1");
  ASSERT_TRUE(RunUntil([&] { return recording->end.has_value(); }));
  EXPECT_EQ(recording->end->code, ErrorCode::kGone);
  EXPECT_THAT(recording->events, IsEmpty());
}

TEST_P(Conformance, ManyChangesAtOnceComeInOrderAndWhole) {
  constexpr int kJobs = 40;
  constexpr int kRounds = 5;
  const std::string start = List(Jobs()).value().resource_version;
  const auto recording = Record(Jobs(), start);
  int answers = 0;
  for (int i = 0; i < kJobs; ++i) {
    const Document job = Document::Parse(JobJson("job-" + std::to_string(i))).value();
    cluster().Create(Kind::kJob, job, [&](const Result<Object>& made) { answers += made ? 1 : 0; });
  }
  ASSERT_TRUE(RunUntil([&] { return answers == kJobs; }));
  for (int round = 1; round <= kRounds; ++round) {
    answers = 0;
    for (int i = 0; i < kJobs; ++i) {
      cluster().Apply(StatusPatch("job-" + std::to_string(i), R"({"group": )" + std::to_string(round) + "}"),
                      [&](const Result<Object>& made) { answers += made ? 1 : 0; });
    }
    ASSERT_TRUE(RunUntil([&] { return answers == kJobs; }));
  }
  ASSERT_TRUE(RunUntil([&] { return recording->events.size() >= kJobs * (kRounds + 1); }));
  std::map<std::string, std::vector<std::int64_t>> groups;
  for (const WatchEvent& event : recording->events) {
    const auto& job = std::get<Job>(*event.object);
    groups[job.metadata.name].push_back(job.status.group.value_or(0));
  }
  EXPECT_EQ(groups.size(), kJobs);
  for (const auto& [name, seen] : groups) EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5)) << name;
}

}  // namespace
}  // namespace adaptdl
