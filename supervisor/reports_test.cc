// Reports on a simulated cluster: what is written, how often, and what gets in between.
#include "supervisor/reports.h"

#include "cluster/sim/sim_testing.h"
#include "cluster/sim/sim_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

Hints Sized(std::int64_t size) {
  Hints hints;
  hints.init_batch_size = size;
  return hints;
}

class ReportsTest : public ::testing::Test {
 protected:
  explicit ReportsTest(SimOptions options = {}) : world_(std::move(options)) {}

  // A supervisor's part: the cache and what writes.
  struct Process {
    Process(Clock& clock, Cluster& cluster, const Reports::Options& options, const ReportMetrics& metrics)
        : jobs(clock, cluster, {.name_space = "default"}, Quiet()),
          reports(clock, cluster, jobs, options, Quiet(), metrics) {
      jobs.Start();
    }
    static Logger Quiet() { return Logger("test", {.level = LogLevel::kError}); }

    WatchCache<Job> jobs;
    Reports reports;
  };

  Process& Start(const std::string& name = "supervisor", Reports::Options options = {}) {
    world_.AddProcess(name, [this, name, options](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
      auto process = std::make_shared<Process>(clock, cluster, options, made_);
      processes_[name] = process.get();
      return process;
    });
    EXPECT_TRUE(world_.clock().RunUntil([&] { return processes_[name]->jobs.ready(); }, minutes(1)));
    return *processes_[name];
  }

  void MakeJobs(int count) {
    for (int i = 0; i < count; ++i) {
      const Document job = testing::JobNamed(Name(i));
      ASSERT_TRUE(world_.server().Create(Kind::kJob, job, world_.clock().Wall()));
    }
  }
  static std::string Name(int i) { return "job-" + std::to_string(i); }
  static Key KeyOfJob(int i) { return {"default", Name(i)}; }

  std::optional<Hints> Stored(int i) {
    return std::get<Job>(world_.server().Get({Kind::kJob, KeyOfJob(i)}).value()->object).status.train;
  }
  void SetStatus(int i, const json& status) {
    ASSERT_TRUE(
        world_.server().Apply({.ref = {Kind::kJob, KeyOfJob(i)}, .merge = Document(json{{"status", status}})},
                              world_.clock().Wall()));
  }
  std::size_t Writes() const {
    std::size_t count = 0;
    for (auto at = world_.trace().find("PATCH status"); at != std::string::npos;
         at = world_.trace().find("PATCH status", at + 1)) {
      ++count;
    }
    return count;
  }

  SimWorld world_;
  Metrics metrics_;
  ReportMetrics made_ = ReportMetrics::Make(metrics_).value();
  std::map<std::string, Process*> processes_;
};

TEST_F(ReportsTest, OfManyOnlyTheNewestIsWritten) {
  Process& process = Start("supervisor", {.writes_per_second = 1});
  MakeJobs(2);
  world_.clock().RunFor(seconds(1));
  for (int size = 1; size <= 50; ++size) {
    EXPECT_EQ(process.reports.Take(KeyOfJob(0), {.hints = Sized(size)}), ReportVerdict::kTaken);
    EXPECT_EQ(process.reports.Take(KeyOfJob(1), {.hints = Sized(size)}), ReportVerdict::kTaken);
  }
  world_.clock().RunFor(seconds(10));
  EXPECT_EQ(Stored(0), Sized(50));
  EXPECT_EQ(Stored(1), Sized(50));
  EXPECT_EQ(Writes(), 2U);
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_supervisor_hints_total{result=\"taken\"} 100\n"));
}

// 10,000 jobs that report every 30 seconds, each time something new: 333 reports a second.
TEST_F(ReportsTest, TheClusterGetsABoundedNumberOfWrites) {
  constexpr int kJobs = 2000;
  Process& process = Start("supervisor", {.writes_per_second = 20});
  MakeJobs(kJobs);
  world_.clock().RunFor(seconds(5));
  const Instant begun = world_.clock().Now();
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < kJobs; ++i) {
      process.reports.Take(KeyOfJob(i), {.hints = Sized(1 + round)});
      world_.clock().RunFor(milliseconds(3));
    }
  }
  const double elapsed = std::chrono::duration<double>(world_.clock().Now() - begun).count();
  EXPECT_LE(static_cast<double>(Writes()), 20 * elapsed + 20);
  EXPECT_GE(static_cast<double>(Writes()), 20 * elapsed * 0.8);
  // In the end each job has its last word.
  world_.clock().RunFor(minutes(3));
  for (int i = 0; i < kJobs; ++i) ASSERT_EQ(Stored(i), Sized(5)) << i;
}

TEST_F(ReportsTest, AWriteThatMeetsAnothersIsMadeAgain) {
  Process& process = Start();
  MakeJobs(1);
  world_.clock().RunFor(seconds(1));
  process.reports.Take(KeyOfJob(0), {.hints = Sized(1), .group = 0});
  SetStatus(0, {{"phase", "Running"}});  // Which the cache has not seen.
  world_.clock().RunFor(seconds(5));
  EXPECT_EQ(Stored(0), Sized(1));
  EXPECT_THAT(metrics_.Render(), HasSubstr("hint_writes_total{result=\"Conflict\"} 1\n"));
}

// Forbids all writes until it is told otherwise, as a server does that has only just started and has not read
// its rules yet.
class Forbidding final : public Cluster {
 public:
  explicit Forbidding(Cluster& cluster) : cluster_(cluster) {}

  void Get(const Ref& ref, Done<Object> done) override { cluster_.Get(ref, std::move(done)); }
  void List(const Query& query, std::size_t limit, const std::string& token, Done<Page> done) override {
    cluster_.List(query, limit, token, std::move(done));
  }
  [[nodiscard]] std::unique_ptr<Watch> WatchFrom(const Query& query, const std::string& resource_version,
                                                 WatchHandler handler) override {
    return cluster_.WatchFrom(query, resource_version, std::move(handler));
  }
  void Create(Kind kind, const Document& object, Done<Object> done) override {
    cluster_.Create(kind, object, std::move(done));
  }
  void Apply(const Patch& patch, Done<Object> done) override {
    if (allows) return cluster_.Apply(patch, std::move(done));
    cluster_.Get(patch.ref, [done = std::move(done)](const Result<Object>&) {
      done(tl::unexpected(Error{ErrorCode::kForbidden, "not you", false}));
    });
  }
  void Delete(const Deletion& deletion, Done<void> done) override {
    cluster_.Delete(deletion, std::move(done));
  }
  void CheckTemplate(const std::string& name_space, const PodTemplate& pod_template,
                     Done<void> done) override {
    cluster_.CheckTemplate(name_space, pod_template, std::move(done));
  }

  bool allows = false;

 private:
  Cluster& cluster_;
};

TEST_F(ReportsTest, WhatIsForbiddenMayBeAllowedLater) {
  struct Guarded {
    Guarded(Clock& clock, Cluster& cluster, const ReportMetrics& metrics)
        : guard(cluster), process(clock, guard, {}, metrics) {}
    Forbidding guard;
    Process process;
  };
  Guarded* guarded = nullptr;
  world_.AddProcess("supervisor", [&](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
    auto made = std::make_shared<Guarded>(clock, cluster, made_);
    guarded = made.get();
    return made;
  });
  MakeJobs(1);
  world_.clock().RunFor(seconds(1));
  EXPECT_EQ(guarded->process.reports.Take(KeyOfJob(0), {.hints = Sized(1)}), ReportVerdict::kTaken);
  world_.clock().RunFor(minutes(5));
  EXPECT_EQ(Stored(0), std::nullopt);
  guarded->guard.allows = true;
  world_.clock().RunFor(minutes(1));
  EXPECT_EQ(Stored(0), Sized(1));
}

TEST_F(ReportsTest, WhatAnotherSupervisorWasToldLaterStays) {
  Process& slow = Start("slow", {.writes_per_second = 0.1});
  Process& quick = Start("quick");
  MakeJobs(3);
  world_.clock().RunFor(seconds(1));
  slow.reports.Take(KeyOfJob(0), {.hints = Sized(1)});
  slow.reports.Take(KeyOfJob(1), {.hints = Sized(1)});  // Has to wait for ten seconds.
  world_.clock().RunFor(seconds(1));
  quick.reports.Take(KeyOfJob(1), {.hints = Sized(2)});
  world_.clock().RunFor(minutes(1));
  EXPECT_EQ(Stored(0), Sized(1));
  EXPECT_EQ(Stored(1), Sized(2));
}

TEST_F(ReportsTest, JobsThatGoAreForgotten) {
  Process& process = Start("supervisor", {.writes_per_second = 0.1});
  MakeJobs(2);
  world_.clock().RunFor(seconds(1));
  process.reports.Take(KeyOfJob(0), {.hints = Sized(1)});
  process.reports.Take(KeyOfJob(1), {.hints = Sized(1)});
  ASSERT_TRUE(world_.server().Delete({.ref = {Kind::kJob, KeyOfJob(1)}}, world_.clock().Wall()));
  world_.clock().RunFor(minutes(1));
  EXPECT_EQ(Stored(0), Sized(1));
  EXPECT_EQ(process.reports.Take(KeyOfJob(1), {.hints = Sized(1)}), ReportVerdict::kNoJob);
}

TEST_F(ReportsTest, BeforeItEndsAllThatWaitsIsWritten) {
  Process& process = Start("supervisor", {.writes_per_second = 0.1});
  MakeJobs(40);
  world_.clock().RunFor(seconds(1));
  for (int i = 0; i < 40; ++i) process.reports.Take(KeyOfJob(i), {.hints = Sized(7)});
  bool done = false;
  process.reports.Drain([&] { done = true; });
  EXPECT_FALSE(done);
  EXPECT_TRUE(world_.clock().RunUntil([&] { return done; }, seconds(5)));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Stored(i), Sized(7)) << i;
}

TEST_F(ReportsTest, NothingToWriteIsNoReasonToStay) {
  bool done = false;
  Start().reports.Drain([&] { done = true; });
  EXPECT_TRUE(world_.clock().RunUntil([&] { return done; }, seconds(1)));
}

// The API server is away, calls fail, time out with and without effect, and the cache lags: in the end the
// last word of every job is there, and nobody else's field has changed.
class ReportsInTrouble : public ReportsTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  ReportsInTrouble() : ReportsTest({.seed = GetParam(), .faults = FaultPlan::Draw(GetParam(), minutes(5))}) {}
};

TEST_P(ReportsInTrouble, ConvergeToTheLastWord) {
  world_.AddProcess("supervisor", [this](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
    auto process = std::make_shared<Process>(clock, cluster, Reports::Options{}, made_);
    processes_["supervisor"] = process.get();
    return process;
  });
  MakeJobs(10);
  for (int i = 0; i < 10; ++i) SetStatus(i, {{"phase", "Running"}, {"group", 4}});
  // Reports every 30 s, as long as somebody takes them, and some after the trouble.
  for (int round = 1; round <= 14; ++round) {
    world_.clock().RunFor(seconds(30));
    if (!world_.IsRunning("supervisor")) continue;
    Process& process = *processes_["supervisor"];
    if (!process.jobs.ready()) continue;
    for (int i = 0; i < 10; ++i) process.reports.Take(KeyOfJob(i), {.hints = Sized(round), .group = 4});
  }
  world_.clock().RunFor(minutes(2));
  for (int i = 0; i < 10; ++i) {
    const Job job = std::get<Job>(world_.server().Get({Kind::kJob, KeyOfJob(i)}).value()->object);
    EXPECT_EQ(job.status.train, Sized(14)) << i;
    EXPECT_EQ(job.status.phase, JobPhase::kRunning);
    EXPECT_EQ(job.status.group, 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReportsInTrouble, ::testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace adaptdl
