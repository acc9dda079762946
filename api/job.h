// The AdaptDLJob: what the user wants of it, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/condition.h"
#include "api/document.h"
#include "api/hints.h"
#include "api/metadata.h"
#include "api/pod_template.h"
#include "api/time.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

class Reader;

enum class JobPhase { kPending, kStarting, kRunning, kStopping, kSucceeded, kFailed };

std::string_view ToString(JobPhase phase);

// The members of `spec`, and those that may change in a job's life.
inline constexpr std::string_view kJobSpecFields[] = {"template",
                                                      "minReplicas",
                                                      "maxReplicas",
                                                      "preemptible",
                                                      "startTimeoutSeconds",
                                                      "backoffLimit",
                                                      "activeDeadlineSeconds",
                                                      "ttlSecondsAfterFinished",
                                                      "suspend"};
inline constexpr std::string_view kMutableJobSpecFields[] = {"suspend", "minReplicas", "maxReplicas"};

struct JobSpec {
  PodTemplate pod_template;
  std::int64_t min_replicas = 0;
  std::optional<std::int64_t> max_replicas;  // No bound of the user's own where absent.
  bool preemptible = true;

  // Additions to the published resource, all optional.
  std::int64_t start_timeout_seconds = 600;  // A group that does not run by then is given up; 0: never.
  std::int64_t backoff_limit = 0;            // So many failures of replicas are answered by a new group.
  std::optional<std::int64_t> active_deadline_seconds = {};     // From its first start.
  std::optional<std::int64_t> ttl_seconds_after_finished = {};  // Then it is deleted.
  bool suspend = false;                                         // It checkpoints, and waits.

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// The scheduler writes allocation (which the operator clears on completion), the supervisor train, the
// operator all else. Conditions are of both, each its own types.
struct JobStatus {
  std::optional<JobPhase> phase;        // Absent until the operator first sees the job.
  std::vector<std::string> allocation;  // The node of each replica, in rank order.
  std::int64_t replicas = 0;
  std::int64_t ready_replicas = 0;
  // Generation of the pods, from 0; also how often the job was restarted. Absent before the first.
  std::optional<std::int64_t> group;
  std::optional<std::string> reason;
  std::optional<std::string> message;
  std::optional<Time> completion_timestamp;
  std::vector<Condition> conditions = {};
  std::int64_t observed_generation = 0;
  std::optional<Time> start_timestamp = {};    // Of its first group,
  std::optional<Time> group_timestamp = {};    // of the present one,
  std::optional<Time> running_timestamp = {};  // and since when all of that runs; absent where it does not.
  std::int64_t attained_replica_seconds = 0;   // By groups that are over.
  std::optional<std::string> restart_reason = {};  // Of the last restart.
  std::int64_t failures = 0;                       // Of groups, by a replica's own fault; see backoff_limit.
  std::int64_t start_timeouts = 0;                 // In a row.
  std::optional<Time> retry_timestamp = {};        // No group starts before that.
  // Absent too where the stored hints are not valid: earlier releases stored whatever they were sent, and a
  // job must stay in our care whatever it reported. Its replicas report again within a minute.
  std::optional<Hints> train;

  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

struct Job {
  Metadata metadata;
  JobSpec spec;
  JobStatus status;

  friend bool operator==(const Job&, const Job&) = default;
};

void Decode(const Reader& in, JobSpec* out);
void Decode(const Reader& in, JobStatus* out);
void Decode(const Reader& in, Job* out);
nlohmann::json Encode(const JobStatus& status);

// A merge patch that makes what the operator writes of the status so as in `after`, where it is so as in
// `before`; nothing where they agree. It says nothing about other components' fields, but that an allocation
// is gone.
std::optional<Document> OperatorPatch(const JobStatus& before, const JobStatus& after);
nlohmann::json Encode(const Job& job);

Result<Job> ParseJob(std::string_view text);

// What a job has reported: from hints as they are, or from a whole AdaptDLJob, whose status holds them.
// NotFound where the job has not reported yet.
Result<Hints> ParseReportedHints(std::string_view text);

}  // namespace adaptdl
