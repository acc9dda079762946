#include "api/admission_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

constexpr const char* kReview =
    R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    "uid": "u-1", "kind": {"group": "adaptdl.petuum.com", "version": "v1", "kind": "AdaptDLJob"},
    "resource": {"group": "adaptdl.petuum.com", "version": "v1", "resource": "adaptdljobs"},
    "name": "j", "namespace": "ns", "operation": "UPDATE",
    "object": {"metadata": {"name": "j"}, "spec": {"template": {}}},
    "oldObject": {"metadata": {"name": "j"}, "spec": {"template": {}}}}})";

Result<AdmissionRequest> ParseWith(const char* patch) {
  json review = json::parse(kReview);
  review.merge_patch(json::parse(patch));
  return ParseAdmissionReview(ToText(review));
}

std::vector<std::string> Changed(const std::string& before, const std::string& after) {
  json review = json::parse(kReview);
  review["request"]["oldObject"]["spec"] = json::parse(before);
  review["request"]["object"]["spec"] = json::parse(after);
  return std::get<JobUpdate>(ParseAdmissionReview(ToText(review)).value().wish).changed_fields;
}

TEST(AdmissionReview, ReadsACreation) {
  const auto request = ParseWith(R"({"request": {"operation": "CREATE", "name": null, "oldObject": null,
      "object": {"metadata": {"generateName": "g-"}, "spec": {"template": {"a": 1}, "minReplicas": 2,
                 "minReplica": 3, "foo": {}, "gone": null}}}})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->uid, "u-1");
  EXPECT_EQ(request->job, (Key{"ns", "j"}));
  const auto& creation = std::get<JobCreation>(request->wish);
  EXPECT_EQ(creation.name, "j");
  EXPECT_EQ(creation.generate_name, "g-");
  EXPECT_EQ(creation.spec->min_replicas, 2);
  EXPECT_THAT(creation.unknown_fields, ElementsAre("foo", "minReplica"));
}

TEST(AdmissionReview, KnowsEveryFieldOfAJob) {
  Job job;
  job.spec.max_replicas = 1;
  job.spec.active_deadline_seconds = 1;
  job.spec.ttl_seconds_after_finished = 1;
  std::set<std::string> written;
  const json spec = Encode(job)["spec"];
  for (const auto& [name, value] : spec.items()) written.insert(name);
  EXPECT_EQ(written, std::set<std::string>(std::begin(kJobSpecFields), std::end(kJobSpecFields)));
}

TEST(AdmissionReview, ASpecThatIsWrongIsNoWrongReview) {
  const auto request =
      ParseWith(R"({"request": {"operation": "CREATE", "object": {"spec": {"template": null}}}})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(std::get<JobCreation>(request->wish).spec.error().message, "spec.template: missing");
}

TEST(AdmissionReview, WhatIsNotAboutAJobsWishesIsTakenAsThat) {
  for (const char* patch : {
           R"({"request": {"operation": "DELETE", "object": null}})",
           R"({"request": {"operation": "CONNECT"}})",
           R"({"request": {"subResource": "status", "object": {"spec": 3}}})",
           R"({"request": {"kind": {"group": "apps"}}})",
           R"({"request": {"kind": {"group": "", "kind": "Pod"}, "operation": "CREATE"}})",
       }) {
    const auto request = ParseWith(patch);
    ASSERT_TRUE(request.has_value()) << patch << request.error().message;
    EXPECT_EQ(request->wish.index(), 0) << patch;
  }
}

TEST(AdmissionReview, SaysWhatIsWrong) {
  const struct {
    const char* patch;
    std::string message;
  } cases[] = {
      {"[]", "expected an object, found a list"},
      {R"({"apiVersion": null})", "apiVersion: missing"},
      {R"({"apiVersion": "admission.k8s.io/v1beta1"})",
       "apiVersion: 'admission.k8s.io/v1beta1' is not admission.k8s.io/v1"},
      {R"({"kind": "Pod"})", "kind: 'Pod' is not AdmissionReview"},
      {R"({"request": null})", "request: missing"},
      {R"({"request": 3})", "request: expected an object, found the number 3"},
      {R"({"request": {"uid": null}})", "request.uid: missing"},
      {R"({"request": {"uid": ""}})", "request.uid: empty"},
      {R"({"request": {"uid": 3}})", "request.uid: expected text, found the number 3"},
      {R"({"request": {"operation": "create\n"}})", "request.operation: 'create\\x0a' is none that is known"},
      {R"({"request": {"kind": null}})", "request.kind: missing"},
      {R"({"request": {"kind": {"kind": null}}})", "request.kind.kind: missing"},
      {R"({"request": {"object": null}})", "request.object: missing"},
      {R"({"request": {"oldObject": null}})", "request.oldObject: missing"},
      {R"({"request": {"object": []}})", "request.object: expected an object, found a list"},
      {R"({"request": {"object": {"spec": []}}})", "request.object.spec: expected an object, found a list"},
      {R"({"request": {"oldObject": {"spec": 1}}})",
       "request.oldObject.spec: expected an object, found the number 1"},
      {R"({"request": {"operation": "CREATE", "object": {"metadata": {"name": 1}}}})",
       "request.object.metadata.name: expected text, found the number 1"},
      {R"({"request": {"subResource": ["status"]}})", "request.subResource: expected text, found a list"},
  };
  for (const auto& one : cases) {
    const auto request = ParseWith(one.patch);
    ASSERT_FALSE(request.has_value()) << one.patch;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalid) << one.patch;
    EXPECT_EQ(request.error().message, one.message) << one.patch;
  }
  EXPECT_FALSE(ParseAdmissionReview("").has_value());
  EXPECT_FALSE(ParseAdmissionReview(kReview + std::string("{}")).has_value());
}

TEST(AdmissionReview, TellsWhatChanged) {
  const struct {
    std::string before, after;
    std::vector<std::string> changed;
  } cases[] = {
      {R"({"template": {"a": 1}})", R"({"template": {"a": 1}})", {}},
      {R"({"template": {"a": 1}})", R"({"template": {"a": 2}})", {"template"}},
      {R"({"template": {"a": [1, {"b": 2}]}})",
       R"({"template": {"a": [1, {"b": 2, "c": 3}]}})",
       {"template"}},
      {R"({"template": {"a": [1, 2]}})", R"({"template": {"a": [2, 1]}})", {"template"}},
      {R"({"template": {"a": [1]}})", R"({"template": {"a": [1, 1]}})", {"template"}},
      {R"({"template": {"a": 1}})", R"({"template": {"b": 1}})", {"template"}},
      // Null is absent.
      {R"({"template": {"m": {"t": null}}})", R"({"template": {"m": {}}})", {}},
      {R"({"template": {"m": [{"t": null}]}})", R"({"template": {"m": [{"u": null}]}})", {}},
      {R"({"template": {"m": {"t": null}}})", R"({"template": {"m": {"t": {}}}})", {"template"}},
      {R"({"template": {"m": [null]}})", R"({"template": {"m": []}})", {"template"}},
      // A default is as good as absent.
      {R"({"template": {}})",
       R"({"template": {}, "preemptible": true, "minReplicas": 0, "suspend": false,
          "startTimeoutSeconds": 600, "backoffLimit": 0, "maxReplicas": null})",
       {}},
      {R"({"preemptible": null, "startTimeoutSeconds": 600.0})", R"({"preemptible": true})", {}},
      {R"({})", R"({"preemptible": false})", {"preemptible"}},
      {R"({"startTimeoutSeconds": 5})", R"({})", {"startTimeoutSeconds"}},
      {R"({"maxReplicas": 5, "minReplicas": 1})",
       R"({"suspend": true, "minReplicas": 2})",
       {"maxReplicas", "minReplicas", "suspend"}},
      {R"({"unknown": 1})", R"({})", {"unknown"}},
      {R"({"unknown": 1, "other": null})", R"({"unknown": 1})", {}},
      {"null", "{}", {}},
      {"null", R"({"template": {"a": 1}})", {"template"}},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Changed(one.before, one.after), one.changed) << one.before << " " << one.after;
    EXPECT_EQ(Changed(one.after, one.before), one.changed) << one.after << " " << one.before;
  }
}

RC_GTEST_PROP(AdmissionReview, WhatStaysTheSameHasNotChanged, ()) {
  json spec = json::object();
  const auto value = rc::gen::element<json>(1, true, "x", nullptr, json::array({1, nullptr}),
                                            json({{"a", {{"b", nullptr}, {"c", 2.5}}}}));
  for (const std::string_view name : kJobSpecFields) {
    if (*rc::gen::arbitrary<bool>()) spec[std::string(name)] = *value;
  }
  const std::string text = ToText(spec);
  RC_ASSERT(Changed(text, text).empty());
  const auto name = std::string(*rc::gen::elementOf(
      std::vector<std::string_view>(std::begin(kJobSpecFields), std::end(kJobSpecFields))));
  json other = spec;
  other[name] = "something else";
  RC_ASSERT(Changed(text, ToText(other)) == std::vector{name});
}

TEST(AdmissionReview, OfAnUpdateOnlyWhatMayChangeIsRead) {
  const auto part = [](const char* spec) {
    const std::string patch = R"({"request": {"object": {"spec": )" + std::string(spec) + "}}}";
    return std::get<JobUpdate>(ParseWith(patch.c_str()).value().wish).mutable_part;
  };
  const Result<JobSpec> read = part(R"({"template": {"a": 1}, "suspend": true, "minReplicas": 1,
      "maxReplicas": 2, "preemptible": "rubbish", "backoffLimit": -1})");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, (JobSpec{.min_replicas = 1, .max_replicas = 2, .suspend = true}));
  EXPECT_EQ(part(R"({"minReplicas": 3, "maxReplicas": 2})").error().message,
            "spec.maxReplicas: 2 is below minReplicas, 3");
}

TEST(AdmissionReview, WritesAnswers) {
  EXPECT_EQ(AdmissionReviewText("u\"1", {.allowed = true}),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
            R"("response":{"allowed":true,"uid":"u\"1"}})");
  EXPECT_EQ(AdmissionReviewText("u", {.code = 422, .reason = "Invalid", .message = "m", .warnings = {"w"}}),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":false,)"
            R"("status":{"code":422,"message":"m","reason":"Invalid","status":"Failure"},"uid":"u",)"
            R"("warnings":["w"]}})");
}

}  // namespace
}  // namespace adaptdl
