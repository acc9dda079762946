#include "runtime/log.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// 2026-01-01T00:00:00.007Z
constexpr std::chrono::system_clock::time_point kNow{std::chrono::milliseconds{1767225600007}};

LogOptions Into(std::vector<std::string>& lines, LogFormat format = LogFormat::kText,
                LogLevel level = LogLevel::kDebug) {
  return {.level = level,
          .format = format,
          .sink = [&lines](std::string_view line) { lines.emplace_back(line); },
          .now = [] { return kNow; }};
}

TEST(Log, OneTextLineForEachEvent) {
  std::vector<std::string> lines;
  const Logger log("operator", Into(lines));
  log.Debug("looked");
  log.Info("job started", {{"job", "ns/name"}, {"group", 3}});
  log.Warn("slow", {{"seconds", 1.5}, {"size", std::size_t{7}}, {"again", true}});
  log.Error("lost {} %v", {{"reason", std::string("gone")}, {"delta", -4L}});
  EXPECT_THAT(lines, ElementsAre("2026-01-01T00:00:00.007Z DEBUG operator looked",
                                 "2026-01-01T00:00:00.007Z INFO  operator job started job=ns/name group=3",
                                 "2026-01-01T00:00:00.007Z WARN  operator slow seconds=1.5 size=7 again=true",
                                 "2026-01-01T00:00:00.007Z ERROR operator lost {} %v reason=gone delta=-4"));
}

TEST(Log, TextValuesAreSafeAndUnambiguous) {
  std::vector<std::string> lines;
  const Logger log("op", Into(lines));
  log.Info("a\nb",
           {{"empty", ""}, {"space", "a b"}, {"quote", "a\"b"}, {"equals", "a=b"}, {"break", "a\nb"}});
  EXPECT_THAT(lines, ElementsAre("2026-01-01T00:00:00.007Z INFO  op a\\x0ab empty=\"\" space=\"a b\" "
                                 "quote=\"a\\\"b\" equals=\"a=b\" break=a\\x0ab"));
}

TEST(Log, JsonLines) {
  std::vector<std::string> lines;
  const Logger log("op", Into(lines, LogFormat::kJson));
  log.Warn("say \"hi\"", {{"job", "a\\b"}, {"n", 1}, {"x", 0.25}, {"ok", false}});
  EXPECT_THAT(lines, ElementsAre(R"({"time":"2026-01-01T00:00:00.007Z","level":"warn","component":"op",)"
                                 R"("message":"say \"hi\"","job":"a\\b","n":1,"x":0.25,"ok":false})"));
}

TEST(Log, JsonKeepsNumbersThatItCannotSpellAsText) {
  std::vector<std::string> lines;
  Logger("op", Into(lines, LogFormat::kJson)).Info("m", {{"x", std::numeric_limits<double>::infinity()}});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["x"], "inf");
}

TEST(Log, DropsWhatIsBelowItsLevel) {
  std::vector<std::string> lines;
  const Logger log("op", Into(lines, LogFormat::kText, LogLevel::kWarn));
  log.Debug("no");
  log.Info("no");
  log.Warn("yes");
  log.Error("yes");
  EXPECT_EQ(lines.size(), 2U);
  EXPECT_FALSE(log.Enabled(LogLevel::kInfo));
  EXPECT_TRUE(log.Enabled(LogLevel::kWarn));
}

TEST(Log, NamedWritesToTheSamePlaceAtTheSameLevel) {
  std::vector<std::string> lines;
  const Logger log("op", Into(lines, LogFormat::kText, LogLevel::kInfo));
  const Logger other = log.Named("webhook");
  other.Debug("no");
  other.Info("denied");
  log.Info("seen");
  EXPECT_THAT(lines, ElementsAre("2026-01-01T00:00:00.007Z INFO  webhook denied",
                                 "2026-01-01T00:00:00.007Z INFO  op seen"));
}

TEST(Log, WritesToStderrByDefault) {
  testing::internal::CaptureStderr();
  Logger("op", {.now = [] { return kNow; }}).Info("here");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "2026-01-01T00:00:00.007Z INFO  op here\n");
}

RC_GTEST_PROP(LogProperty, AnyTextGivesOneLineThatIsOneJsonObject,
              (const std::string& message, const std::string& value, double number)) {
  std::vector<std::string> lines;
  Logger("op", Into(lines, LogFormat::kJson)).Info(message, {{"value", value}, {"number", number}});
  RC_ASSERT(lines.size() == 1U);
  RC_ASSERT(lines[0].find('\n') == std::string::npos);
  const auto parsed = nlohmann::json::parse(lines[0], nullptr, false);
  RC_ASSERT(parsed.is_object());
  RC_ASSERT(parsed.size() == 6U);
  if (std::isfinite(number)) RC_ASSERT(parsed["number"].get<double>() == number);
}

TEST(ThreadsLog, LinesOfManyThreadsStayWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  std::vector<std::string> lines;
  const Logger log("op", Into(lines));
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log, t] {
      const Logger mine = log.Named("t" + std::to_string(t));
      for (int i = 0; i < kLines; ++i) mine.Info("step", {{"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::map<std::string, int> next;  // What each thread is to write next: its own lines keep their order.
  for (const std::string& line : lines) {
    const std::string name = line.substr(31, 2);
    EXPECT_EQ(line, "2026-01-01T00:00:00.007Z INFO  " + name + " step i=" + std::to_string(next[name]++));
  }
  using Count = std::pair<const std::string, int>;
  EXPECT_THAT(next, UnorderedElementsAre(Count{"t0", kLines}, Count{"t1", kLines}, Count{"t2", kLines},
                                         Count{"t3", kLines}));
}

}  // namespace
}  // namespace adaptdl
