#include "operator/admission.h"

#include <string>
#include <utility>
#include <vector>

#include "cluster/sim/sim_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSpec = R"({"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}})";

// A review of `operation` on the job, whose spec is kSpec with the patches.
std::string ReviewText(const std::string& operation, const std::string& name = "job",
                       const char* patch = "{}", const char* old_patch = "{}") {
  json spec = json::parse(kSpec);
  json old_spec = spec;
  spec.merge_patch(json::parse(patch));
  old_spec.merge_patch(json::parse(old_patch));
  const json metadata = {{"name", name}, {"namespace", "ns"}};
  json request = {
      {"uid", "u-1"},
      {"kind", {{"group", "adaptdl.petuum.com"}, {"version", "v1"}, {"kind", "AdaptDLJob"}}},
      {"name", name},
      {"namespace", "ns"},
      {"operation", operation},
      {"object", {{"metadata", metadata}, {"spec", spec}}},
      {"oldObject", {{"metadata", metadata}, {"spec", old_spec}}},
  };
  return json{{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}}
      .dump();
}

Verdict JudgeText(const std::string& text) { return Judge(ParseAdmissionReview(text).value()); }

// "ok", or "code reason: message".
std::string Summary(const AdmissionAnswer& answer) {
  if (answer.allowed) return "ok";
  return std::to_string(answer.code) + " " + answer.reason + ": " + answer.message;
}

TEST(Admission, NewJobs) {
  const struct {
    const char* patch;
    std::string summary;
  } cases[] = {
      {"{}", "ok"},
      {R"({"minReplicas": 2, "maxReplicas": 2})", "ok"},
      {R"({"minReplicas": 3, "maxReplicas": 2})", "422 Invalid: spec.maxReplicas: 2 is below minReplicas, 3"},
      {R"({"template": null})", "422 Invalid: spec.template: missing"},
      {R"({"template": []})", "422 Invalid: spec.template: expected an object, found a list"},
      {R"({"minReplicas": "two"})", "422 Invalid: spec.minReplicas: expected an integer, found text"},
      {R"({"startTimeoutSeconds": 1e12})",
       "422 Invalid: spec.startTimeoutSeconds: expected an integer, found the number 1000000000000.0"},
      {R"({"unknown": 1})", "ok"},
  };
  for (const auto& one : cases) {
    const Verdict verdict = JudgeText(ReviewText("CREATE", "job", one.patch));
    EXPECT_EQ(Summary(verdict.answer), one.summary) << one.patch;
    // Nobody is asked about the template of a job that is refused anyway.
    EXPECT_EQ(verdict.unchecked.has_value(), verdict.answer.allowed) << one.patch;
  }
  const Verdict verdict = JudgeText(ReviewText("CREATE"));
  EXPECT_EQ(verdict.unchecked->value(), json::parse(kSpec)["template"]);
}

TEST(Admission, NamesOfNewJobs) {
  const struct {
    std::string name;
    bool allowed;
  } cases[] = {
      {"a", true},
      {"a-1", true},
      {std::string(59, 'a'), true},
      {std::string(60, 'a'), false},  // With "-0-0" it would be no DNS label any more.
      {"a.b", false},
      {"A", false},
      {"a_b", false},
      {"-a", false},
      {"a-", false},
      {"", false},
  };
  for (const auto& one : cases) {
    const AdmissionAnswer answer = JudgeText(ReviewText("CREATE", one.name)).answer;
    EXPECT_EQ(answer.allowed, one.allowed) << one.name;
    EXPECT_THAT(Summary(answer),
                HasSubstr(one.allowed ? "ok" : "422 Invalid: metadata.name: '" + one.name + "'"));
  }
  const auto generated = [](const std::string& prefix) {
    JobCreation job{.generate_name = prefix, .spec = JobSpec()};
    return Judge(AdmissionRequest{.uid = "u", .job = {"ns", ""}, .wish = job}).answer;
  };
  EXPECT_TRUE(generated("a-").allowed);
  EXPECT_TRUE(generated(std::string(54, 'a')).allowed);
  EXPECT_FALSE(generated(std::string(55, 'a')).allowed);
  EXPECT_FALSE(generated("a.").allowed);
  EXPECT_FALSE(generated("-").allowed);
  EXPECT_THAT(generated("a\n").message, HasSubstr("metadata.generateName: 'a\\x0a'"));
}

TEST(Admission, UnknownFieldsAreNamed) {
  const auto warnings = [](const char* patch) {
    return JudgeText(ReviewText("CREATE", "job", patch)).answer.warnings;
  };
  EXPECT_THAT(warnings("{}"), IsEmpty());
  EXPECT_THAT(warnings(R"({"foo": 1, "minreplica": 2, "Suspend": true, "a b\n": 3})"),
              ElementsAre(R"(unknown field "spec.Suspend"; did you mean "suspend"?)",
                          R"(unknown field "spec[a b\x0a]")", R"(unknown field "spec.foo")",
                          R"(unknown field "spec.minreplica"; did you mean "minReplicas"?)"));
  json many;
  for (int i = 0; i < 100; ++i) many[std::string(1000, 'x') + std::to_string(i)] = i;
  const auto some = warnings(many.dump().c_str());
  EXPECT_EQ(some.size(), 21);
  EXPECT_EQ(some.back(), "and 80 more unknown fields");
  for (const std::string& one : some) EXPECT_LE(one.size(), 120);  // What Kubernetes asks for.
  // Also where it is refused: the typo may be why.
  EXPECT_EQ(warnings(R"({"template": null, "templat": {}})").size(), 1);
}

TEST(Admission, Updates) {
  const std::string rest =
      ": cannot change in a job that is there; only suspend, minReplicas and maxReplicas can";
  const struct {
    const char* before;
    const char* after;
    std::string summary;
  } cases[] = {
      {"{}", "{}", "ok"},
      {"{}", R"({"preemptible": true, "suspend": false})", "ok"},
      {R"({"suspend": true})", R"({"minReplicas": 1, "maxReplicas": 4})", "ok"},
      {R"({"maxReplicas": 4})", R"({"minReplicas": 5, "maxReplicas": 4})",
       "422 Invalid: spec.maxReplicas: 4 is below minReplicas, 5"},
      {R"({"minReplicas": 5, "maxReplicas": 8})", R"({"minReplicas": 5, "maxReplicas": 4})",
       "422 Invalid: spec.maxReplicas: 4 is below minReplicas, 5"},
      {"{}", R"({"preemptible": false})", "422 Forbidden: spec.preemptible" + rest},
      {R"({"minReplicas": 1})", R"({"preemptible": false, "template": {"spec": null}, "suspend": true})",
       "422 Forbidden: spec.preemptible, spec.template" + rest},
      {R"({"unknown": 1})", "{}", "422 Forbidden: spec.unknown" + rest},
      // What creation would refuse stays as it is,
      {R"({"minReplicas": 5, "maxReplicas": 4})", R"({"minReplicas": 5, "maxReplicas": 4})", "ok"},
      {R"({"template": {"spec": null}})", R"({"template": {"spec": null}})", "ok"},
      {R"({"backoffLimit": -1})", R"({"backoffLimit": -1})", "ok"},
      // may be stopped,
      {R"({"backoffLimit": -1})", R"({"backoffLimit": -1, "suspend": true})", "ok"},
      // or mended as far as anything may change.
      {R"({"minReplicas": 5, "maxReplicas": 4})", R"({"minReplicas": 3, "maxReplicas": 4})", "ok"},
      {R"({"minReplicas": 5, "maxReplicas": 4})", R"({"minReplicas": 6, "maxReplicas": 4})",
       "422 Invalid: spec.maxReplicas: 4 is below minReplicas, 6"},
  };
  for (const auto& one : cases) {
    const Verdict verdict = JudgeText(ReviewText("UPDATE", "job", one.after, one.before));
    EXPECT_EQ(Summary(verdict.answer), one.summary) << one.before << " " << one.after;
    EXPECT_FALSE(verdict.unchecked.has_value());
  }
  EXPECT_TRUE(JudgeText(ReviewText("UPDATE", "not.a.name")).answer.allowed);
  json many;
  for (int i = 0; i < 100; ++i) many["x" + std::to_string(i)] = i;
  EXPECT_THAT(JudgeText(ReviewText("UPDATE", "job", many.dump().c_str())).answer.message,
              HasSubstr("spec.x17 and 90 more: cannot change"));
}

TEST(Admission, EverythingElseIsAllowed) {
  for (const char* operation : {"DELETE", "CONNECT"}) {
    EXPECT_EQ(Summary(JudgeText(ReviewText(operation, "not.a.name", R"({"template": null})")).answer), "ok");
  }
}

TEST(Admission, WhatTheCheckOfTheTemplateMeans) {
  const AdmissionAnswer allowed{.allowed = true, .warnings = {"w"}};
  EXPECT_EQ(AfterCheck(allowed, {}), allowed);
  const struct {
    ErrorCode code;
    std::string summary;
  } cases[] = {
      {ErrorCode::kInvalid, "422 Invalid: words"},
      {ErrorCode::kUnavailable, "503 ServiceUnavailable: the pod template could not be checked: words"},
      {ErrorCode::kTimeout, "503 ServiceUnavailable: the pod template could not be checked: words"},
      {ErrorCode::kForbidden, "500 InternalError: the pod template could not be checked: words"},
      {ErrorCode::kNotFound, "500 InternalError: the pod template could not be checked: words"},
      {ErrorCode::kInternal, "500 InternalError: the pod template could not be checked: words"},
  };
  for (const auto& one : cases) {
    const AdmissionAnswer answer = AfterCheck(allowed, Fail(one.code, "words"));
    EXPECT_EQ(Summary(answer), one.summary);
    EXPECT_THAT(answer.warnings, ElementsAre("w"));
  }
}

class AdmissionHandlerTest : public testing::Test {
 protected:
  struct Asked {
    int answers = 0;
    HttpResponse http;

    json response() const { return json::parse(http.body)["response"]; }
  };

  // Until it is answered, or a minute has passed.
  Asked Ask(const std::string& body, const std::string& method = "POST",
            const std::string& path = "/validate") {
    const auto asked = std::make_shared<Asked>();
    handler_({.method = method, .path = path, .body = body, .peer = "10.0.0.1"},
             Responder([asked](HttpResponse response) {
               ++asked->answers;
               asked->http = std::move(response);
             }));
    const Instant start = world_->clock().Now();
    world_->clock().RunUntil([&] { return asked->answers > 0; }, seconds(60));
    took_ = world_->clock().Now() - start;
    world_->clock().RunFor(seconds(60));  // Nothing comes after it.
    EXPECT_EQ(asked->answers, 1);
    return *asked;
  }

  // From now on in a world with these faults, as an ordinary process.
  void Begin(FaultPlan faults = {}) {
    faults.end = Instant(std::chrono::hours(1));
    world_ = std::make_unique<SimWorld>(SimOptions{.faults = std::move(faults)});
    world_->AddProcess("webhook", [this](Clock& clock, Cluster& cluster) {
      handler_ = AdmissionHandler(clock, cluster, log_, reviews_);
      return std::make_shared<int>();
    });
  }

  std::string Counted() const {
    std::string counted;
    const std::string text = metrics_.Render();
    for (const char* result : {"allowed", "denied", "failed"}) {
      const std::string start = "reviews{result=\"" + std::string(result) + "\"} ";
      const std::size_t at = text.find(start);
      if (at != std::string::npos)
        counted += std::string(result) + text.substr(at + start.size() - 1, 2) + " ";
    }
    return counted;
  }

  Metrics metrics_;
  const Counter reviews_ = metrics_.AddCounter("reviews", "Reviews.", {"result"}).value();
  std::vector<std::string> lines_;
  const Logger log_{"webhook", {.sink = [this](std::string_view line) { lines_.emplace_back(line); }}};
  std::unique_ptr<SimWorld> world_;
  HttpHandler handler_;
  Duration took_{};
};

TEST_F(AdmissionHandlerTest, AnswersTheRequestThatWasAsked) {
  Begin();
  const Asked asked = Ask(ReviewText("CREATE", "job", R"({"foo": 1})"));
  EXPECT_EQ(asked.http.status, 200);
  EXPECT_EQ(asked.http.content_type, "application/json");
  EXPECT_EQ(asked.response(),
            json::parse(R"({"uid": "u-1", "allowed": true, "warnings": ["unknown field \"spec.foo\""]})"));
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_EQ(Counted(), "allowed 1 ");
  EXPECT_THAT(world_->trace(), HasSubstr("CHECK template ns -> Ok"));
}

TEST_F(AdmissionHandlerTest, RefusesTemplatesThatTheServerWouldRefuse) {
  Begin();
  const Asked asked = Ask(ReviewText("CREATE", "job", R"({"template": {"spec": {"containers": []}}})"));
  EXPECT_EQ(asked.http.status, 200);
  EXPECT_EQ(asked.response(), json::parse(R"({"uid": "u-1", "allowed": false, "status": {"status": "Failure",
      "code": 422, "reason": "Invalid", "message": "template.spec.containers: at least one is needed"}})"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("INFO  webhook job refused job=ns/job code=422")));
  EXPECT_EQ(Counted(), "denied 1 ");
}

TEST_F(AdmissionHandlerTest, RefusesWithoutTheServerWhereItCan) {
  Begin({.unavailable = 1'000'000});
  EXPECT_EQ(Ask(ReviewText("UPDATE", "job", R"({"preemptible": false})")).response()["status"]["reason"],
            "Forbidden");
  EXPECT_TRUE(Ask(ReviewText("UPDATE", "job", R"({"suspend": true})")).response()["allowed"]);
  EXPECT_EQ(Ask(ReviewText("CREATE", "not.a.name")).response()["status"]["code"], 422);
  EXPECT_EQ(Counted(), "allowed 1 denied 2 ");
}

TEST_F(AdmissionHandlerTest, RefusesWhatCannotBeCheckedNow) {
  Begin({.unavailable = 1'000'000});
  const json response = Ask(ReviewText("CREATE")).response();
  EXPECT_FALSE(response["allowed"]);
  EXPECT_EQ(response["status"]["code"], 503);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("could not be checked"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("WARN  webhook job refused")));
  EXPECT_EQ(Counted(), "failed 1 ");
}

TEST_F(AdmissionHandlerTest, AnswersBeforeTheApiServerGivesUp) {
  Begin({.timeout_not_done = 1'000'000});  // Half a minute.
  const json response = Ask(ReviewText("CREATE")).response();
  EXPECT_FALSE(response["allowed"]);
  EXPECT_EQ(response["status"]["code"], 503);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("no answer in time"));
  EXPECT_EQ(took_, seconds(8));
  EXPECT_EQ(Counted(), "failed 1 ");  // Not again when the answer comes.
}

TEST_F(AdmissionHandlerTest, NothingIsLeftWaitingWhenTheClusterGoes) {
  Begin();
  int status = 0;
  handler_({.method = "POST", .path = "/validate", .body = ReviewText("CREATE")},
           Responder([&](const HttpResponse& response) { status = response.status; }));
  world_->Crash("webhook");
  EXPECT_EQ(status, 500);
  world_->clock().RunFor(seconds(60));
}

TEST_F(AdmissionHandlerTest, RubbishIsNoReview) {
  Begin();
  for (const std::string& body : {std::string(), std::string("{}"), std::string("\xff"), std::string("[1"),
                                  ReviewText("OTHER"), std::string(100'000, '[')}) {
    const Asked asked = Ask(body);
    EXPECT_EQ(asked.http.status, 400);
    EXPECT_THAT(asked.http.body, HasSubstr("not an AdmissionReview: "));
    EXPECT_EQ(asked.http.body.find('\n'), asked.http.body.size() - 1);
  }
  EXPECT_EQ(lines_.size(), 6);
  EXPECT_EQ(Counted(), "failed 6 ");
}

TEST_F(AdmissionHandlerTest, OnlyPostToValidate) {
  Begin();
  EXPECT_EQ(Ask(ReviewText("CREATE"), "POST", "/").http.status, 404);
  EXPECT_EQ(Ask(ReviewText("CREATE"), "POST", "/validate/").http.status, 404);
  const Asked get = Ask("", "GET");
  EXPECT_EQ(get.http.status, 405);
  EXPECT_EQ(get.http.headers, (HttpHeaders{{"Allow", "POST"}}));
  EXPECT_EQ(Counted(), "");
}

TEST_F(AdmissionHandlerTest, LogLinesAreLines) {
  Begin();
  Ask(ReviewText("CREATE", "a\nb\x1b[31m", R"({"template": null})"));
  Ask(ReviewText("UPDATE", "job", R"({"a\nb": 1})"));
  ASSERT_EQ(lines_.size(), 2);
  for (const std::string& line : lines_) EXPECT_EQ(line, Printable(line, line.size())) << line;
}

}  // namespace
}  // namespace adaptdl
