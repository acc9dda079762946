// What a running job reports about itself: `status.train`, and the body of PUT /hints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/model.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

class Reader;

// Every field may be absent: a client sends what it knows.
struct Hints {
  std::optional<std::int64_t> init_batch_size;
  std::optional<std::int64_t> min_local_bsz;  // The two of localBszBounds.
  std::optional<std::int64_t> max_local_bsz;
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> max_batch_size;
  std::optional<std::int64_t> max_profiled_replicas;
  std::optional<bool> gradient_accumulation;
  std::optional<GradParams> grad_params;
  std::optional<PerfParams> perf_params;

  // Additions to the published report.
  std::optional<double> progress = {};               // So far, in steps of the initial batch size,
  std::optional<double> total_progress = {};         // and when it will be done.
  std::optional<std::int64_t> epochs = {};           // Declared,
  std::optional<std::int64_t> finished_epochs = {};  // and those that are over.
  std::optional<double> checkpoint_seconds = {};     // What the last one took.
  std::optional<double> restart_seconds = {};  // From the last step before it to the first one after it.
  std::vector<Observation> profile = {};       // Measured step times, at most kMaxObservations.

  friend bool operator==(const Hints&, const Hints&) = default;
};

inline constexpr std::size_t kMaxObservations = 200;

// Takes only what the rest of the system can rely on: numbers finite and in range (sizes from 1, alpha, beta
// and the gradient's statistics from 0, gamma from 1 to 10), and sizes that fit each other. Unknown keys are
// dropped.
void Decode(const Reader& in, Hints* out);
nlohmann::json Encode(const Hints& hints);

// A merge patch that makes `status.train` of a job these hints and no others.
Document HintsPatch(const Hints& hints);

Result<Hints> ParseHints(std::string_view text);

}  // namespace adaptdl
