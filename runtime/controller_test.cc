#include "runtime/controller.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/sim/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Key Named(const std::string& name) { return {"ns", name}; }

class ControllerTest : public ::testing::Test {
 protected:
  void Make(std::size_t concurrency = 1) {
    controller_ = std::make_unique<Controller>(
        clock_, Controller::Options{.name = "test", .concurrency = concurrency}, [this] { return may_act_; },
        [this](const Key& key, Done<Outcome> done) {
          begun_.push_back(key.name);
          pending_[key.name] = std::move(done);
          if (answer_) Answer(key.name, *answer_);
        },
        Logger("test", {.sink = [this](std::string_view line) { log_.emplace_back(line); }}),
        ControllerMetrics::Make(metrics_).value());
  }

  void Answer(const std::string& name, Result<Outcome> result) {
    const Done<Outcome> done = std::move(pending_.at(name));
    pending_.erase(name);
    done(std::move(result));
  }

  void Settle() { clock_.RunFor(Duration::zero()); }

  VirtualClock clock_;
  Metrics metrics_;
  bool may_act_ = true;
  std::optional<Result<Outcome>> answer_;  // Given at once, where there is one.
  std::vector<std::string> begun_;
  std::map<std::string, Done<Outcome>> pending_;
  std::vector<std::string> log_;
  std::unique_ptr<Controller> controller_;
};

TEST_F(ControllerTest, KeepsToItsConcurrency) {
  Make(2);
  for (const char* name : {"a", "b", "c"}) controller_->Enqueue(Named(name));
  EXPECT_THAT(begun_, IsEmpty());
  Settle();
  EXPECT_THAT(begun_, ElementsAre("a", "b"));
  Answer("b", Outcome{});
  Settle();
  EXPECT_THAT(begun_, ElementsAre("a", "b", "c"));
}

TEST_F(ControllerTest, ChangedInWorkItIsLookedAtOnceMore) {
  Make(2);
  controller_->Enqueue(Named("a"));
  Settle();
  controller_->Enqueue(Named("a"));
  Settle();
  EXPECT_THAT(begun_, ElementsAre("a"));
  Answer("a", Outcome{});
  Settle();
  EXPECT_THAT(begun_, ElementsAre("a", "a"));
}

TEST_F(ControllerTest, LooksAgainWhenAskedTo) {
  Make();
  answer_ = Outcome{};
  controller_->EnqueueAfter(Named("a"), seconds(1));
  clock_.RunFor(seconds(2));
  EXPECT_THAT(begun_, SizeIs(1));
  answer_ = Outcome{.again_after = seconds(10)};
  controller_->Enqueue(Named("a"));
  clock_.RunFor(seconds(35));
  EXPECT_THAT(begun_, SizeIs(1 + 4));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(ControllerTest, FailuresAreRetriedEverMoreSlowlyAndReported) {
  Make();
  answer_ = Fail(ErrorCode::kUnavailable, "no route\nto host", true);
  controller_->Enqueue(Named("a"));
  clock_.RunFor(std::chrono::minutes(10));
  EXPECT_GT(begun_.size(), 20u);
  EXPECT_LT(begun_.size(), 60u);
  ASSERT_THAT(log_, SizeIs(begun_.size()));
  EXPECT_THAT(log_[0], HasSubstr("key=ns/a"));
  EXPECT_THAT(log_[0], HasSubstr("no route\\\\x0ato host"));
  answer_ = Outcome{};
  clock_.RunFor(seconds(30));
  const std::size_t so_far = begun_.size();
  clock_.RunFor(std::chrono::hours(1));
  EXPECT_EQ(begun_.size(), so_far);  // It went well: nothing is left to retry.
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_reconcile_total{controller=\"test\",result=\"ok\"} 1\n"));
}

TEST_F(ControllerTest, AConflictIsLookedAtAgainSoonWithoutALine) {
  Make();
  answer_ = Fail(ErrorCode::kConflict, "changed meanwhile");
  controller_->Enqueue(Named("a"));
  Settle();
  answer_ = Outcome{};
  clock_.RunFor(milliseconds(100));
  EXPECT_THAT(begun_, SizeIs(2));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(ControllerTest, TakesNothingUntilItMayAct) {
  may_act_ = false;
  Make();
  controller_->Enqueue(Named("a"));
  clock_.RunFor(seconds(60));
  EXPECT_THAT(begun_, IsEmpty());
  controller_->Measure();
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_queue_depth{controller=\"test\"} 1\n"));
  EXPECT_THAT(metrics_.Render(), HasSubstr("adaptdl_queue_oldest_seconds{controller=\"test\"} 60\n"));
  may_act_ = true;
  controller_->Wake();
  Settle();
  EXPECT_THAT(begun_, ElementsAre("a"));
}

TEST_F(ControllerTest, OneThatAlwaysWantsMoreDoesNotHoldUpTheRest) {
  Make();
  answer_ = Outcome{.again_after = Duration::zero()};
  controller_->Enqueue(Named("a"));
  controller_->Enqueue(Named("b"));
  bool posted = false;
  clock_.Post([&] { posted = true; });
  EXPECT_TRUE(clock_.RunUntil([&] { return posted && begun_.size() == 4; }, seconds(1)));
  EXPECT_THAT(begun_, ElementsAre("a", "b", "a", "b"));
}

TEST_F(ControllerTest, DrainsWhatIsInWorkAndTakesNothingMore) {
  Make();
  controller_->Enqueue(Named("a"));
  controller_->Enqueue(Named("b"));
  Settle();
  bool drained = false;
  controller_->Drain([&] { drained = true; });
  controller_->Enqueue(Named("c"));
  clock_.RunFor(seconds(60));
  EXPECT_FALSE(drained);
  Answer("a", Fail(ErrorCode::kUnavailable, "no", true));
  EXPECT_FALSE(drained);
  clock_.RunFor(seconds(60));
  EXPECT_TRUE(drained);
  EXPECT_THAT(begun_, ElementsAre("a"));
}

TEST_F(ControllerTest, AnAnswerAfterItsEndIsIgnored) {
  Make();
  controller_->Enqueue(Named("a"));
  Settle();
  controller_->Enqueue(Named("b"));  // Leaves a task behind, too.
  controller_.reset();
  Answer("a", Outcome{});
  Settle();
  EXPECT_THAT(begun_, ElementsAre("a"));
}

}  // namespace
}  // namespace adaptdl
