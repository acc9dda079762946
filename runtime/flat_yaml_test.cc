#include "runtime/flat_yaml.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using Kind = YamlSetting::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(FlatYaml, FlattensAndRemembersLines) {
  const auto settings = ReadFlatYaml(R"(# a comment
a: 1
b:
  c: "two"
  d.e: [x, 'y', "z, z"]
  f:
    - 1
    - true
g:
h: {}
i: {j: {k: off}}
l: ~
m: []
)",
                                     "f");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_THAT(
      *settings,
      ElementsAre(YamlSetting{"a", 2, Kind::kPlain, {"1"}},  //
                  YamlSetting{"b.c", 4, Kind::kQuoted, {"two"}},
                  YamlSetting{"b.d.e", 5, Kind::kList, {"x", "y", "z, z"}},
                  YamlSetting{"b.f", 6, Kind::kList, {"1", "true"}}, YamlSetting{"g", 9, Kind::kNull, {}},
                  YamlSetting{"h", 10, Kind::kEmptyMap, {}}, YamlSetting{"i.j.k", 11, Kind::kPlain, {"off"}},
                  YamlSetting{"l", 12, Kind::kNull, {}}, YamlSetting{"m", 13, Kind::kList, {}}));
}

TEST(FlatYaml, NothingIsAnEmptyConfiguration) {
  for (const std::string_view text :
       {"", "\n", "# only a comment\n", "---\n", "~", "{}", "...\n", "---\n...\n", "# end"}) {
    const auto settings = ReadFlatYaml(text, "f");
    ASSERT_TRUE(settings) << text << ": " << settings.error().message;
    EXPECT_THAT(*settings, IsEmpty()) << text;
  }
}

struct Refused {
  std::string text;
  std::string message;
};

TEST(FlatYaml, RefusesTable) {
  const Refused cases[] = {
      {"a: 1\nb: 2\na: 3\n", "f:3: repeated key a, first on line 1"},
      {"a: {b: 1}\na.b: 2\n", "f:2: repeated key a.b, first on line 1"},
      {"a: {b: 1}\na: {c: 1}\n", "f:2: repeated key a, first on line 1"},
      {"a: &x 1\n", "f:1: anchors are not supported"},
      {"a: &x [1]\n", "f:1: anchors are not supported"},
      {"a: &x {b: 1}\n", "f:1: anchors are not supported"},
      {"a: &x 1\nb: *x\n", "f:1: anchors are not supported"},
      {"a: *x\n", "f:1: "},
      {"a: !!binary aGk=\n", "f:1: tags are not supported"},
      {"a: !!str 1\n", "f:1: tags are not supported"},
      {"a: !own {b: 1}\n", "f:1: tags are not supported"},
      {"a: 1\n---\nb: 1\n", "f:2: a second document"},
      {"[1, 2]\n", "f:1: a list where none can be"},
      {"just text\n", "f:1: not a map of keys and values"},
      {"a: [[1]]\n", "f:1: a list where none can be"},
      {"a: [{b: 1}]\n", "f:1: a map where none can be"},
      {"a: [1, ~]\n", "f:1: an empty item in a list"},
      {"? [a]\n: 1\n", "f:1: a list where none can be"},
      {"? {a: 1}\n: 1\n", "f:1: a map where none can be"},
      {"~: 1\n", "f:1: an empty key"},
      {"a: \"open\n", "f:"},
      {"a: 'open", "f:"},
      {"a: \"open\n\nb: 1\n", "f:"},
      {"a: [1\n", "f:"},
      {"a: 1\n b: 2\n", "f:"},
      {"a: \xff\n", "f: not UTF-8 text"},
      {std::string("a: \0\n", 5), "f: not UTF-8 text"},
      {std::string("\xff\xfe"
                   "a\0",
                   4),
       "f: not UTF-8 text"},
      {std::string(kMaxYamlBytes + 1, ' '), "f: longer than 1048576 bytes"},
  };
  for (const Refused& c : cases) {
    const auto settings = ReadFlatYaml(c.text, "f");
    ASSERT_FALSE(settings) << c.text.substr(0, 80);
    EXPECT_EQ(settings.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(settings.error().message, StartsWith(c.message)) << c.text.substr(0, 80);
  }
}

TEST(FlatYaml, DepthIsBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "{a: ";
    text += "1";
    for (int i = 0; i < depth; ++i) text += "}";
    return text;
  };
  EXPECT_TRUE(ReadFlatYaml(nested(16), "f"));
  EXPECT_EQ(ReadFlatYaml(nested(17), "f").error().message, "f:1: nested too deep");
  EXPECT_FALSE(ReadFlatYaml(nested(5000), "f"));
  EXPECT_FALSE(ReadFlatYaml(std::string(5000, '['), "f"));
}

RC_GTEST_PROP(FlatYamlProperty, AnyBytesGiveSettingsOrAnErrorThatNamesTheFile, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::oneOf(rc::gen::element<std::string>("a", "b: ", "- ", "[", "]", "{", "}", "\n", "  ", "\"",
                                                   "'", "|", ">", "&x", "*x", "!", "? ", ": ", "---", "...",
                                                   "#", ",", "<<", "%", "\t", "~"),
                     rc::gen::arbitrary<std::string>()));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  const auto settings = ReadFlatYaml(text, "f");
  if (!settings) RC_ASSERT(settings.error().message.starts_with("f:"));
}

}  // namespace
}  // namespace adaptdl
