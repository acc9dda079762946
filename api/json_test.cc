#include "api/json.h"

#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

TEST(ParseJsonTest, GivesTheDocument) {
  const Result<json> parsed =
      ParseJson(R"( {"a": [1, -2, 1.5, true, null, "\u00e4"], "b": {}, "c": [[], {}]} )");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const json expected = {{"a", {1, -2, 1.5, true, nullptr, "ä"}},
                         {"b", json::object()},
                         {"c", json::array({json::array(), json::object()})}};
  EXPECT_EQ(*parsed, expected);
}

TEST(ParseJsonTest, TakesAnyValueForADocument) {
  EXPECT_EQ(ParseJson("3").value(), json(3));
  EXPECT_EQ(ParseJson("\"x\"").value(), json("x"));
  EXPECT_EQ(ParseJson("null").value(), json());
  EXPECT_EQ(ParseJson("18446744073709551615").value(), json(UINT64_MAX));
}

TEST(ParseJsonTest, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    std::string message;
  };
  const Case cases[] = {
      {"", "line 1, column 1: the JSON text ends too early, near ''"},
      {"{\"a\": [1,", "line 1, column 10: the JSON text ends too early, near '{\"a\": [1,'"},
      {"{\"a\":\n  nul}", "line 2, column 6: not JSON, near '  nul}'"},
      {"{\"a\": NaN}", "line 1, column 7: not JSON, near '{\"a\": N'"},
      {"[Infinity]", "line 1, column 2: not JSON, near '[I'"},
      {"[-Infinity]", "line 1, column 3: not JSON, near '[-I'"},
      {"{} x", "line 1, column 4: not JSON, near '{} x'"},
      {"[1,]", "line 1, column 4: not JSON, near '[1,]'"},
      {"[01]", "line 1, column 3: not JSON, near '[01'"},
      {"// c\n1", "line 1, column 1: not JSON, near '/'"},
      {"[1e999]", "line 1, column 6: number out of range, near '[1e999'"},
      {"\"\xff\"", "line 1, column 2: not JSON, near '\"\\xff'"},
      {"\"\x1b[2J\"", "line 1, column 2: not JSON, near '\"\\x1b'"},
      {std::string("{}\0garbage", 10), "line 1, column 3: not JSON, near '{}\\x00'"},
  };
  for (const auto& [text, message] : cases) {
    const Result<json> parsed = ParseJson(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, message) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid) << text;
  }
}

TEST(ParseJsonTest, RefusesAKeyGivenTwiceAndNamesItsPath) {
  const auto message = [](std::string_view text) { return ParseJson(text).error().message; };
  EXPECT_EQ(message(R"({"a": 1, "a": 1})"), "a: given twice");
  EXPECT_EQ(message(R"({"spec": {"template": {"metadata": {"name": "x", "labels": {}, "name": "y"}}}})"),
            "spec.template.metadata.name: given twice");
  EXPECT_EQ(message(R"([0, {"limits": [[], {"nvidia.com/gpu": 1, "nvidia.com/gpu": 2}]}])"),
            "[1].limits[1][nvidia.com/gpu]: given twice");
  EXPECT_EQ(message(R"({"\u0061": 1, "a": 1})"), "a: given twice");
  EXPECT_EQ(message(R"({"a": {"x": 1}, "b": {"x": 1}, "\u0007": {"x": 1, "x": 1}})"),
            "[\\x07].x: given twice");
  EXPECT_TRUE(ParseJson(R"([{"x": 1}, {"x": 1}])"));
}

TEST(ParseJsonTest, BoundsTheDepth) {
  const auto nested = [](int depth) {
    const auto n = static_cast<std::size_t>(depth);
    return std::string(n, '[') + std::string(n, ']');
  };
  EXPECT_TRUE(ParseJson(nested(kMaxJsonDepth)));
  EXPECT_EQ(ParseJson(nested(kMaxJsonDepth + 1)).error().message, "nested deeper than 100 levels");
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')));
}

TEST(ParseJsonTest, CutsLongInputInMessages) {
  const std::string message = ParseJson("[\"" + std::string(10'000, 'x')).error().message;
  EXPECT_LT(message.size(), 200U);
}

TEST(ToTextTest, NeverThrows) {
  EXPECT_EQ(ToText(json{{"b", 1}, {"a", {1.5, "x"}}}), R"({"a":[1.5,"x"],"b":1})");
  EXPECT_EQ(ToText(json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
  EXPECT_EQ(ToText(json("\xff")), "\"\xef\xbf\xbd\"");
}

TEST(PathTest, ReadsAsKubernetesWritesIt) {
  EXPECT_EQ(MemberPath("", "spec"), "spec");
  EXPECT_EQ(MemberPath("spec", "template"), "spec.template");
  EXPECT_EQ(MemberPath("limits", "nvidia.com/gpu"), "limits[nvidia.com/gpu]");
  EXPECT_EQ(MemberPath("limits", ""), "limits[]");
  EXPECT_EQ(MemberPath("a", "\n"), "a[\\x0a]");
  EXPECT_EQ(ElementPath("spec.containers", 2), "spec.containers[2]");
  EXPECT_EQ(ElementPath("", 0), "[0]");
}

}  // namespace
}  // namespace adaptdl
