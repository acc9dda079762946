#include "cli/plot.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "runtime/utf8.h"

namespace adaptdl {
namespace {

using Mark = PlotSeries::Mark;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Terminal kUnicode{.is_terminal = true, .width = 100, .color = false, .unicode = true};
constexpr Terminal kAscii{.is_terminal = true, .width = 100, .color = false, .unicode = false};

Plot Speedup() {
  return {"Speedup",
          "replicas",
          {{"model", {{1, 1}, {2, 1.8}, {4, 3.1}, {8, 5}}, Mark::kLine},
           {"measured", {{1, 1}, {4, 3}, {8, 4}}, Mark::kPoints}},
          30,
          6};
}

std::string WithoutColor(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(Plot, DrawsInBraille) {
  EXPECT_EQ(Render(Speedup(), kUnicode), R"(Speedup
── model   ○ measured
  │                    ⢀⣀⡠⠤⠒⠒⠉
4 ┤              ⣀⡠⠤⠒⠒⠉⠁     ○
  │        ⣀⡠⠔○⠉⠉
2 ┤   ⢀⡠⠔⠊⠉
  │○⠒⠊⠁
0 ┤
  └────┬──────┬───────┬──────┬
       2      4       6      8
            replicas
)");
}

TEST(Plot, DrawsInAscii) {
  EXPECT_EQ(Render(Speedup(), kAscii), R"(Speedup
* model   x measured
  |                       ****
4 +               ********   x
  |        ***x***
2 +   *****
  |x**
0 +
  +----+------+-------+------+
       2      4       6      8
            replicas
)");
}

TEST(Plot, SecondLineIsDashed) {
  const Plot plot{
      "", "", {{"a", {{0, 1}, {10, 1}}, Mark::kLine}, {"b", {{0, 0}, {10, 0}}, Mark::kLine}}, 20, 3};
  EXPECT_EQ(Render(plot, kUnicode), R"(── a   ╌╌ b
1.0 ┤⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉
0.5 ┤
0.0 ┤⣀⡀ ⣀⡀ ⣀⡀ ⣀⡀ ⣀⡀
    └┬──────┬──────┬
     0      5     10
)");
}

TEST(Plot, ValuesTooSmallToTellApartAreOne) {
  EXPECT_EQ(Render({"", "", {{"", {{0, 0}, {0, 5e-324}}, Mark::kPoints}}, 20, 3}, kAscii), R"(1.0 +
0.5 +
0.0 +       o
    ++------+------+
    -1      0      1
)");
}

TEST(Plot, ColorChangesNothingElse) {
  Terminal colored = kUnicode;
  colored.color = true;
  const std::string text = Render(Speedup(), colored);
  EXPECT_THAT(text, HasSubstr("\x1b[32m"));
  EXPECT_THAT(text, HasSubstr("\x1b[33m"));
  EXPECT_EQ(WithoutColor(text), Render(Speedup(), kUnicode));
}

TEST(Plot, NothingToDraw) {
  EXPECT_EQ(Render({"Title", "", {}}, kUnicode), "Title\n(no data)\n");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Render({"", "", {{"a", {{nan, 1}, {1, nan}, {1, INFINITY}}, Mark::kLine}}}, kUnicode),
            "(no data)\n");
}

struct TickCase {
  double low;
  double high;
  std::vector<std::string> labels;
};

TEST(Plot, TicksAreRoundNumbers) {
  const TickCase cases[] = {
      {0, 10, {"10 +", " 5 +", " 0 +"}},
      {0, 1, {"1.0 +", "0.5 +", "0.0 +"}},
      {3, 97, {"80 +", "60 +", " 0 +"}},
      {90, 100, {"100 +", " 95 +", " 90 +"}},
      {-40000, 40000, {" 20k +", "   0 +", "-20k +"}},
      {0, 2.5e7, {"20M +", "10M +", "  0 +"}},
      {0, 4e-6, {"4e-06 +", "2e-06 +", "    0 +"}},
      {7, 7, {"10 +", " 8 +", " 6 +"}},
      {0, 0, {"1.0 +", "0.5 +", "0.0 +"}},
  };
  for (const TickCase& c : cases) {
    const std::string text = Render({"", "", {{"", {{0, c.low}, {1, c.high}}, Mark::kLine}}, 40, 8}, kAscii);
    for (const std::string& label : c.labels) EXPECT_THAT("\n" + text, HasSubstr("\n" + label)) << text;
  }
}

TEST(Plot, TextFromOutsideIsMadeSafe) {
  const std::string text =
      Render({"\x1b[2J", "\x1b[2J", {{"\x1b[2J", {{0, 1}}, Mark::kLine}}, 40, 4}, kUnicode);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

RC_GTEST_PROP(PlotProperty, AnyPointsGiveAWellFormedPlot, (bool unicode)) {
  const auto number = rc::gen::oneOf(
      rc::gen::arbitrary<double>(), rc::gen::map(rc::gen::arbitrary<int>(), [](int i) { return i / 8.0; }),
      rc::gen::element(0.0, -0.0, 1e308, -1e308, 1e-308, 5e-324, 1e100, -1e100,
                       std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()));
  Plot plot{"t", "x", {}, *rc::gen::inRange<std::size_t>(0, 90), *rc::gen::inRange<std::size_t>(0, 20)};
  const auto series = *rc::gen::inRange(0, 4);
  for (int i = 0; i < series; ++i) {
    PlotSeries one{"s", {}, *rc::gen::element(Mark::kLine, Mark::kPoints)};
    const auto count = *rc::gen::inRange(0, 6);
    for (int p = 0; p < count; ++p) one.points.push_back({*number, *number});
    plot.series.push_back(one);
  }
  Terminal terminal = kUnicode;
  terminal.unicode = unicode;
  const std::string text = Render(plot, terminal);
  RC_ASSERT(IsUtf8(text));
  RC_ASSERT(text.back() == '\n');
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    RC_ASSERT(!line.ends_with(' '));
    RC_ASSERT(DisplayWidth(line) <= std::max<std::size_t>(plot.width, 30));
  }
  if (text.find("(no data)") == std::string::npos) {
    RC_ASSERT(count == std::max<std::size_t>(plot.height, 3) + 5);
  } else {
    RC_ASSERT(count == 2U);
  }
}

}  // namespace
}  // namespace adaptdl
