// An AdmissionReview (admission.k8s.io/v1): the API server asks whether an AdaptDLJob may become what
// somebody wants it to be, and gets an answer.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/job.h"
#include "api/object.h"
#include "runtime/result.h"

namespace adaptdl {

// A new job.
struct JobCreation {
  std::string name;
  std::string generate_name;                // What the server makes a name of, where there is none yet.
  Result<JobSpec> spec;                     // Or what is wrong with it.
  std::vector<std::string> unknown_fields;  // Members of its `spec` that no job has.
};

// Another state of a job that there is, whose metadata may change, too.
struct JobUpdate {
  // Members of its `spec`. One that is absent or null is the same as one that has its default, and in the
  // template absent is the same as null.
  std::vector<std::string> changed_fields;
  // Those that may change in a job's life, as they would be; the others are left out.
  Result<JobSpec> mutable_part;
};

struct AdmissionRequest {
  std::string uid;
  Key job;  // Its name is empty where the server has not made one up yet.
  // Neither: about something else than a job's own wishes, such as its deletion or its status.
  std::variant<std::monostate, JobCreation, JobUpdate> wish;
};

struct AdmissionAnswer {
  bool allowed = false;
  // Of a refusal, as in the status of any answer of the API server.
  int code = 0;
  std::string reason = {};
  std::string message = {};
  std::vector<std::string> warnings = {};  // For the user, whether allowed or not.

  friend bool operator==(const AdmissionAnswer&, const AdmissionAnswer&) = default;
};

// kInvalid where it is no review, with the place.
Result<AdmissionRequest> ParseAdmissionReview(std::string_view text);

// The review that answers the request of that uid.
std::string AdmissionReviewText(const std::string& uid, const AdmissionAnswer& answer);

}  // namespace adaptdl
