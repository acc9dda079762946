#include "supervisor/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace adaptdl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RequestTest, NamesOfJobs) {
  const std::string longest(63, 'a');
  struct Case {
    std::string name_space, job;
    const char* wrong;  // The field; null: none.
  };
  const Case cases[] = {
      {"default", "mnist", nullptr},
      {"0", "a.b-c.9", nullptr},
      {longest, longest, nullptr},
      {"", "mnist", "namespace: "},
      {"a.b", "mnist", "namespace: "},
      {"Default", "mnist", "namespace: "},
      {"-a", "mnist", "namespace: "},
      {"a-", "mnist", "namespace: "},
      {"a/b", "mnist", "namespace: "},
      {"a\nb", "mnist", "namespace: "},
      {longest + "a", "mnist", "namespace: "},
      {"default", "", "job: "},
      {"default", "..", "job: "},
      {"default", "a..b", "job: "},
      {"default", "a.", "job: "},
      {"default", "a_b", "job: "},
      {"default", "a%2Fb", "job: "},
      {"default", std::string("a\0b", 3), "job: "},
      {"default", longest + "a", "job: "},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name_space + "/" + one.job);
    const Result<Key> key = ParseJobKey(one.name_space, one.job);
    EXPECT_EQ(key.has_value(), one.wrong == nullptr);
    if (key) {
      EXPECT_EQ(*key, (Key{one.name_space, one.job}));
    } else {
      EXPECT_EQ(key.error().code, ErrorCode::kInvalid);
      EXPECT_THAT(key.error().message, StartsWith(one.wrong));
    }
  }
}

TEST(RequestTest, Groups) {
  EXPECT_EQ(ParseGroup("0"), 0);
  EXPECT_EQ(ParseGroup("17"), 17);
  EXPECT_EQ(ParseGroup("9007199254740992"), std::int64_t{1} << 53);
  for (const char* text : {"", "-1", "-0", "+1", "01", "1.0", "1e3", " 1", "1 ", "0x1", "a",
                           "9007199254740993", "9223372036854775808", "99999999999999999999"}) {
    SCOPED_TRACE(text);
    const Result<std::int64_t> group = ParseGroup(text);
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(group.error().message, StartsWith("group: "));
  }
  EXPECT_THAT(ParseGroup("1\x1b[2J").error().message, HasSubstr("'1\\x1b[2J'"));
  EXPECT_EQ(CheckGroup(3), 3);
  EXPECT_FALSE(CheckGroup(-1));
  EXPECT_FALSE(CheckGroup(INT64_MAX));
}

}  // namespace
}  // namespace adaptdl
