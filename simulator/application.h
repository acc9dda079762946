// What a training application really does: step times, gradient statistics and the progress it needs. Only
// simulated jobs may ask; a policy sees what they report.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/model.h"
#include "runtime/result.h"

namespace adaptdl {

// What its user declares of an application, known to everyone.
struct ApplicationSpec {
  std::string name;
  std::int64_t init_batch_size = 1;
  std::int64_t max_batch_size = 1;
  std::int64_t min_local_bsz = 1;
  std::int64_t max_local_bsz = 1;
  bool gradient_accumulation = true;
  int epochs = 1;
  double data_size = 1;                          // Samples in one epoch.
  std::optional<std::int64_t> fixed_batch_size;  // Not adaptive: runs at this batch size alone...
  std::optional<std::int64_t> max_replicas;      // ...and on no more than this.
  double restart_seconds = 30;                   // From a checkpoint to the next step.
};

struct StepTime {
  double step = 0;  // Seconds for a step that synchronises, and the part of it spent on synchronising.
  double sync = 0;
};

class Application {
 public:
  virtual ~Application() = default;

  [[nodiscard]] virtual const ApplicationSpec& spec() const = 0;

  // `placement` has the replicas on each node that has any, in node order; local_bsz is within the bounds.
  [[nodiscard]] virtual StepTime Step(std::span<const int> placement, std::int64_t local_bsz) const = 0;

  // At this total batch size, in epoch 0, 1, ... epochs - 1.
  [[nodiscard]] virtual GradParams Gradient(double batch_size, int epoch) const = 0;

  // Progress, in steps of the initial batch size, at which `epoch` epochs are done: 0 for none, rising.
  [[nodiscard]] virtual double Progress(int epoch) const = 0;
};

using Applications = std::map<std::string, std::unique_ptr<const Application>>;

// Reads every application under `directory`: <app>/placements.csv, scalability.csv and
// validation-<batch>.csv, as measured for the OSDI'21 paper. Errors name the file and the line.
Result<Applications> LoadTraces(const std::string& directory);

// Built-in applications of similar kinds, made from formulas.
Applications SyntheticApplications();

}  // namespace adaptdl
