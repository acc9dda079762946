#include "simulator/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "simulator/alone.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;

Workload Small() {
  return {{"a", 10, "resnet", 2, 256},
          {"b", 15, "recommender", 1, 32768},
          {"c", 400, "resnet", 4, 512},
          {"d", 405, "transformer", 2, 64}};
}

SimResult MustReplay(const Applications& applications, const Workload& workload, const std::string& policy,
                     const ReplayOptions& options, const PolicyOptions& policy_options = {}) {
  auto result = Replay(applications, workload, policy, policy_options, options, {});
  EXPECT_TRUE(result) << result.error().message;
  return result.value_or(SimResult{});
}

TEST(Replay, EveryJobEndsAfterItsSubmissionUnderEveryPolicy) {
  const Applications applications = SyntheticApplications();
  for (const std::string_view policy : kPolicyNames) {
    const SimResult result = MustReplay(applications, Small(), std::string(policy), {.nodes = 2});
    ASSERT_EQ(result.jobs.size(), 4U) << policy;
    for (const SimulatedJob& job : result.jobs) {
      EXPECT_GE(job.started, job.submitted) << policy << " " << job.name;
      EXPECT_GT(job.finished, job.started) << policy << " " << job.name;
      EXPECT_GT(job.gpu_seconds, 0) << policy << " " << job.name;
      EXPECT_GE(job.restarts, 0) << policy << " " << job.name;
    }
    EXPECT_LE(result.p50_jct, result.p99_jct);
    EXPECT_GE(result.makespan, result.jobs.back().finished);
  }
}

// Spans follow each other without a gap, end when the job does, and add up to its GPU time.
TEST(Replay, SpansTellTheWholeLifeOfAJob) {
  const SimResult result = MustReplay(SyntheticApplications(), GenerateWorkload({.jobs = 30, .hours = 1}),
                                      "genetic", {.nodes = 3});
  for (const SimulatedJob& job : result.jobs) {
    double at = job.submitted;
    double gpu_seconds = 0;
    for (const AllocationSpan& span : job.spans) {
      EXPECT_DOUBLE_EQ(span.start, at) << job.name;
      EXPECT_GE(span.end, span.start) << job.name;
      for (const int replicas : span.placement) gpu_seconds += replicas * (span.end - span.start);
      at = span.end;
    }
    EXPECT_DOUBLE_EQ(at, job.finished) << job.name;
    EXPECT_NEAR(gpu_seconds, job.gpu_seconds, 1e-6 * job.gpu_seconds) << job.name;
  }
}

TEST(Replay, NeverGivesMoreThanThereIs) {
  const SimResult result = MustReplay(SyntheticApplications(), GenerateWorkload({.jobs = 40, .hours = 1}),
                                      "genetic", {.nodes = 3, .gpus = 2});
  for (const ClusterSample& sample : result.samples) EXPECT_LE(sample.used_gpus, 6);
}

TEST(Replay, SameSeedSameResult) {
  const Applications applications = SyntheticApplications();
  const Workload workload = GenerateWorkload({.jobs = 25, .hours = 1});
  const SimResult a = MustReplay(applications, workload, "genetic", {.nodes = 4, .seed = 3});
  const SimResult b = MustReplay(applications, workload, "genetic", {.nodes = 4, .seed = 3});
  ASSERT_EQ(a.jobs.size(), b.jobs.size());
  for (std::size_t i = 0; i < a.jobs.size(); ++i) EXPECT_EQ(a.jobs[i].finished, b.jobs[i].finished);
}

TEST(Replay, AJobAloneTakesWhatTheTruthSays) {
  const Applications applications = SyntheticApplications();
  const Application& application = *applications.at("recommender");  // Fixed batch size, one replica.
  const Workload workload = {{"a", 0, "recommender", 1, 32768}};
  const SimResult result = MustReplay(applications, workload, "genetic", {.nodes = 1, .event_rounds = false});
  AloneTime alone(application, 4);
  EXPECT_NEAR(result.jobs[0].CompletionTime(), alone(1) + 60, 1e-6);  // It waits for the first round.
}

TEST(Replay, EventRoundsDoNotLetAJobWait) {
  const Workload workload = {{"a", 5, "recommender", 1, 32768}};
  const SimResult prompt = MustReplay(SyntheticApplications(), workload, "genetic", {.nodes = 1});
  const SimResult slow =
      MustReplay(SyntheticApplications(), workload, "genetic", {.nodes = 1, .event_rounds = false});
  EXPECT_DOUBLE_EQ(prompt.jobs[0].started, 6);
  EXPECT_DOUBLE_EQ(slow.jobs[0].started, 60);
}

TEST(Replay, UnknownApplicationIsAnError) {
  const auto result = Replay(SyntheticApplications(), {{"a", 0, "chess\n", 1, 1}}, "genetic", {}, {}, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("there is no application chess\\x0a"));
}

TEST(Replay, AJobThatNeverRunsIsAnErrorNotAnEndlessReplay) {
  const auto result =
      Replay(SyntheticApplications(), {{"wide", 0, "resnet", 64, 4096}}, "tiresias", {}, {.nodes = 1}, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("wide: never gets to run"));
}

TEST(Replay, AutoscalingAddsNodesWithADelayAndGivesThemUp) {
  const ReplayOptions options{.nodes = 1, .min_nodes = 1, .max_nodes = 8, .node_delay = 100};
  const Workload workload = GenerateWorkload({.jobs = 40, .hours = 1});
  const SimResult result = MustReplay(SyntheticApplications(), workload, "genetic", options);
  int most = 0;
  for (const ClusterSample& sample : result.samples) {
    EXPECT_GE(sample.nodes, 1);
    EXPECT_LE(sample.nodes, 8);
    EXPECT_LE(sample.used_gpus, sample.gpus);
    if (sample.time < 100) {
      EXPECT_EQ(sample.nodes, 1);
    }
    most = std::max(most, sample.nodes);
  }
  EXPECT_GT(most, 4);
  EXPECT_LT(result.node_hours, 8 * result.makespan / 3600);
}

// --- Honesty: a policy knows what the daemon would know, and no more.

// Counts who asks for the truth while a policy thinks.
std::atomic<bool> thinking = false;
std::atomic<int> asked = 0;

class Guarded : public Application {
 public:
  explicit Guarded(std::unique_ptr<const Application> truth) : truth_(std::move(truth)) {}
  [[nodiscard]] const ApplicationSpec& spec() const override { return truth_->spec(); }
  [[nodiscard]] StepTime Step(std::span<const int> placement, std::int64_t local_bsz) const override {
    Note();
    return truth_->Step(placement, local_bsz);
  }
  [[nodiscard]] GradParams Gradient(double batch_size, int epoch) const override {
    Note();
    return truth_->Gradient(batch_size, epoch);
  }
  [[nodiscard]] double Progress(int epoch) const override {
    Note();
    return truth_->Progress(epoch);
  }

 private:
  static void Note() {
    if (thinking) ++asked;
  }
  std::unique_ptr<const Application> truth_;
};

class Thinking : public Policy {
 public:
  explicit Thinking(std::unique_ptr<const Policy> policy) : policy_(std::move(policy)) {}
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override {
    thinking = true;
    Proposal proposal = policy_->Propose(snapshot, rng);
    thinking = false;
    return proposal;
  }

 private:
  std::unique_ptr<const Policy> policy_;
};

int TruthsAsked(const std::string& name) {
  Applications guarded;
  Applications truths = SyntheticApplications();
  for (auto& [app, application] : truths) guarded[app] = std::make_unique<Guarded>(std::move(application));
  asked = 0;
  const auto make = [&](const RemainingTime& oracle) -> Result<std::unique_ptr<const Policy>> {
    PolicyOptions options;
    if (name == "optimus") options.remaining_time = oracle;
    auto policy = MakePolicy(name, options);
    return std::make_unique<Thinking>(*std::move(policy));
  };
  EXPECT_TRUE(Replay(guarded, Small(), make, Sizing::kElastic, {.nodes = 2}, {}));
  return asked;
}

TEST(HonestReplay, NoPolicyButTheOracleReachesTheTruth) {
  for (const std::string_view name : kPolicyNames) {
    if (name == "optimus") {
      EXPECT_GT(TruthsAsked("optimus"), 0) << "the test would not notice";
    } else {
      EXPECT_EQ(TruthsAsked(std::string(name)), 0) << name;
    }
  }
}

// The same until an epoch, another truth after it; notes when that is first asked for.
class Diverging : public Application {
 public:
  Diverging(std::unique_ptr<const Application> truth, double factor, bool& reached)
      : truth_(std::move(truth)), factor_(factor), reached_(reached) {}
  [[nodiscard]] const ApplicationSpec& spec() const override { return truth_->spec(); }
  [[nodiscard]] StepTime Step(std::span<const int> placement, std::int64_t local_bsz) const override {
    return truth_->Step(placement, local_bsz);
  }
  [[nodiscard]] GradParams Gradient(double batch_size, int epoch) const override {
    GradParams grad = truth_->Gradient(batch_size, epoch);
    if (epoch >= kEpoch) {
      reached_ = true;
      grad.var *= factor_;
    }
    return grad;
  }
  [[nodiscard]] double Progress(int epoch) const override {
    if (epoch <= kEpoch) return truth_->Progress(epoch);
    reached_ = true;
    return truth_->Progress(kEpoch) + factor_ * (truth_->Progress(epoch) - truth_->Progress(kEpoch));
  }

 private:
  static constexpr int kEpoch = 5;
  std::unique_ptr<const Application> truth_;
  double factor_;
  bool& reached_;
};

// Keeps what was proposed before the truths part.
class Recording : public Policy {
 public:
  Recording(std::unique_ptr<const Policy> policy, const bool& reached, std::vector<Allocation>& before)
      : policy_(std::move(policy)), reached_(reached), before_(before) {}
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override {
    Proposal proposal = policy_->Propose(snapshot, rng);
    if (!reached_) before_.push_back(proposal.allocation);
    return proposal;
  }

 private:
  std::unique_ptr<const Policy> policy_;
  const bool& reached_;
  std::vector<Allocation>& before_;
};

// What is decided before a job reaches the epoch from which on the truths differ is the same, whatever comes
// after.
TEST(HonestReplay, TheFutureOfTheTracesChangesNothingBeforeIt) {
  const Workload workload = {
      {"a", 0, "transformer", 2, 64}, {"b", 30, "transformer", 2, 64}, {"c", 60, "speech", 2, 64}};
  std::vector<std::vector<Allocation>> before;
  std::vector<double> ends;
  for (const double factor : {1.0, 20.0}) {
    bool reached = false;
    Applications applications = SyntheticApplications();
    for (auto& [name, application] : applications) {
      application = std::make_unique<Diverging>(std::move(application), factor, reached);
    }
    std::vector<Allocation>& log = before.emplace_back();
    const auto make = [&](const RemainingTime&) -> Result<std::unique_ptr<const Policy>> {
      return std::make_unique<Recording>(*MakePolicy("genetic", {}), reached, log);
    };
    const auto result = Replay(applications, workload, make, Sizing::kElastic, {.nodes = 2}, {});
    ASSERT_TRUE(result);
    ends.push_back(result->makespan);
  }
  EXPECT_NE(ends[0], ends[1]);
  EXPECT_GE(before[0].size(), 3U) << "too short to tell";
  EXPECT_EQ(before[0], before[1]);
}

// --- Fidelity, on the measurements of the paper.

std::optional<std::string> OsdiDirectory() {
  const char* given =
      std::getenv("ADAPTDL_OSDI21_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  std::string path = given != nullptr ? given : ADAPTDL_SOURCE_DIR "/../shared/data/osdi21";
  if (!std::filesystem::exists(path + "/traces")) return std::nullopt;
  return path;
}

struct Published {
  const char* workload;
  double pollux, tiresias, optimus;  // Average completion time in seconds.

  friend void PrintTo(const Published& published, std::ostream* out) { *out << published.workload; }
};

class Fidelity : public testing::TestWithParam<Published> {
 protected:
  static double Average(const std::string& policy, Objective objective, bool own) {
    const std::string directory = *OsdiDirectory();
    static const Applications applications = *LoadTraces(directory + "/traces");
    std::ifstream file(directory + "/" + GetParam().workload);
    std::stringstream text;
    text << file.rdbuf();
    const auto workload = ParseWorkload(text.str());
    EXPECT_TRUE(workload);
    const ReplayOptions options{.declared_epochs = own, .family_priors = own, .event_rounds = own};
    return MustReplay(applications, *workload, policy, options, {.objective = objective, .effort = 0.1})
        .average_jct;
  }
};

TEST_P(Fidelity, PublishedTimesWithinFivePerCent) {
  if (!OsdiDirectory()) GTEST_SKIP() << "the OSDI'21 measurements are not here";
  EXPECT_NEAR(Average("genetic", Objective::kPaper, false) / GetParam().pollux, 1, 0.05);
  EXPECT_NEAR(Average("tiresias", Objective::kPaper, false) / GetParam().tiresias, 1, 0.05);
  EXPECT_NEAR(Average("optimus", Objective::kPaper, false) / GetParam().optimus, 1, 0.05);
}

TEST_P(Fidelity, OursIsShorterThanPollux) {
  if (!OsdiDirectory()) GTEST_SKIP() << "the OSDI'21 measurements are not here";
  EXPECT_LT(Average("genetic", Objective::kCompletion, true) / GetParam().pollux, 0.97);
}

INSTANTIATE_TEST_SUITE_P(Osdi21, Fidelity,
                         testing::Values(Published{"workloads/workload-1.csv", 2088.8, 2473.7, 4087.1},
                                         Published{"workloads/workload-3.csv", 2188.5, 3876.3, 3944.0}));

}  // namespace
}  // namespace adaptdl
