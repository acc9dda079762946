#include "simulator/csv.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): for NUL bytes

struct Row {
  std::string name;
  double time;
  std::int64_t count;
  friend bool operator==(const Row&, const Row&) = default;
};

Result<std::vector<Row>> Read(std::string_view text) {
  std::vector<Row> rows;
  CsvReader reader(text, {"name", "time", "count"});
  while (reader.Next()) {
    rows.push_back({std::string(reader.Text("name")), reader.Number("time"), reader.Integer("count", 1, 10)});
  }
  return reader.Finish().map([&] { return rows; });
}

TEST(Csv, ReadsRowsByTheNamesOfTheirColumns) {
  const std::vector<Row> expected = {{"a", 0.5, 1}, {"", -1e3, 10}};
  EXPECT_EQ(Read("name,time,count\na,0.5,1\n,-1e3,10\n"), expected);
  EXPECT_EQ(Read("count,name,more,time\n1,a,x,0.5\n10,,y,-1000"), expected)
      << "another order, no last line end";
  EXPECT_EQ(Read("name,time,count\r\na,0.5,1\r\n,-1e3,10\r\n"), expected);
}

struct BadCase {
  std::string text;
  std::string error;
};

TEST(Csv, ErrorsNameTheLineAndTheColumn) {
  const std::string header = "name,time,count\n";
  const std::vector<BadCase> cases = {
      {"", "line 1: empty, expected a header"},
      {"\n", "line 1: column 'name' is missing"},
      {"name,count\na,1\n", "line 1: column 'time' is missing"},
      {"name,time,count,time\n", "line 1: column 'time' is repeated"},
      {"name,time,count,\x1b,\x1b\n", "line 1: column '\\x1b' is repeated"},
      {header, "line 1: no rows follow the header"},
      {header + "a,1,1\nb,x,1\n", "line 3: time: expected a number"},
      {header + "a,,1\n", "line 2: time: expected a number"},
      {header + "a, 1,1\n", "line 2: time: expected a number"},
      {header + "a,1s,1\n", "line 2: time: expected a number"},
      {header + "a,1e999,1\n", "line 2: time: expected a number"},
      {header + "a,inf,1\n", "line 2: time: expected a finite number"},
      {header + "a,nan,1\n", "line 2: time: expected a finite number"},
      {header + "a,1,0\n", "line 2: count: expected a whole number from 1 to 10"},
      {header + "a,1,11\n", "line 2: count: expected a whole number from 1 to 10"},
      {header + "a,1,1.0\n", "line 2: count: expected a whole number from 1 to 10"},
      {header + "a,1,99999999999999999999\n", "line 2: count: expected a whole number from 1 to 10"},
      {header + "a,1,1\n\n", "line 3: time: missing, the line ends after 1 cell"},
      {header + "a,1\n", "line 2: count: missing, the line ends after 2 cells"},
      {header + "a,1,1,\n", "line 2: 4 cells, but the header names 3 columns"},
      {header + "a\0b,1,1\n"s, "line 2: contains a NUL byte"},
      {header + "\"a\",1,1\n", "line 2: contains a quote; quoted cells are not supported"},
  };
  for (const BadCase& bad : cases) {
    const auto rows = Read(bad.text);
    ASSERT_FALSE(rows) << bad.text;
    EXPECT_EQ(rows.error().message, bad.error);
    EXPECT_EQ(rows.error().code, ErrorCode::kInvalid);
  }
}

TEST(Csv, NamesOfColumnsAreSafeToPrint) {
  CsvReader reader("a,\x1b[2J\n1\n", {"a"});
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.Finish().error().message, "line 2: \\x1b[2J: missing, the line ends after 1 cell");
}

TEST(Csv, TheFirstErrorStays) {
  CsvReader reader("a,b\nx,1\n2,2\n", {"a", "b"});
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Number("a"), 0);
  reader.Refuse("b", "too late");
  EXPECT_EQ(reader.Text("b"), "");
  EXPECT_EQ(reader.Integer("b", 5, 6), 5);
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.Finish().error().message, "line 2: a: expected a number");
}

}  // namespace
}  // namespace adaptdl
