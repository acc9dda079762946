// The AdaptDLJob: what the user wants of it, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

struct JobSpec {
  PodTemplate pod_template;
  std::int64_t min_replicas = 0;
  std::optional<std::int64_t> max_replicas;  // No bound of the user's own where absent.
  bool preemptible = true;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// The operator writes phase, group, replicas, ready_replicas, reason, message and completion_timestamp; the
// scheduler allocation; the supervisor train.
struct JobStatus {
  std::optional<JobPhase> phase;        // Absent until the operator first sees the job.
  std::vector<std::string> allocation;  // The node of each replica, in rank order.
  std::int64_t replicas = 0;
  std::int64_t ready_replicas = 0;
  std::int64_t group = 0;  // Generation of the pods; also how often the job was restarted.
  std::optional<std::string> reason;
  std::optional<std::string> message;
  std::optional<Time> completion_timestamp;
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

void Decode(const Reader& in, JobStatus* out);
void Decode(const Reader& in, Job* out);
nlohmann::json Encode(const JobStatus& status);
nlohmann::json Encode(const Job& job);

Result<Job> ParseJob(std::string_view text);

// What a job has reported: from hints as they are, or from a whole AdaptDLJob, whose status holds them.
// NotFound where the job has not reported yet.
Result<Hints> ParseReportedHints(std::string_view text);

}  // namespace adaptdl
