#include "api/json_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

std::string Checked(const char* patch) {
  const Result<void> result = CheckPatch(ParseJson(patch).value(), "p");
  return result ? "ok" : result.error().message;
}

// The document afterwards, or the message.
std::string Applied(const char* document, const char* patch) {
  EXPECT_EQ(Checked(patch), "ok") << patch;
  const Result<json> result = ApplyPatch(ParseJson(patch).value(), ParseJson(document).value(), "p");
  return result ? ToText(*result) : result.error().message;
}

TEST(JsonPatch, DoesWhatTheStandardSays) {
  struct Case {
    const char* document;
    const char* patch;
    const char* expect;
  };
  const Case cases[] = {
      {R"({"a": 1})", "[]", R"({"a":1})"},
      {R"({"a": 1})", R"([{"op": "add", "path": "/b", "value": null, "comment": "ignored"}])",
       R"({"a":1,"b":null})"},
      {R"({"a": 1})", R"([{"op": "add", "path": "/a", "value": 2}])", R"({"a":2})"},
      {R"({"a": [1, 3]})", R"([{"op": "add", "path": "/a/1", "value": 2}])", R"({"a":[1,2,3]})"},
      {R"({"a": [1]})", R"([{"op": "add", "path": "/a/-", "value": [2]}])", R"({"a":[1,[2]]})"},
      {R"({"a": 1})", R"([{"op": "add", "path": "", "value": 3}])", "3"},
      {R"({"a": {"b/c": 1, "~": 2}})",
       R"([{"op": "remove", "path": "/a/b~1c"}, {"op": "remove", "path": "/a/~0"}])", R"({"a":{}})"},
      {R"({"a": [1, 2]})", R"([{"op": "remove", "path": "/a/0"}])", R"({"a":[2]})"},
      {R"({"a": [1, 2]})", R"([{"op": "replace", "path": "/a/1", "value": {}}])", R"({"a":[1,{}]})"},
      {R"({"a": {"b": 1}, "c": {}})", R"([{"op": "move", "from": "/a/b", "path": "/c/d"}])",
       R"({"a":{},"c":{"d":1}})"},
      {R"({"a": [1, 2, 3]})", R"([{"op": "move", "from": "/a/0", "path": "/a/2"}])", R"({"a":[2,3,1]})"},
      {R"({"a": {"b": 1}})", R"([{"op": "copy", "from": "/a", "path": "/a/c"}])",
       R"({"a":{"b":1,"c":{"b":1}}})"},
      {R"({"a": {"b": 1}})", R"([{"op": "test", "path": "/a", "value": {"b": 1}}])", R"({"a":{"b":1}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(Applied(c.document, c.patch), c.expect) << c.patch;
}

TEST(JsonPatch, SaysWhatDoesNotFit) {
  const char* document = R"({"a": {"text": "x"}, "list": [1, 2], "none": null})";
  const auto message = [&](const char* patch) { return Applied(document, patch); };
  EXPECT_EQ(message(R"([{"op": "test", "path": "", "value": 1}])").substr(0, 6), "p[0]: ");
  EXPECT_EQ(message(R"([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}])"),
            "p[1]: /a: key 'a' not found");
  EXPECT_THAT(message(R"([{"op": "add", "path": "/x/y", "value": 1}])"),
              StartsWith("p[0]: /x/y: key 'x' not found"));
  EXPECT_THAT(message(R"([{"op": "replace", "path": "/x", "value": 1}])"),
              StartsWith("p[0]: /x: key 'x' not found"));
  EXPECT_THAT(message(R"([{"op": "remove", "path": ""}])"), StartsWith("p[0]: : "));
  EXPECT_THAT(message(R"([{"op": "move", "from": "/a", "path": "/a/b"}])"), StartsWith("p[0]: /a/b: "));
  EXPECT_THAT(message(R"([{"op": "copy", "from": "/x", "path": "/y"}])"),
              StartsWith("p[0]: /y: key 'x' not found"));
  EXPECT_THAT(message(R"([{"op": "test", "path": "/a/text", "value": "y"}])"), HasSubstr("unsuccessful"));
  for (const char* index :
       {"/list/3", "/list/01", "/list/x", "/list/", "/list/-1", "/list/99999999999999999999"}) {
    const std::string patch = R"([{"op": "add", "value": 1, "path": ")" + std::string(index) + "\"}]";
    EXPECT_THAT(message(patch.c_str()), StartsWith("p[0]: " + std::string(index) + ": ")) << index;
  }
}

// The library would end the program, or do nothing.
TEST(JsonPatch, AddsNothingToWhatHasNoParts) {
  const char* document = R"({"text": "x", "none": null, "list": [[], 1]})";
  for (const char* patch :
       {R"([{"op": "add", "path": "/text/a", "value": 1}])", R"([{"op": "remove", "path": "/text/a"}])",
        R"([{"op": "add", "path": "/none/a", "value": 1}])",
        R"([{"op": "copy", "from": "/list", "path": "/text/a"}])",
        R"([{"op": "move", "from": "/list", "path": "/text/a"}])",
        R"([{"op": "move", "from": "/text/a", "path": "/b"}])",
        R"([{"op": "move", "from": "/list/0", "path": "/list/0/-"}])"}) {
    EXPECT_THAT(Applied(document, patch), StartsWith("p[0]: ")) << patch;
  }
}

TEST(JsonPatch, IsCheckedBeforehand) {
  EXPECT_EQ(Checked("[]"), "ok");
  EXPECT_EQ(Checked("{}"), "p: expected a list, found an object");
  EXPECT_EQ(Checked("null"), "p: expected a list, found null");
  EXPECT_EQ(Checked("[3]"), "p[0]: expected an object, found the number 3");
  EXPECT_EQ(Checked("[{}]"), "p[0].op: missing");
  EXPECT_EQ(Checked(R"([{"op": "remove", "path": "/a"}, {"op": "ad", "path": "/a"}])"),
            "p[1].op: 'ad' is none of add, remove, replace, move, copy and test");
  EXPECT_EQ(Checked(R"([{"op": "remove"}])"), "p[0].path: missing");
  EXPECT_EQ(Checked(R"([{"op": "remove", "path": 3}])"), "p[0].path: expected text, found the number 3");
  EXPECT_EQ(Checked(R"([{"op": "add", "path": "/a"}])"), "p[0].value: missing");
  EXPECT_EQ(Checked(R"([{"op": "replace", "path": "/a"}])"), "p[0].value: missing");
  EXPECT_EQ(Checked(R"([{"op": "test", "path": "/a"}])"), "p[0].value: missing");
  EXPECT_EQ(Checked(R"([{"op": "add", "path": "/a", "value": null}])"), "ok");
  EXPECT_EQ(Checked(R"([{"op": "move", "path": "/a"}])"), "p[0].from: missing");
  EXPECT_EQ(Checked(R"([{"op": "copy", "path": "/a", "from": null}])"), "p[0].from: missing");
  EXPECT_THAT(Checked(R"([{"op": "remove", "path": "a"}])"), StartsWith("p[0].path: "));
  EXPECT_THAT(Checked(R"([{"op": "remove", "path": "/a~2"}])"), StartsWith("p[0].path: "));
}

}  // namespace
}  // namespace adaptdl
