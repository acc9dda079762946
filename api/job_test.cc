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
           "minReplicas": 1, "maxReplicas": 8, "preemptible": false, "unknown": 1},
  "status": {"phase": "Running", "allocation": ["n1", "n1", "n2"], "replicas": 3, "readyReplicas": 2, "group": 7,
             "reason": "r", "message": "m", "completionTimestamp": "2026-01-01T00:00:00Z",
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
  JobStatus status;
  status.phase = JobPhase::kRunning;
  status.allocation = {"n1", "n1", "n2"};
  status.replicas = 3;
  status.ready_replicas = 2;
  status.group = 7;
  status.reason = "r";
  status.message = "m";
  status.completion_timestamp = ParseTime("2026-01-01T00:00:00Z").value();
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

RC_GTEST_PROP(JobTest, ReadsWhatItWrites, ()) {
  Job job;
  job.metadata = generate::SomeMetadata();
  job.metadata.name = job.metadata.name.substr(0, 63);
  const auto bounds = generate::Ordered(generate::Size);
  job.spec = {.pod_template = PodTemplate(json{{"spec", {{"x", generate::Text()}}}}),
              .min_replicas = bounds.min.value_or(0),
              .max_replicas = bounds.max,
              .preemptible = generate::Flag()};
  job.status = {.phase = generate::Maybe([] { return static_cast<JobPhase>(*rc::gen::inRange(0, 6)); }),
                .allocation = generate::List(generate::Text),
                .replicas = generate::Amount(),
                .ready_replicas = generate::Amount(),
                .group = generate::Amount(),
                .reason = generate::Maybe(generate::Text),
                .message = generate::Maybe(generate::Text),
                .completion_timestamp = generate::Maybe(generate::PointInTime),
                .train = generate::Maybe(generate::SomeHints)};
  RC_ASSERT(ParseJob(ToText(Encode(job))).value() == job);
  RC_ASSERT(FromJson<JobStatus>(Encode(job.status)).value() == job.status);
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
