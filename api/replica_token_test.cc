#include "api/replica_token.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kOld(40, 'o');
const std::string kNew(40, 'n');

TokenKeys Keys(const std::string& text) { return TokenKeys::Parse(text).value(); }

ReplicaIdentity Someone() { return {"research", "resnet", "5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b", 3}; }

TEST(ReplicaToken, OpensWhatItSealed) {
  const std::string token = Keys(kOld).Seal(Someone());
  EXPECT_EQ(Keys(kOld).Open(token, "research", "resnet").value(), Someone());
  EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."),
            std::string::npos)
      << "it is part of a path: " << token;
  EXPECT_LE(token.size(), kMaxTokenBytes);
}

// So that tokens outlast a change of the program. The seal is by `openssl dgst -sha256 -mac HMAC`.
TEST(ReplicaToken, StaysTheSame) {
  EXPECT_EQ(Keys("0123456789abcdef0123456789abcdef").Seal({"ns", "job", "uid", 0}),
            "v1.0.uid.xH0_16T3V1bC54L4ROcR-nvpOuurDtKkAVonHJ-Nz5w");
}

TEST(ReplicaToken, IsOfOneJobAndGroupOnly) {
  const TokenKeys keys = Keys(kOld);
  const std::string token = keys.Seal(Someone());
  EXPECT_EQ(keys.Open(token, "research", "other").error().code, ErrorCode::kForbidden);
  EXPECT_EQ(keys.Open(token, "other", "resnet").error().code, ErrorCode::kForbidden);
  std::string changed = token;
  changed[3] = '4';  // The group.
  EXPECT_FALSE(keys.Open(changed, "research", "resnet"));
  std::set<std::string> seals;
  for (const ReplicaIdentity& one : {ReplicaIdentity{"a", "b", "c", 1},
                                     {"a", "b", "d", 1},
                                     {"a", "c", "c", 1},
                                     {"b", "b", "c", 1},
                                     {"a", "b", "c", 11},
                                     {"ab", "", "c", 1},
                                     {"", "ab", "c", 1}}) {
    seals.insert(keys.Seal(one).substr(keys.Seal(one).rfind('.')));
  }
  EXPECT_EQ(seals.size(), 7U);
}

TEST(ReplicaToken, KeysChangeWithoutABreak) {
  const std::string before = Keys(kOld).Seal(Someone());
  const TokenKeys known = Keys(kOld + "\n" + kNew + "\n");           // The new one is made known,
  const TokenKeys used = Keys("# keys\n\n" + kNew + "\r\n" + kOld);  // then used,
  const TokenKeys after = Keys(kNew);                                // then the old one goes.
  EXPECT_EQ(known.Seal(Someone()), before);
  EXPECT_TRUE(known.Open(used.Seal(Someone()), "research", "resnet"));
  EXPECT_TRUE(used.Open(before, "research", "resnet"));
  EXPECT_TRUE(after.Open(used.Seal(Someone()), "research", "resnet"));
  EXPECT_FALSE(after.Open(before, "research", "resnet"));
}

TEST(ReplicaToken, KeysAreCheckedAndNeverShown) {
  const std::string secret = "short-secret";
  for (const auto& [text, message] : {std::pair<std::string, std::string>{"", "there is no key"},
                                      {"\n# nothing\n", "there is no key"},
                                      {kOld + "\n" + secret, "line 2: a key has 32 to 256 characters"},
                                      {std::string(20, 'a') + " " + std::string(20, 'a'), "line 1"},
                                      {std::string(257, 'a'), "line 1"},
                                      {std::string(40, '\xff'), "line 1"}}) {
    const auto keys = TokenKeys::Parse(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_THAT(keys.error().message, HasSubstr(message));
    EXPECT_THAT(keys.error().message, Not(HasSubstr(secret)));
  }
}

RC_GTEST_PROP(ReplicaToken, NoOtherTextOpens, (const std::string& text)) {
  const TokenKeys keys = Keys(kOld);
  RC_ASSERT(!keys.Open(text, "research", "resnet"));
  std::string token = keys.Seal(Someone());
  const auto place = *rc::gen::inRange<std::size_t>(0, token.size());
  const char other = *rc::gen::arbitrary<char>();
  RC_PRE(token[place] != other);
  token[place] = other;
  RC_ASSERT(!keys.Open(token, "research", "resnet"));
}

}  // namespace
}  // namespace adaptdl
