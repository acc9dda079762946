#include "cli/table.h"

#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

Table Jobs() {
  return {{{"NAME"},
           {"STATUS"},
           {"REPLICAS", Align::kRight},
           {"NODES", Align::kLeft, true},
           {"AGE", Align::kRight, true}},
          {{"resnet18-cifar", {"Running", Style::kGreen}, "4", "node-a,node-b", "5m"},
           {"bert", {"Failed", Style::kRed}, "0", "", "12h"}}};
}

Terminal Of(std::size_t width) { return {.is_terminal = true, .width = width, .unicode = true}; }

TEST(Table, AlignsColumnsWithoutTrailingSpaces) {
  EXPECT_EQ(Render(Jobs(), Of(80)),
            "NAME            STATUS   REPLICAS  NODES          AGE\n"
            "resnet18-cifar  Running         4  node-a,node-b   5m\n"
            "bert            Failed          0                 12h\n");
}

TEST(Table, DropsOptionalColumnsFromTheRight) {
  EXPECT_EQ(Render(Jobs(), Of(50)),
            "NAME            STATUS   REPLICAS  NODES\n"
            "resnet18-cifar  Running         4  node-a,node-b\n"
            "bert            Failed          0\n");
  EXPECT_EQ(Render(Jobs(), Of(40)),
            "NAME            STATUS   REPLICAS\n"
            "resnet18-cifar  Running         4\n"
            "bert            Failed          0\n");
}

TEST(Table, ThenShortensTheWidestText) {
  EXPECT_EQ(Render(Jobs(), Of(28)),
            "NAME       STATUS   REPLICAS\n"
            "resnet18…  Running         4\n"
            "bert       Failed          0\n");
  Terminal ascii = Of(28);
  ascii.unicode = false;
  EXPECT_EQ(Render(Jobs(), ascii),
            "NAME       STATUS   REPLICAS\n"
            "resnet...  Running         4\n"
            "bert       Failed          0\n");
}

TEST(Table, KeepsTheLeastThatCanBeReadWhateverTheWidth) {
  EXPECT_EQ(Render(Jobs(), Of(1)),
            "NAME    STATUS  REPLICAS\n"
            "resne…  Runni…         4\n"
            "bert    Failed         0\n");
}

TEST(Table, IsWholeWhereThereIsNoTerminal) {
  Terminal pipe = Of(10);
  pipe.is_terminal = false;
  EXPECT_EQ(Render(Jobs(), pipe), Render(Jobs(), Of(80)));
}

TEST(Table, PaintsTextsButNotTheSpacesAroundThem) {
  Terminal terminal = Of(80);
  terminal.color = true;
  EXPECT_EQ(
      Render({{{"A"}, {"B", Align::kRight}}, {{{"x", Style::kGreen}, {"1", Style::kRed}}, {"long", "22"}}},
             terminal),
      "\x1b[1mA\x1b[0m      \x1b[1mB\x1b[0m\n"
      "\x1b[32mx\x1b[0m      \x1b[31m1\x1b[0m\n"
      "long  22\n");
}

TEST(Table, CountsWideCharactersAndMakesTextSafe) {
  EXPECT_EQ(Render({{{"N"}, {"X"}}, {{"東京", "1"}, {"a\x1b[2J", "2"}, {"é"}, {"  ", "3  "}}}, Of(80)),
            "N         X\n"
            "東京      1\n"
            "a\\x1b[2J  2\n"
            "é\n"
            "          3\n");
}

TEST(Table, EmptyTables) {
  EXPECT_EQ(Render({{{"NAME"}, {"AGE"}}, {}}, Of(80)), "NAME  AGE\n");
  EXPECT_EQ(Render({}, Of(80)), "\n");
}

RC_GTEST_PROP(TableProperty, LinesFitOrNothingMoreCanBeCut, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(10, 60);
  Table table;
  const auto columns = *rc::gen::inRange<std::size_t>(1, 5);
  for (std::size_t i = 0; i < columns; ++i) {
    table.columns.push_back({"C", Align::kLeft, *rc::gen::arbitrary<bool>()});
  }
  const auto rows = *rc::gen::inRange<std::size_t>(0, 4);
  for (std::size_t r = 0; r < rows; ++r) {
    table.rows.emplace_back();
    for (std::size_t i = 0; i < columns; ++i) {
      table.rows.back().emplace_back(*rc::gen::container<std::string>(rc::gen::element('a', ' ', '\n')));
    }
  }
  std::istringstream lines(Render(table, Of(width)));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    RC_ASSERT(!line.ends_with(' '));
    RC_ASSERT(DisplayWidth(line) <= std::max(width, columns * 8));
  }
  RC_ASSERT(count == rows + 1);
}

}  // namespace
}  // namespace adaptdl
