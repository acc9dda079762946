#include "runtime/metrics.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, ExactTextOfEachKind) {
  Metrics metrics;
  const Counter submitted =
      metrics.AddCounter("adaptdl_sched_job_submission_count", "Number of submitted jobs").value();
  const Histogram completion = metrics
                                   .AddHistogram("adaptdl_sched_job_completion_time",
                                                 "Duration of completed jobs", {60, 3600}, {"status"})
                                   .value();
  const Gauge goodput = metrics.AddGauge("adaptdl_job_goodput", "Examples a second", {"ns", "job"}).value();
  submitted.Increment();
  submitted.Increment({}, 2);
  completion.Observe(30, {"Succeeded"});
  completion.Observe(7200.5, {"Succeeded"});
  completion.Observe(60, {"Failed"});
  goodput.Set(12.5, {"b", "x"});
  goodput.Set(1, {"a", "y"});
  goodput.Set(-2, {"a", "y"});
  EXPECT_EQ(metrics.Render(), R"(# HELP adaptdl_job_goodput Examples a second
# TYPE adaptdl_job_goodput gauge
adaptdl_job_goodput{job="x",ns="b"} 12.5
adaptdl_job_goodput{job="y",ns="a"} -2
# HELP adaptdl_sched_job_completion_time Duration of completed jobs
# TYPE adaptdl_sched_job_completion_time histogram
adaptdl_sched_job_completion_time_count{status="Failed"} 1
adaptdl_sched_job_completion_time_sum{status="Failed"} 60
adaptdl_sched_job_completion_time_bucket{status="Failed",le="60"} 1
adaptdl_sched_job_completion_time_bucket{status="Failed",le="3600"} 1
adaptdl_sched_job_completion_time_bucket{status="Failed",le="+Inf"} 1
adaptdl_sched_job_completion_time_count{status="Succeeded"} 2
adaptdl_sched_job_completion_time_sum{status="Succeeded"} 7230.5
adaptdl_sched_job_completion_time_bucket{status="Succeeded",le="60"} 1
adaptdl_sched_job_completion_time_bucket{status="Succeeded",le="3600"} 1
adaptdl_sched_job_completion_time_bucket{status="Succeeded",le="+Inf"} 2
# HELP adaptdl_sched_job_submission_count Number of submitted jobs
# TYPE adaptdl_sched_job_submission_count counter
adaptdl_sched_job_submission_count 3
)");
}

TEST(Metrics, WithoutLabelsItShowsAsZeroFromTheStart) {
  Metrics metrics;
  ASSERT_TRUE(metrics.AddCounter("c", "h").has_value());
  ASSERT_TRUE(metrics.AddGauge("with_label", "h", {"job"}).has_value());
  EXPECT_EQ(metrics.Render(), "# HELP c h\n# TYPE c counter\nc 0\n");
}

TEST(Metrics, CounterNeverGoesDown) {
  Metrics metrics;
  const Counter counter = metrics.AddCounter("c", "h").value();
  counter.Increment({}, 5);
  counter.Increment({}, -3);
  EXPECT_THAT(metrics.Render(), HasSubstr("\nc 5\n"));
}

TEST(Metrics, RemovedSeriesIsGoneAndMayComeBack) {
  Metrics metrics;
  const Gauge gauge = metrics.AddGauge("g", "h", {"job"}).value();
  gauge.Set(1, {"a"});
  gauge.Set(2, {"b"});
  gauge.Remove({"a"});
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("job=\"a\"")));
  EXPECT_THAT(metrics.Render(), HasSubstr("g{job=\"b\"} 2\n"));
  gauge.Set(3, {"a"});
  EXPECT_THAT(metrics.Render(), HasSubstr("g{job=\"a\"} 3\n"));
}

TEST(Metrics, LabelValuesFromOutsideCannotBreakTheText) {
  Metrics metrics;
  metrics.AddGauge("g", "two\nlines", {"job"}).value().Set(1, {"a\"\n\xff} 9"});
  EXPECT_EQ(metrics.Render(),
            "# HELP g two\\x0alines\n# TYPE g gauge\n"
            "g{job=\"a\\\"\\\\x0a\\\\xff} 9\"} 1\n");
}

TEST(Metrics, RefusesBadNames) {
  Metrics metrics;
  for (const std::string name : {"", "0abc", "a-b", "a b", "a\nb", "__reserved"}) {
    const auto counter = metrics.AddCounter(name, "h");
    ASSERT_FALSE(counter.has_value()) << name;
    EXPECT_EQ(counter.error().code, ErrorCode::kInvalid);
  }
  for (const std::string label : {"", "0a", "a-b", "a:b", "__x", "le"}) {
    EXPECT_FALSE(metrics.AddGauge("g", "h", {label}).has_value()) << label;
  }
  EXPECT_FALSE(metrics.AddGauge("g", "h", {"job", "job"}).has_value());
  EXPECT_FALSE(metrics.AddHistogram("h", "h", {2, 1}).has_value());
  EXPECT_FALSE(metrics.AddHistogram("h", "h", {1, 1}).has_value());
  EXPECT_FALSE(metrics.AddHistogram("h", "h", {1.0 / 0.0}).has_value());
  EXPECT_EQ(metrics.Render(), "");
}

TEST(Metrics, RefusesATakenNameOfAnyKind) {
  Metrics metrics;
  ASSERT_TRUE(metrics.AddCounter("x", "h").has_value());
  EXPECT_EQ(metrics.AddCounter("x", "h").error().message, "metric x: created twice");
  EXPECT_FALSE(metrics.AddGauge("x", "other").has_value());
}

TEST(Metrics, HandleOutlivesItsRegistryAndMayHaveNone) {
  Counter counter;
  counter.Increment();
  {
    Metrics metrics;
    counter = metrics.AddCounter("x", "h").value();
  }
  counter.Increment();
}

TEST(ThreadsMetrics, CountsOfManyThreadsAddUp) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  Metrics metrics;
  const Counter counter = metrics.AddCounter("c", "h", {"kind"}).value();
  const Gauge gauge = metrics.AddGauge("g", "h", {"job"}).value();
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        counter.Increment({i % 2 == 0 ? "even" : "odd"});
        gauge.Set(i, {"a"});
        gauge.Remove({"a"});  // While another thread is setting it.
        if (i % 100 == 0) {
          EXPECT_THAT(metrics.Render(), HasSubstr("# TYPE c counter"));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics.Render(), "# HELP c h\n# TYPE c counter\nc{kind=\"even\"} 1000\nc{kind=\"odd\"} 1000\n");
}

}  // namespace
}  // namespace adaptdl
