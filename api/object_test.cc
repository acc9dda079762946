#include "api/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/document.h"
#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using testing::HasSubstr;

Result<Object> Decode(Kind kind, const char* text) { return DecodeObject(kind, ParseJson(text).value()); }

TEST(Object, IsOfItsKind) {
  const auto pod =
      Decode(Kind::kPod, R"({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": []}})");
  EXPECT_EQ(KindOf(pod.value()), Kind::kPod);
  EXPECT_EQ(ToString(KeyOf(MetadataOf(*pod))), "n/p");
  EXPECT_EQ(KindOf(Decode(Kind::kNode, R"({"metadata": {"name": "n"}})").value()), Kind::kNode);
  EXPECT_EQ(KindOf(Decode(Kind::kLease, R"({"metadata": {"name": "l"}})").value()), Kind::kLease);
  EXPECT_EQ(KindOf(Decode(Kind::kEvent, R"({"metadata": {"name": "e"}})").value()), Kind::kEvent);
  EXPECT_EQ(KindOf(Decode(Kind::kJob, R"({"metadata": {"name": "j"}, "spec": {"template": {}}})").value()),
            Kind::kJob);
}

TEST(Object, KindsAreToldApart) {
  for (const Kind kind : kAllKinds) {
    EXPECT_EQ(IsNamespaced(kind), kind != Kind::kNode) << ToString(kind);
    EXPECT_EQ(HasStatus(kind), kind != Kind::kLease && kind != Kind::kEvent) << ToString(kind);
    const auto unreadable =
        Decode(kind, R"({"metadata": {"name": "x"}, "spec": 3, "status": 3, "reason": 3})");
    EXPECT_EQ(KindOf(unreadable.value()), kind) << ToString(kind);
  }
  EXPECT_EQ(ToString(Kind::kEvent), "Event");
}

TEST(Object, ThatDoesNotReadIsPassedOn) {
  const auto object = Decode(Kind::kPod, R"({"metadata": {"name": "p", "namespace": "n"}, "spec": 3})");
  const auto& unreadable = std::get<Unreadable>(object.value());
  EXPECT_EQ(KindOf(*object), Kind::kPod);
  EXPECT_EQ(unreadable.metadata.name, "p");
  EXPECT_THAT(unreadable.error.message, HasSubstr("spec"));
}

TEST(Object, WithoutANameIsAnError) {
  for (const char* text :
       {"{}", "3", "[]", R"({"metadata": {}})", R"({"metadata": {"name": 3}})", R"({"metadata": 3})"}) {
    EXPECT_FALSE(Decode(Kind::kPod, text).has_value()) << text;
  }
}

TEST(Document, IsAnObject) {
  EXPECT_TRUE(Document::Parse(R"({"a": 1})").has_value());
  for (const char* text : {"", "3", "[]", "{", R"({"a": 1, "a": 2})"}) {
    EXPECT_EQ(Document::Parse(text).error().code, ErrorCode::kInvalid) << text;
  }
  EXPECT_EQ(Document(), Document::Parse("{}").value());
}

TEST(Lease, IsReadAsItWasWritten) {
  Lease lease;
  lease.metadata = {.name = "l", .name_space = "n"};
  lease.holder = "one";
  lease.duration_seconds = 15;
  lease.acquire_time = ParseTime("2026-01-01T00:00:00Z").value();
  lease.renew_time = ParseTime("2026-01-01T00:00:00.25Z").value();
  lease.transitions = 3;
  EXPECT_EQ(DecodeObject(Kind::kLease, Encode(lease)), Object(lease));
}

// The API server refuses the times of a Lease without a fraction.
TEST(Lease, WritesTimesWithMicroseconds) {
  Lease lease;
  lease.renew_time = ParseTime("2026-01-01T00:00:00Z").value();
  EXPECT_EQ(Encode(lease)["spec"]["renewTime"], "2026-01-01T00:00:00.000000Z");
}

}  // namespace
}  // namespace adaptdl
