#include "scheduler/policy/value.h"

#include <gtest/gtest.h>

#include "scheduler/policy/clusters.h"

namespace adaptdl {
namespace {

// Every value of the jobs at all sizes.
std::vector<double> All(const Snapshot& snapshot, const PolicyOptions& options) {
  const Problem problem(snapshot);
  Values values(problem, options);
  std::vector<double> all;
  for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
    all.push_back(values.Kept(j));
    all.push_back(values.Idle(j));
    for (int k = 1; k <= 8; ++k) {
      all.push_back(values.Moved(j, false, k));
      all.push_back(values.Moved(j, k > 1, k));
    }
  }
  return all;
}

TEST(LazySpeedupTest, IsTheNumberOfReplicasWhereNothingIsKnown) {
  SnapshotJob job;
  LazySpeedup unknown(job);
  EXPECT_EQ(unknown(false, 0), 0);
  EXPECT_EQ(unknown(true, 5), 5);
  EXPECT_FALSE(unknown.base_goodput());
  SetScaling(job, 9);
  job.preemptible = false;
  EXPECT_EQ(LazySpeedup(job)(true, 5), 5);
}

TEST(LazySpeedupTest, IsRelativeToOneReplica) {
  SnapshotJob job;
  SetScaling(job, 1);
  LazySpeedup speedup(job);
  EXPECT_NEAR(*speedup.base_goodput(), 100, 1e-3);
  EXPECT_EQ(speedup(false, 0), 0);
  EXPECT_NEAR(speedup(false, 1), 1, 1e-12);
  EXPECT_NEAR(speedup(false, 4), 4, 1e-6);
  EXPECT_NEAR(speedup(true, 4), 2, 1e-6);
}

TEST(LazySpeedupTest, TheFewestThatReachTheInitialBatchSizeCountAsTheirNumber) {
  SnapshotJob job;
  SetScaling(job, 1);
  job.init_batch_size = 300;
  LazySpeedup speedup(job);
  EXPECT_EQ(speedup(false, 1), 0);
  EXPECT_EQ(speedup(false, 2), 0);
  EXPECT_NEAR(speedup(false, 3), 3, 1e-6);
  EXPECT_NEAR(speedup(false, 6), 6, 1e-6);
}

TEST(LazySpeedupTest, IsFiniteWhateverTheParameters) {
  for (const double tiny : {5e-324, 1e-310, 1e-300, 1e300}) {
    SnapshotJob job;
    SetScaling(job, 0);
    job.perf_params = PerfParams{tiny, 0, 1e300, 1e300, 1e-300, 1e300, 10};
    LazySpeedup speedup(job);
    for (const int k : {1, 2, 100}) {
      EXPECT_TRUE(std::isfinite(speedup(false, k))) << tiny;
      EXPECT_TRUE(std::isfinite(speedup(true, k))) << tiny;
    }
  }
}

// Two steps of at least 64 samples make 128: of total batch sizes between 100 and 127 one replica has none
// within its bounds.
TEST(LazySpeedupTest, DropsOrClampsWhatIsOutOfBounds) {
  SnapshotJob job;
  job.perf_params =
      PerfParams{0.001, 1, 0, 0, 0, 0, 1};  // Time grows with the batch: the fewest samples are best.
  job.grad_params = GradParams{1, 0.001};
  job.init_batch_size = 100;
  job.batch = {
      .max_batch_size = 110, .min_local_bsz = 64, .max_local_bsz = 90, .gradient_accumulation = true};
  LazySpeedup clamp(job);
  LazySpeedup drop(job, LazySpeedup::Bounds::kDrop);
  EXPECT_GT(*clamp.base_goodput(), 0);
  // One replica: every candidate is split into two of 50 to 55, so only two replicas have candidates, of 64
  // each.
  EXPECT_EQ(drop(false, 1), 0);
  EXPECT_DOUBLE_EQ(drop(false, 2), 2);
}

TEST(ValueTest, ReleaseIsTheSumOfSpeedupsWeightedByShares) {
  Snapshot snapshot = Cluster({4, 4});
  AddJob(snapshot, "a", 8, {"node-0", "node-0"});
  AddJob(snapshot, "b", 8).resources = {{"gpu", 2}};
  snapshot.node_template = SnapshotNode{{{"gpu", 4}}, false};
  const Problem problem(snapshot);
  Values values(problem, {.objective = Objective::kRelease});
  // 8 GPUs and as many again for the template; 4 nodes likewise. One replica of `a` weighs 1/16 x 4.
  EXPECT_DOUBLE_EQ(values.Kept(0), 2 * 0.25);
  EXPECT_DOUBLE_EQ(values.Moved(0, false, 2), 0.9 * 2 * 0.25);
  EXPECT_DOUBLE_EQ(values.Moved(1, true, 3), 0.9 * 3 * 0.5);
  EXPECT_EQ(values.Idle(0), 0);
  EXPECT_EQ(values.Report(1.25), 1.25);
  // Without a template 8 GPUs and 2 nodes: the same.
  snapshot.node_template.reset();
  EXPECT_DOUBLE_EQ(Values(Problem(snapshot), {.objective = Objective::kRelease}).Kept(0), 2 * 0.25);
}

TEST(ValueTest, PaperIsThePowerMeanOfSpeedupsRelativeToTheFairShare) {
  Snapshot snapshot = Cluster({4, 4});
  SnapshotJob& job = AddJob(snapshot, "a", 8, {"node-0", "node-0", "node-0", "node-0"});
  job.age = 270;
  job.restarts = 3;
  AddJob(snapshot, "b", 8);
  const Problem problem(snapshot);
  Values values(problem, {.objective = Objective::kPaper});
  // The fair share of two jobs is 4 GPUs, where the speedup is 4: one replica counts 1/8 x 2 nodes / 4.
  EXPECT_DOUBLE_EQ(values.Kept(0), -1 / (4.0 / 16 + 1e-3));
  // (270 s - 3 x 30 s) / (270 s + 30 s) of it, where the job is moved.
  EXPECT_DOUBLE_EQ(values.Moved(0, false, 2), -1 / (0.6 * 2 / 16 + 1e-3));
  EXPECT_DOUBLE_EQ(values.Moved(1, true, 4), -1 / (4.0 / 16 + 1e-3));  // It does not tell its age.
  EXPECT_DOUBLE_EQ(values.Idle(1), -1000);
  EXPECT_EQ(values.most_nodes(), 16);
  // The mean with power -1 of two equal ones is that one.
  EXPECT_DOUBLE_EQ(values.Report(values.Kept(0) + values.Moved(1, true, 4)), 0.251);
  EXPECT_DOUBLE_EQ(values.Report(-1000 - 1), 2.0 / 1001);
}

// More restarts than it is old make a job expensive to move, but not useless.
TEST(ValueTest, PaperPrefersRunningToWaitingAtAnyAge) {
  for (const double age : {0.0, 10.0, 1e9}) {
    Snapshot snapshot = Cluster({4});
    SnapshotJob& job = AddJob(snapshot, "a", 8);
    job.age = age;
    job.restarts = 1000;
    Values values(Problem(snapshot), {.objective = Objective::kPaper});
    EXPECT_GT(values.Moved(0, false, 1), values.Idle(0)) << age;
  }
}

TEST(ValueTest, CompletionPrefersWhatIsDoneSooner) {
  Snapshot snapshot = Cluster({1});
  for (const char* name : {"long", "short"}) SetScaling(AddJob(snapshot, name), 0);
  snapshot.jobs["long"].total_progress = 10'000;
  snapshot.jobs["short"].total_progress = 1'000;
  EXPECT_EQ(Propose("genetic", snapshot).allocation["short"].size(), 1);
  snapshot.jobs["long"].progress = 9'900;  // What is left counts.
  EXPECT_EQ(Propose("genetic", snapshot).allocation["long"].size(), 1);
}

TEST(ValueTest, CompletionPrefersWhoHadLessWhereNobodyTellsItsLength) {
  Snapshot snapshot = Cluster({1});
  AddJob(snapshot, "first").attained_service = 1e6;
  AddJob(snapshot, "second").attained_service = 1e3;
  EXPECT_EQ(Propose("genetic", snapshot).allocation["second"].size(), 1);
  snapshot.jobs["second"].attained_service = 1e7;
  EXPECT_EQ(Propose("genetic", snapshot).allocation["first"].size(), 1);
}

TEST(ValueTest, CompletionDoesNotRestartForLittle) {
  struct Case {
    std::optional<double> restart_seconds;
    bool use;
    std::size_t replicas;
  };
  for (const auto& [restart_seconds, use, replicas] : std::vector<Case>{{{}, true, 3},   // As usual: 30 s.
                                                                        {10, true, 3},   //
                                                                        {300, true, 2},  //
                                                                        {300, false, 3}}) {
    Snapshot snapshot = Cluster({3});
    AddJob(snapshot, "a", 3, {"node-0", "node-0"}).restart_seconds = restart_seconds;
    EXPECT_EQ(Propose("genetic", snapshot, {.use_restart_cost = use}).allocation["a"].size(), replicas)
        << restart_seconds.value_or(-1) << " " << use;
  }
}

// Each switch does what leaving the field out does, and nothing else.
TEST(ValueTest, SwitchesLeaveOutOneFieldEach) {
  Snapshot snapshot = Cluster({4, 4});
  for (int i = 0; i < 4; ++i) {
    SnapshotJob& job = AddJob(snapshot, "job-" + std::to_string(i), 8);
    SetScaling(job, 0.5);
    if (i < 2) job.total_progress = 1000 * (i + 1);
    job.attained_service = 5000 * i;
    job.restart_seconds = 60 * (i + 1);
    job.age = 100;
    job.restarts = 1;
  }
  for (const char* name : {"job-0", "job-2"}) snapshot.base_allocations[name] = {"node-0"};
  struct Case {
    PolicyOptions options;
    std::optional<double> SnapshotJob::*field;
  };
  for (const auto& [options, field] :
       std::vector<Case>{{{.use_remaining = false}, &SnapshotJob::total_progress},
                         {{.use_attained = false}, &SnapshotJob::attained_service},
                         {{.use_restart_cost = false}, &SnapshotJob::restart_seconds}}) {
    Snapshot without = snapshot;
    for (auto& [name, job] : without.jobs) (job.*field).reset();
    EXPECT_EQ(All(snapshot, options), All(without, {}));
    EXPECT_NE(All(snapshot, options), All(snapshot, {}));
    for (const Objective other : {Objective::kRelease, Objective::kPaper}) {
      PolicyOptions of_other = options;
      of_other.objective = other;
      EXPECT_EQ(All(snapshot, of_other), All(snapshot, {.objective = other}));
    }
  }
}

}  // namespace
}  // namespace adaptdl
