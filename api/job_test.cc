#include "api/job.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "api/generators.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

constexpr const char* kJob = R"({
  "apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob",
  "metadata": {"name": "job-1", "namespace": "default", "uid": "u"},
  "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
             {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}, {"name": "side"}]}},
           "minReplicas": 1, "maxReplicas": 8, "preemptible": false, "startTimeoutSeconds": 60,
           "backoffLimit": 3, "activeDeadlineSeconds": 86400, "ttlSecondsAfterFinished": 0, "suspend": true, "unknown": 1},
  "status": {"phase": "Running", "allocation": ["n1", "n1", "n2"], "replicas": 3, "readyReplicas": 2, "group": 7,
             "reason": "r", "message": "m", "completionTimestamp": "2026-01-01T00:00:00Z",
             "conditions": [{"type": "Running", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"}, {"type": "X"}],
             "observedGeneration": 4, "startTimestamp": "2026-01-01T00:00:02Z", "groupTimestamp": "2026-01-01T00:00:03Z",
             "runningTimestamp": "2026-01-01T00:00:04Z", "attainedReplicaSeconds": 3600, "lastRestartReason": "Rescaled",
             "failures": 2, "startTimeouts": 1, "retryTimestamp": "2026-01-01T00:00:05Z",
             "train": {"initBatchSize": 128}, "unknown": {}}})";

std::string MessageAfter(const char* patch) {
  json value = ParseJson(kJob).value();
  value.merge_patch(ParseJson(patch).value());
  const Result<Job> job = FromJson<Job>(value);
  return job ? "ok" : job.error().message;
}

TEST(JobTest, ReadsEveryField) {
  const Result<Job> job = ParseJob(kJob);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->metadata.name, "job-1");
  EXPECT_EQ(job->spec.min_replicas, 1);
  EXPECT_EQ(job->spec.max_replicas, 8);
  EXPECT_FALSE(job->spec.preemptible);
  EXPECT_EQ(job->spec.start_timeout_seconds, 60);
  EXPECT_EQ(job->spec.backoff_limit, 3);
  EXPECT_EQ(job->spec.active_deadline_seconds, 86400);
  EXPECT_EQ(job->spec.ttl_seconds_after_finished, 0);
  EXPECT_TRUE(job->spec.suspend);
  JobStatus status;
  status.phase = JobPhase::kRunning;
  status.allocation = {"n1", "n1", "n2"};
  status.replicas = 3;
  status.ready_replicas = 2;
  status.group = 7;
  status.reason = "r";
  status.message = "m";
  status.completion_timestamp = ParseTime("2026-01-01T00:00:00Z").value();
  status.conditions = {{.type = "Running",
                        .status = "True",
                        .last_transition_time = ParseTime("2026-01-01T00:00:01Z").value()},
                       {.type = "X", .status = "Unknown"}};
  status.observed_generation = 4;
  status.start_timestamp = ParseTime("2026-01-01T00:00:02Z").value();
  status.group_timestamp = ParseTime("2026-01-01T00:00:03Z").value();
  status.running_timestamp = ParseTime("2026-01-01T00:00:04Z").value();
  status.attained_replica_seconds = 3600;
  status.restart_reason = "Rescaled";
  status.failures = 2;
  status.start_timeouts = 1;
  status.retry_timestamp = ParseTime("2026-01-01T00:00:05Z").value();
  status.train.emplace().init_batch_size = 128;
  EXPECT_EQ(job->status, status);
}

TEST(JobTest, HasDefaults) {
  const Result<Job> job = ParseJob(R"({"metadata": {"name": "j"}, "spec": {"template": {}}})");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->spec, JobSpec());
  EXPECT_EQ(job->status, JobStatus());
  EXPECT_TRUE(job->spec.preemptible);
  EXPECT_EQ(job->spec.min_replicas, 0);
  EXPECT_FALSE(job->spec.max_replicas);
  EXPECT_EQ(job->spec.start_timeout_seconds, 600);
  EXPECT_EQ(job->spec.backoff_limit, 0);
  EXPECT_FALSE(job->spec.active_deadline_seconds);
  EXPECT_FALSE(job->spec.ttl_seconds_after_finished);
  EXPECT_FALSE(job->spec.suspend);
  EXPECT_FALSE(job->status.group) << "not even the first";
  EXPECT_EQ(MessageAfter(R"({"spec": {"maxReplicas": null}, "status": {"allocation": null, "train": null}})"),
            "ok");
}

TEST(JobTest, KeepsTheTemplateAsItIsAndReadsPartsOfIt) {
  const PodTemplate pod_template = ParseJob(kJob)->spec.pod_template;
  EXPECT_EQ(pod_template.value(), ParseJson(kJob).value()["spec"]["template"]);
  EXPECT_EQ(pod_template.ReadMetadata()->labels, (Labels{{"a", "b"}}));
  const auto containers = pod_template.ReadContainers();
  ASSERT_TRUE(containers) << containers.error().message;
  ASSERT_EQ(containers->size(), 2U);
  EXPECT_EQ(containers->front().limits.at("nvidia.com/gpu").Units(), 1);

  EXPECT_EQ(pod_template, ParseJob(kJob)->spec.pod_template);
  EXPECT_NE(pod_template, PodTemplate());
  EXPECT_EQ(PodTemplate().ReadContainers().error().message, "spec.template.spec: missing");
  EXPECT_EQ(PodTemplate().ReadMetadata().value(), Metadata());
  const PodTemplate wrong(
      json{{"metadata", 1}, {"spec", {{"containers", {{{"resources", {{"limits", {{"x/y", "1kk"}}}}}}}}}}});
  EXPECT_EQ(wrong.ReadContainers().error().message,
            "spec.template.spec.containers[0].resources.limits[x/y]: '1kk' is not a quantity");
  EXPECT_EQ(wrong.ReadMetadata().error().message,
            "spec.template.metadata: expected an object, found the number 1");
}

TEST(JobTest, SaysWhichFieldIsWrong) {
  struct Case {
    const char* patch;
    const char* message;
  };
  const Case cases[] = {
      {R"({"metadata": null})", "metadata: missing"},
      {R"({"metadata": {"name": null}})",
       "metadata.name: '' is not a DNS-1123 name of at most 63 characters"},
      {R"({"metadata": {"name": "Job"}})",
       "metadata.name: 'Job' is not a DNS-1123 name of at most 63 characters"},
      {R"({"spec": null})", "spec: missing"},
      {R"({"spec": {"template": null}})", "spec.template: missing"},
      {R"({"spec": {"template": "x"}})", "spec.template: expected an object, found text"},
      {R"({"spec": {"minReplicas": -1}})", "spec.minReplicas: must be at least 0, found -1"},
      {R"({"spec": {"minReplicas": "1"}})", "spec.minReplicas: expected an integer, found text"},
      {R"({"spec": {"minReplicas": 1.0}})", "spec.minReplicas: expected an integer, found the number 1.0"},
      {R"({"spec": {"minReplicas": 9}})", "spec.maxReplicas: 8 is below minReplicas, 9"},
      {R"({"spec": {"minReplicas": 0, "maxReplicas": 0}})", "spec.maxReplicas: must be at least 1, found 0"},
      {R"({"spec": {"preemptible": "true"}})", "spec.preemptible: expected a boolean, found text"},
      {R"({"spec": {"startTimeoutSeconds": -1}})",
       "spec.startTimeoutSeconds: must be between 0 and 1e+09, found -1"},
      {R"({"spec": {"startTimeoutSeconds": 1000000001}})",
       "spec.startTimeoutSeconds: must be between 0 and 1e+09, found 1000000001"},
      {R"({"spec": {"backoffLimit": -1}})", "spec.backoffLimit: must be at least 0, found -1"},
      {R"({"spec": {"activeDeadlineSeconds": 0}})",
       "spec.activeDeadlineSeconds: must be between 1 and 1e+09, found 0"},
      {R"({"spec": {"ttlSecondsAfterFinished": "1h"}})",
       "spec.ttlSecondsAfterFinished: expected an integer, found text"},
      {R"({"spec": {"ttlSecondsAfterFinished": 1e10}})",
       "spec.ttlSecondsAfterFinished: expected an integer, found the number 10000000000.0"},
      {R"({"spec": {"suspend": 1}})", "spec.suspend: expected a boolean, found the number 1"},
      {R"({"status": {"conditions": {}}})", "status.conditions: expected a list, found an object"},
      {R"({"status": {"conditions": [{}]}})", "status.conditions[0].type: missing"},
      {R"({"status": {"observedGeneration": "4"}})",
       "status.observedGeneration: expected an integer, found text"},
      {R"({"status": {"startTimestamp": "x"}})",
       "status.startTimestamp: 'x' is not a time as in 2026-01-31T12:00:00Z"},
      {R"({"status": {"groupTimestamp": 1}})", "status.groupTimestamp: expected text, found the number 1"},
      {R"({"status": {"runningTimestamp": []}})", "status.runningTimestamp: expected text, found a list"},
      {R"({"status": {"retryTimestamp": 1}})", "status.retryTimestamp: expected text, found the number 1"},
      {R"({"status": {"attainedReplicaSeconds": -1}})",
       "status.attainedReplicaSeconds: must be at least 0, found -1"},
      {R"({"status": {"lastRestartReason": 1}})",
       "status.lastRestartReason: expected text, found the number 1"},
      {R"({"status": {"failures": -1}})", "status.failures: must be at least 0, found -1"},
      {R"({"status": {"startTimeouts": -1}})", "status.startTimeouts: must be at least 0, found -1"},
      {R"({"status": {"phase": "Done"}})", "status.phase: 'Done' is not the phase of a job"},
      {R"({"status": {"phase": 1}})", "status.phase: expected text, found the number 1"},
      {R"({"status": {"group": "7"}})", "status.group: expected an integer, found text"},
      {R"({"status": {"group": -1}})", "status.group: must be at least 0, found -1"},
      {R"({"status": {"allocation": ["n1", null]}})", "status.allocation[1]: expected text, found null"},
      {R"({"status": {"allocation": "n1"}})", "status.allocation: expected a list, found text"},
      {R"({"status": []})", "status: expected an object, found a list"},
      {R"({"status": {"completionTimestamp": 0}})",
       "status.completionTimestamp: expected text, found the number 0"},
  };
  for (const auto& [patch, message] : cases) EXPECT_EQ(MessageAfter(patch), message);
}

TEST(JobTest, DropsStoredHintsThatAreNotValid) {
  json value = ParseJson(kJob).value();
  value["status"]["train"] = {{"initBatchSize", -1}};
  const Result<Job> job = FromJson<Job>(value);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_FALSE(job->status.train);
  EXPECT_EQ(job->status.group, 7);
}

std::int64_t Seconds() { return *rc::gen::inRange<std::int64_t>(0, 1'000'000'000); }

JobStatus SomeStatus() {
  return {.phase = generate::Maybe([] { return static_cast<JobPhase>(*rc::gen::inRange(0, 6)); }),
          .allocation = generate::List(generate::Text),
          .replicas = generate::Amount(),
          .ready_replicas = generate::Amount(),
          .group = generate::Maybe(generate::Amount),
          .reason = generate::Maybe(generate::Text),
          .message = generate::Maybe(generate::Text),
          .completion_timestamp = generate::Maybe(generate::PointInTime),
          .conditions = generate::List(generate::SomeCondition),
          .observed_generation = generate::Amount(),
          .start_timestamp = generate::Maybe(generate::PointInTime),
          .group_timestamp = generate::Maybe(generate::PointInTime),
          .running_timestamp = generate::Maybe(generate::PointInTime),
          .attained_replica_seconds = generate::Amount(),
          .restart_reason = generate::Maybe(generate::Text),
          .failures = generate::Amount(),
          .start_timeouts = generate::Amount(),
          .retry_timestamp = generate::Maybe(generate::PointInTime),
          .train = generate::Maybe(generate::SomeHints)};
}

RC_GTEST_PROP(JobTest, ReadsWhatItWrites, ()) {
  Job job;
  job.metadata = generate::SomeMetadata();
  job.metadata.name = job.metadata.name.substr(0, 63);
  const auto bounds = generate::Ordered(generate::Size);
  job.spec = {.pod_template = PodTemplate(json{{"spec", {{"x", generate::Text()}}}}),
              .min_replicas = bounds.min.value_or(0),
              .max_replicas = bounds.max,
              .preemptible = generate::Flag(),
              .start_timeout_seconds = Seconds(),
              .backoff_limit = generate::Amount(),
              .active_deadline_seconds = generate::Maybe([] { return 1 + Seconds(); }),
              .ttl_seconds_after_finished = generate::Maybe(Seconds),
              .suspend = generate::Flag()};
  job.status = SomeStatus();
  RC_ASSERT(ParseJob(ToText(Encode(job))).value() == job);
  RC_ASSERT(FromJson<JobStatus>(Encode(job.status)).value() == job.status);
}

TEST(OperatorPatch, SaysWhatChanged) {
  const JobStatus running = ParseJob(kJob)->status;
  struct Case {
    const char* what;
    void (*change)(JobStatus* after);
    const char* patch;
  };
  const Case cases[] = {
      {"nothing", [](JobStatus*) {}, ""},
      {"phase", [](JobStatus* s) { s->phase = JobPhase::kStopping; }, R"({"phase":"Stopping"})"},
      {"no phase", [](JobStatus* s) { s->phase.reset(); }, R"({"phase":null})"},
      {"group", [](JobStatus* s) { s->group = 8; }, R"({"group":8})"},
      {"no group", [](JobStatus* s) { s->group.reset(); }, R"({"group":null})"},
      {"replicas", [](JobStatus* s) { s->replicas = s->ready_replicas = 0; },
       R"({"readyReplicas":0,"replicas":0})"},
      {"no words", [](JobStatus* s) { s->reason = s->message = s->restart_reason = std::nullopt; },
       R"({"lastRestartReason":null,"message":null,"reason":null})"},
      {"empty words are words", [](JobStatus* s) { s->reason = ""; }, R"({"reason":""})"},
      {"no condition", [](JobStatus* s) { s->conditions.clear(); }, R"({"conditions":null})"},
      {"one condition", [](JobStatus* s) { s->conditions.erase(s->conditions.begin()); },
       R"({"conditions":[{"status":"Unknown","type":"X"}]})"},
      {"no times",
       [](JobStatus* s) {
         s->start_timestamp = s->group_timestamp = s->running_timestamp = std::nullopt;
         s->retry_timestamp = s->completion_timestamp = std::nullopt;
       },
       R"({"completionTimestamp":null,"groupTimestamp":null,"retryTimestamp":null,"runningTimestamp":null,"startTimestamp":null})"},
      {"no numbers",
       [](JobStatus* s) {
         s->observed_generation = s->attained_replica_seconds = s->failures = s->start_timeouts = 0;
       },
       R"({"attainedReplicaSeconds":null,"failures":null,"observedGeneration":null,"startTimeouts":null})"},
      {"the supervisor's", [](JobStatus* s) { s->train.reset(); }, ""},
      {"the scheduler's", [](JobStatus* s) { s->allocation = {"n9"}; }, ""},
      {"completion", [](JobStatus* s) { s->allocation.clear(); }, R"({"allocation":[]})"},
  };
  for (const Case& c : cases) {
    JobStatus after = running;
    c.change(&after);
    const auto patch = OperatorPatch(running, after);
    EXPECT_EQ(patch ? ToText(patch->value()["status"]) : "", c.patch) << c.what;
    const std::size_t parts = patch ? patch->value().size() : 1;
    EXPECT_EQ(parts, 1U) << c.what;
  }
  EXPECT_FALSE(OperatorPatch(JobStatus(), JobStatus()));
  JobStatus allocated;
  allocated.allocation = {"n1"};
  EXPECT_FALSE(OperatorPatch(JobStatus(), allocated)) << "it is not the operator's to give";
}

RC_GTEST_PROP(OperatorPatch, MakesTheOperatorsFieldsSoAndNoOthers, ()) {
  const JobStatus before = SomeStatus();
  // Half of them differ in all, the others in what is someone else's.
  JobStatus after = *rc::gen::arbitrary<bool>() ? SomeStatus() : before;
  if (generate::Flag()) after.allocation = generate::List(generate::Text);
  if (generate::Flag()) after.train = generate::Maybe(generate::SomeHints);
  JobStatus expected = after;
  expected.train = before.train;
  if (!after.allocation.empty()) expected.allocation = before.allocation;
  json stored = {{"status", Encode(before)}, {"spec", "untouched"}};
  if (const auto patch = OperatorPatch(before, after)) {
    RC_ASSERT(!patch->value().at("status").empty());
    RC_ASSERT(!patch->value().at("status").contains("train"));
    stored.merge_patch(patch->value());
  } else {
    RC_ASSERT(expected == before);
  }
  RC_ASSERT(stored == (json{{"status", Encode(expected)}, {"spec", "untouched"}}));
}

TEST(ReportedHints, AreReadAloneOrFromAJob) {
  struct Case {
    std::string text;
    std::string expect;  // The message, or nothing where initBatchSize is read.
  };
  const std::vector<Case> cases = {
      {R"({"initBatchSize": 8})", ""},
      {R"({"kind": "AdaptDLJob", "status": {"train": {"initBatchSize": 8}}})", ""},
      {R"({"kind": "AdaptDLJob", "status": {"train": null}})",
       "status.train: the job has not reported anything yet"},
      {R"({"kind": "AdaptDLJob", "spec": {}})", "status.train: the job has not reported anything yet"},
      {R"({"kind": "AdaptDLJob", "status": []})", "status.train: the job has not reported anything yet"},
      {R"({"kind": "AdaptDLJob", "status": {"train": {"initBatchSize": 0}}})",
       "status.train.initBatchSize: must be"},
      {R"({"kind": "AdaptDLJob", "status": {"train": 3}})", "status.train: expected an object"},
      {R"([])", "expected an object"},
  };
  for (const Case& c : cases) {
    const Result<Hints> hints = ParseReportedHints(c.text);
    EXPECT_EQ(hints.has_value(), c.expect.empty()) << c.text;
    if (hints) {
      EXPECT_EQ(hints->init_batch_size, 8) << c.text;
    } else {
      EXPECT_EQ(hints.error().message.substr(0, c.expect.size()), c.expect);
    }
  }
}

}  // namespace
}  // namespace adaptdl
