// Jobs come to their end whatever becomes of the operator, the API server and etcd in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>
#include <set>

#include "nlohmann/json.hpp"
#include "tests/e2e/operator_fixture.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class OperatorFaults : public OperatorTest {
 protected:
  json TheLease() const {
    return json::parse(Server().Kubectl({"get", "lease", "adaptdl-operator", "-n", "adaptdl", "-o", "json"}));
  }
  bool EventuallyWrites(const ChildProgram& program, const std::string& text) {
    return Eventually([&] { return program.output().find(text) != std::string::npos; });
  }
};

TEST_F(OperatorFaults, AnotherTakesOver) {
  ChildProgram& first = StartOperator({"--lease.identity", "first"});
  ASSERT_TRUE(EventuallyWrites(first, "leading"));
  ChildProgram& second = StartOperator({"--lease.identity", "second"});
  Submit("train", {.annotations = R"("played/grace": "2")"});
  Allocate("train", {"played-0", "played-1"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, 0));
  // It is killed in the midst of a restart.
  Allocate("train", {"played-2"});
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kStopping, 0));
  EXPECT_EQ(EndOperator(first, SIGKILL), 128 + SIGKILL);
  EXPECT_THAT(second.output(), Not(HasSubstr("leading")));
  ASSERT_TRUE(EventuallyWrites(second, "leading"));
  ASSERT_TRUE(EventuallyIn("train", JobPhase::kRunning, 1));
  // One that is told to end gives the lease back.
  EXPECT_EQ(EndOperator(second, SIGTERM), 0);
  EXPECT_FALSE(TheLease().at("spec").contains("holderIdentity"));
}

// Many jobs which are started, moved again and again, and ended, by a scheduler and kubelets that are played
// here.
class OperatorLoad : public OperatorFaults {
 protected:
  void Begin(int jobs) {
    jobs_->Subscribe([this](const Key&, const Job*, const Job*) { ++changes_; });
    for (int i = 0; i < jobs; ++i) Create("job-" + std::to_string(i));
    submitted_ = static_cast<std::size_t>(jobs);
    Play();
  }

  void Create(const std::string& name) {
    cluster_->Create(Kind::kJob, Document::Parse(JobManifest(name, {})).value(),
                     [this, name](const Result<Object>& result) {
                       if (result || result.error().code == ErrorCode::kAlreadyExists) return;
                       ASSERT_TRUE(result.error().retryable) << result.error().message;
                       Create(name);
                     });
  }

  void Play() {
    for (const auto& job : jobs_->List()) {
      const JobStatus& status = job->status;
      const bool is_new = status.phase == JobPhase::kPending && status.allocation.empty();
      if (is_new) Move(*job);
      if (status.phase != JobPhase::kRunning) continue;
      if (stays_busy_(*job)) {
        Move(*job);
      } else {
        End(*job);
      }
    }
    again_ = loop_.After(std::chrono::milliseconds(20), [this] { Play(); });
  }

  void Move(const Job& job) {
    if (std::exchange(moved_[job.metadata.name], job.metadata.resource_version) ==
        job.metadata.resource_version) {
      return;
    }
    std::vector<std::string> nodes(2 + random_() % 3);
    for (std::string& node : nodes) node = "played-" + std::to_string(random_() % 6);
    Allocate(job.metadata.name, nodes);
  }

  void End(const Job& job) {
    for (const Pod& pod : replicas_->Of(job)) {
      if (pod.phase == PodPhase::kRunning && ended_.insert(pod.metadata.uid).second) EndReplica(pod, 0);
    }
  }

  std::int64_t Changes() const { return changes_ + replicas_->changes(); }
  std::size_t CountSucceeded() const {
    const auto jobs = jobs_->List();
    return static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [](const auto& job) { return job->status.phase == JobPhase::kSucceeded; }));
  }
  // Kills the operator so often while so many jobs are on their way.
  void KillWithin(int jobs, int kills) {
    // Some jobs end meanwhile, and others go round and round.
    stays_busy_ = [](const Job& job) {
      return job.status.group.value_or(0) < 2 || job.metadata.name.back() % 2 == 0;
    };
    const std::vector<std::string> flags = {"--lease.identity", "one", "--api.requests-per-second", "1000"};
    ChildProgram* program = &StartOperator(flags);  // The same again leads at once.
    Begin(jobs);
    for (int kill = 0; kill < kills; ++kill) {
      const auto moment = Changes() + static_cast<std::int64_t>(random_() % static_cast<unsigned>(10 * jobs));
      ASSERT_TRUE(Eventually([&] { return Changes() >= moment; }));
      EXPECT_EQ(EndOperator(*program, SIGKILL), 128 + SIGKILL);
      program = &StartOperator(flags);
    }
    ExpectAllToSucceed();
  }

  void ExpectAllToSucceed() {
    stays_busy_ = [](const Job&) { return false; };
    EXPECT_TRUE(Eventually([&] { return CountSucceeded() == submitted_; }));
    EXPECT_TRUE(Eventually([&] { return replicas_->size() == 0; })) << "pods are left over";
  }

  std::mt19937_64 random_{20260101};  // NOLINT(cert-msc51-cpp): the same every time.
  // Whether it is to be moved once more, and not to end.
  std::function<bool(const Job&)> stays_busy_ = [](const Job&) { return true; };

 private:
  std::size_t submitted_ = 0;
  std::int64_t changes_ = 0;
  std::map<std::string, std::string> moved_;  // At which version, by name.
  std::set<std::string> ended_;               // Pods by their uids.
  Timer again_;
};

TEST_F(OperatorLoad, OperatorKilledAtAnyMoment) { KillWithin(40, 15); }

// The same for programs that are slow because they watch over themselves.
TEST_F(OperatorLoad, OperatorKilledAFewTimes) { KillWithin(6, 4); }

TEST_F(OperatorLoad, ApiServerAndEtcdRestarted) {
  StartOperator();
  Begin(12);
  for (const char* part : {"apiserver", "etcd", "apiserver"}) {
    const std::int64_t moment = Changes() + 100;
    ASSERT_TRUE(Eventually([&] { return Changes() >= moment; })) << part;
    Server().Do({"restart", part});
  }
  ExpectAllToSucceed();
}

}  // namespace
}  // namespace adaptdl
