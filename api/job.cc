#include "api/job.h"

#include <array>
#include <utility>

#include "api/json.h"
#include "api/model_codec.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr std::array<std::pair<JobPhase, std::string_view>, 6> kPhases = {{
    {JobPhase::kPending, "Pending"},
    {JobPhase::kStarting, "Starting"},
    {JobPhase::kRunning, "Running"},
    {JobPhase::kStopping, "Stopping"},
    {JobPhase::kSucceeded, "Succeeded"},
    {JobPhase::kFailed, "Failed"},
}};

constexpr double kMaxSeconds = 1e9;  // More than thirty years; dates stay within their range.

// What the operator alone writes, and the conditions, of which it keeps others' as they were.
constexpr std::string_view kOperatorFields[] = {"phase",
                                                "group",
                                                "replicas",
                                                "readyReplicas",
                                                "reason",
                                                "message",
                                                "conditions",
                                                "completionTimestamp",
                                                "observedGeneration",
                                                "startTimestamp",
                                                "groupTimestamp",
                                                "runningTimestamp",
                                                "attainedReplicaSeconds",
                                                "lastRestartReason",
                                                "failures",
                                                "startTimeouts",
                                                "retryTimestamp"};

// Hints that are not valid are as if they had never been reported; see JobStatus.
std::optional<Hints> ReadTrain(const Reader& in) {
  const std::optional<Reader> train = in.Find("train");
  if (!train) return std::nullopt;
  Result<Hints> hints = FromJson<Hints>(train->value());
  return hints ? std::optional(*std::move(hints)) : std::nullopt;
}

}  // namespace

std::string_view ToString(JobPhase phase) {
  for (const auto& [known, name] : kPhases) {
    if (known == phase) return name;
  }
  return "Unknown";
}

void Decode(const Reader& in, JobPhase* out) {
  std::string text;
  in.Read(&text);
  for (const auto& [phase, name] : kPhases) {
    if (text == name) {
      *out = phase;
      return;
    }
  }
  in.Fail("'" + Printable(text) + "' is not the phase of a job");
}

void Decode(const Reader& in, JobSpec* out) {
  in.Required("template", &out->pod_template);
  in.Optional("minReplicas", &out->min_replicas, {.min = 0});
  in.Optional("maxReplicas", &out->max_replicas, {.min = 1});
  in.Optional("preemptible", &out->preemptible);
  in.Optional("startTimeoutSeconds", &out->start_timeout_seconds, {.min = 0, .max = kMaxSeconds});
  in.Optional("backoffLimit", &out->backoff_limit, {.min = 0});
  in.Optional("activeDeadlineSeconds", &out->active_deadline_seconds, {.min = 1, .max = kMaxSeconds});
  in.Optional("ttlSecondsAfterFinished", &out->ttl_seconds_after_finished, {.min = 0, .max = kMaxSeconds});
  in.Optional("suspend", &out->suspend);
  CheckOrder(in, "maxReplicas", out->max_replicas, "minReplicas", out->min_replicas);
}

void Decode(const Reader& in, JobStatus* out) {
  in.Optional("phase", &out->phase);
  in.Optional("allocation", &out->allocation);
  in.Optional("replicas", &out->replicas, {.min = 0});
  in.Optional("readyReplicas", &out->ready_replicas, {.min = 0});
  in.Optional("group", &out->group, {.min = 0});
  in.Optional("reason", &out->reason);
  in.Optional("message", &out->message);
  in.Optional("completionTimestamp", &out->completion_timestamp);
  in.Optional("conditions", &out->conditions);
  in.Optional("observedGeneration", &out->observed_generation);
  in.Optional("startTimestamp", &out->start_timestamp);
  in.Optional("groupTimestamp", &out->group_timestamp);
  in.Optional("runningTimestamp", &out->running_timestamp);
  in.Optional("attainedReplicaSeconds", &out->attained_replica_seconds, {.min = 0});
  in.Optional("lastRestartReason", &out->restart_reason);
  in.Optional("failures", &out->failures, {.min = 0});
  in.Optional("startTimeouts", &out->start_timeouts, {.min = 0});
  in.Optional("retryTimestamp", &out->retry_timestamp);
  out->train = ReadTrain(in);
}

void Decode(const Reader& in, Job* out) {
  in.Required("metadata", &out->metadata);
  in.Required("spec", &out->spec);
  in.Optional("status", &out->status);
  const std::string& name = out->metadata.name;
  if (const auto metadata = in.Find("metadata"); metadata && !IsJobName(name)) {
    metadata->Fail("name", "'" + Printable(name, 80) + "' is not a DNS-1123 name of at most 63 characters");
  }
}

json Encode(const JobStatus& status) {
  json out = {{"allocation", status.allocation},
              {"replicas", status.replicas},
              {"readyReplicas", status.ready_replicas}};
  const auto number = [&](const char* key, std::int64_t value) {
    if (value != 0) out[key] = value;
  };
  const auto time = [&](const char* key, const std::optional<Time>& value) {
    if (value) out[key] = FormatTime(*value);
  };
  if (status.group) out["group"] = *status.group;
  if (status.phase) out["phase"] = ToString(*status.phase);
  if (status.reason) out["reason"] = *status.reason;
  if (status.message) out["message"] = *status.message;
  if (status.restart_reason) out["lastRestartReason"] = *status.restart_reason;
  for (const Condition& condition : status.conditions) out["conditions"].push_back(Encode(condition));
  number("observedGeneration", status.observed_generation);
  number("attainedReplicaSeconds", status.attained_replica_seconds);
  number("failures", status.failures);
  number("startTimeouts", status.start_timeouts);
  time("startTimestamp", status.start_timestamp);
  time("groupTimestamp", status.group_timestamp);
  time("runningTimestamp", status.running_timestamp);
  time("retryTimestamp", status.retry_timestamp);
  time("completionTimestamp", status.completion_timestamp);
  if (status.train) out["train"] = Encode(*status.train);
  return out;
}

std::optional<Document> OperatorPatch(const JobStatus& before, const JobStatus& after) {
  if (before == after) return std::nullopt;  // As nearly always: then there is no need to write both down.
  const json old_fields = Encode(before);
  const json new_fields = Encode(after);
  json changed = json::object();
  for (const std::string_view field : kOperatorFields) {
    const json was = old_fields.value(std::string(field), json());
    const json is = new_fields.value(std::string(field), json());
    if (was != is) changed[std::string(field)] = is;
  }
  if (after.allocation.empty() && !before.allocation.empty()) changed["allocation"] = json::array();
  if (changed.empty()) return std::nullopt;
  return Document(json{{"status", std::move(changed)}});
}

json Encode(const Job& job) {
  json spec = {
      {"template", job.spec.pod_template.value()}, {"minReplicas", job.spec.min_replicas},
      {"preemptible", job.spec.preemptible},       {"startTimeoutSeconds", job.spec.start_timeout_seconds},
      {"backoffLimit", job.spec.backoff_limit},    {"suspend", job.spec.suspend}};
  if (const auto& seconds = job.spec.active_deadline_seconds) spec["activeDeadlineSeconds"] = *seconds;
  if (const auto& seconds = job.spec.ttl_seconds_after_finished) spec["ttlSecondsAfterFinished"] = *seconds;
  if (job.spec.max_replicas) spec["maxReplicas"] = *job.spec.max_replicas;
  return {{"apiVersion", "adaptdl.petuum.com/v1"},
          {"kind", "AdaptDLJob"},
          {"metadata", Encode(job.metadata)},
          {"spec", std::move(spec)},
          {"status", Encode(job.status)}};
}

Result<Job> ParseJob(std::string_view text) {
  return ParseJson(text).and_then([](const json& value) { return FromJson<Job>(value); });
}

Result<Hints> ParseReportedHints(std::string_view text) {
  return ParseJson(text).and_then([](const json& value) -> Result<Hints> {
    const bool is_job = value.is_object() && value.contains("kind") && value["kind"] == "AdaptDLJob";
    if (!is_job) return FromJson<Hints>(value);
    const json::json_pointer train("/status/train");
    if (!value.contains(train) || value[train].is_null()) {
      return Fail(ErrorCode::kNotFound, "status.train: the job has not reported anything yet");
    }
    return FromJson<Hints>(value[train], "status.train");
  });
}

}  // namespace adaptdl
