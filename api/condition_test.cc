#include "api/condition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "api/generators.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

constexpr Time kThen{std::chrono::seconds(1767225600)};  // 2026-01-01T00:00:00Z
constexpr Time kNow{std::chrono::seconds(1767312000)};

TEST(ConditionTest, ReadsWhatKubernetesWrites) {
  const auto read = [](const char* text) { return FromJson<Condition>(ParseJson(text).value(), "c"); };
  EXPECT_EQ(read(R"({"type": "Ready", "status": "False", "reason": "R", "message": "m", "lastProbeTime": null,
                     "lastTransitionTime": "2026-01-01T00:00:00Z"})"),
            (Condition{"Ready", "False", "R", "m", kThen}));
  EXPECT_EQ(read(R"({"type": "Ready", "lastTransitionTime": null})"), (Condition{.type = "Ready"}));
  EXPECT_EQ(read(R"({"type": "Ready"})")->status, "Unknown");
  EXPECT_EQ(read("{}").error().message, "c.type: missing");
  EXPECT_EQ(read(R"({"type": "Ready", "status": true})").error().message,
            "c.status: expected text, found a boolean");
  EXPECT_EQ(read(R"({"type": "Ready", "lastTransitionTime": "now"})").error().message,
            "c.lastTransitionTime: 'now' is not a time as in 2026-01-31T12:00:00Z");
}

TEST(ConditionTest, IsFoundByItsType) {
  const std::vector<Condition> conditions = {{"A", "True"}, {"B", "False"}};
  EXPECT_EQ(FindCondition(conditions, "B"), &conditions[1]);
  EXPECT_EQ(FindCondition(conditions, "C"), nullptr);
  EXPECT_EQ(FindCondition({}, ""), nullptr);
}

TEST(ConditionTest, KeepsItsTimeWhileItsStatusStays) {
  std::vector<Condition> conditions = {{"A", "True", "r", "m", kThen}, {"B", "True", "r", "m", kThen}};
  SetCondition(&conditions, {"A", "True", "other", "words", kNow}, kNow);
  EXPECT_EQ(conditions[0], (Condition{"A", "True", "other", "words", kThen}));
  SetCondition(&conditions, {"A", "False"}, kNow);
  EXPECT_EQ(conditions[0], (Condition{"A", "False", "", "", kNow}));
  SetCondition(&conditions, {"C", "False", "new", "", kThen}, kNow);
  ASSERT_EQ(conditions.size(), 3U);
  EXPECT_EQ(conditions[1], (Condition{"B", "True", "r", "m", kThen}));
  EXPECT_EQ(conditions[2], (Condition{"C", "False", "new", "", kNow}));
}

RC_GTEST_PROP(ConditionTest, TakesThePlaceOfTheOneOfItsType, ()) {
  const auto types = [](const std::vector<Condition>& conditions) {
    std::vector<std::string> all(conditions.size());
    std::transform(conditions.begin(), conditions.end(), all.begin(),
                   [](const Condition& one) { return one.type; });
    return all;
  };
  std::vector<Condition> conditions;
  std::vector<std::string> order;
  for (const Condition& one : generate::List(generate::SomeCondition)) {
    Condition named = one;
    named.type = *rc::gen::element<std::string>("A", "B", "C");
    const std::vector<Condition> before = conditions;
    const Condition* old = FindCondition(before, named.type);
    SetCondition(&conditions, named, kNow);
    if (old == nullptr) order.push_back(named.type);
    RC_ASSERT(types(conditions) == order);
    const bool stays = old != nullptr && old->status == named.status;
    named.last_transition_time = stays ? old->last_transition_time : kNow;
    RC_ASSERT(*FindCondition(conditions, named.type) == named);
    for (const Condition& other : before) {
      if (other.type != named.type) RC_ASSERT(*FindCondition(conditions, other.type) == other);
    }
  }
}

RC_GTEST_PROP(ConditionTest, ReadsWhatItWrites, ()) {
  const Condition condition = generate::SomeCondition();
  RC_ASSERT(FromJson<Condition>(Encode(condition)).value() == condition);
}

}  // namespace
}  // namespace adaptdl
