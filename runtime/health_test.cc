#include "runtime/health.h"

#include <chrono>
#include <string>
#include <thread>

#include "cluster/sim/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using Probe = Health::Probe;

HttpResponse Ask(const HttpHandler& handler, const std::string& path, const std::string& method = "GET",
                 bool verbose = false) {
  HttpResponse answer;
  HttpRequest request{.method = method, .path = path};
  if (verbose) request.query["verbose"] = "";
  handler(std::move(request), Responder([&](HttpResponse response) { answer = std::move(response); }));
  return answer;
}

TEST(Health, IsWellUntilSomebodySaysOtherwise) {
  const Health health;
  const Metrics metrics;
  const HttpHandler handler = HealthHandler(health, metrics);
  for (const std::string path : {"/healthz", "/livez", "/readyz"}) {
    EXPECT_EQ(Ask(handler, path).status, 200) << path;
    EXPECT_EQ(Ask(handler, path).body, "ok") << path;
    EXPECT_EQ(Ask(handler, path, "HEAD").status, 200) << path;
  }
}

TEST(Health, ReportsWhatFailsWithLivenessAndReadinessApart) {
  Health health;
  const Metrics metrics;
  const HttpHandler handler = HealthHandler(health, metrics);
  health.Set(Probe::kReady, "watch", Fail(ErrorCode::kUnavailable, "no\nserver"));
  health.Set(Probe::kReady, "leader", {});
  health.Set(Probe::kLive, "loop", {});
  EXPECT_EQ(Ask(handler, "/livez").body, "ok");
  EXPECT_EQ(Ask(handler, "/readyz").status, 503);
  EXPECT_EQ(Ask(handler, "/readyz").body, "[-]watch failed: no\\x0aserver\n");
  EXPECT_EQ(Ask(handler, "/readyz", "GET", true).body, "[+]leader ok\n[-]watch failed: no\\x0aserver\n");
  EXPECT_EQ(Ask(handler, "/healthz", "GET", true).body, "[+]loop ok\nok");
  health.Set(Probe::kReady, "watch", {});
  EXPECT_EQ(Ask(handler, "/readyz").status, 200);
}

TEST(Health, ALoopThatComesRoundIsLive) {
  VirtualClock clock;
  Health health;
  health.WatchOver("loop", clock, seconds(10));
  clock.RunFor(seconds(1000));
  EXPECT_TRUE(health.Check(Probe::kLive).at("loop").has_value());
  EXPECT_TRUE(health.Check(Probe::kReady).empty());
}

// A clock whose thread never comes to run anything.
class StuckClock final : public Clock {
 public:
  Instant Now() const override { return now; }
  Time Wall() const override { return {}; }
  void Post(std::function<void()>) override {}
  Timer After(Duration, std::function<void()>) override { return nullptr; }

  Instant now{};
};

TEST(Health, ALoopThatIsStuckIsNotLive) {
  StuckClock clock;
  Health health;
  health.WatchOver("loop", clock, seconds(10));
  clock.now += seconds(10);
  EXPECT_TRUE(health.Check(Probe::kLive).at("loop").has_value());
  clock.now += seconds(1);
  const Result<void> state = health.Check(Probe::kLive).at("loop");
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error(), (Error{ErrorCode::kTimeout, "did not come round for more than 10 s"}));
}

TEST(Health, ServesMetricsAndNothingElse) {
  const Health health;
  Metrics metrics;
  metrics.AddCounter("c", "h").value().Increment();
  const HttpHandler handler = HealthHandler(health, metrics);
  const HttpResponse page = Ask(handler, "/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.content_type, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_EQ(page.body, "# HELP c h\n# TYPE c counter\nc 1\n");
  EXPECT_EQ(Ask(handler, "/").status, 404);
  EXPECT_EQ(Ask(handler, "/metrics/").status, 404);
  EXPECT_EQ(Ask(handler, "/metrics", "POST").status, 405);
  EXPECT_EQ(Ask(handler, "/livez", "DELETE").status, 405);
}

TEST(ThreadsHealth, MayBeAskedAndToldFromAnyThread) {
  EventLoop loop;
  Health health;
  health.WatchOver("loop", loop, seconds(3600));
  std::thread tells([&] {
    for (int i = 0; i < 1000; ++i)
      health.Set(Probe::kReady, "part", i % 2 == 0 ? Result<void>() : Invalid("odd"));
    loop.Stop();
  });
  std::thread asks([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(health.Check(Probe::kLive).at("loop").has_value());
  });
  loop.Run();
  tells.join();
  asks.join();
  EXPECT_FALSE(health.Check(Probe::kReady).at("part").has_value());
}

}  // namespace
}  // namespace adaptdl
