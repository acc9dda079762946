// Fit: any observations give a usable model or an error.
#include <cmath>
#include <cstring>
#include <vector>

#include "goodput/fit.h"
#include "goodput/model.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  // As many observations as the bytes give: nodes, replicas, batch size, and the bits of two doubles.
  constexpr std::size_t kBytes = 20;
  constexpr std::size_t kMost = 12;
  std::vector<Observation> observations;
  for (; size >= kBytes && observations.size() < kMost; data += kBytes, size -= kBytes) {
    Observation& o = observations.emplace_back();
    o.num_nodes = data[0];
    o.num_replicas = data[1];
    o.atomic_bsz = data[2] * 256 + data[3];
    std::memcpy(&o.accum_step_time, data + 4, sizeof(double));
    std::memcpy(&o.optim_step_time, data + 12, sizeof(double));
  }
  const Result<Fit> fit = FitPerfParams(observations);
  if (!fit) {
    Check(fit.error().code == ErrorCode::kInvalid, "only bad input is refused");
    return 0;
  }
  Check(std::isfinite(fit->objective), "the objective is a number");
  const auto model = GoodputModel::Create(fit->params, {1, 1}, 16);
  Check(model.has_value(), "the parameters make a model");
  const auto best = model->Best({2, 16}, {.max_batch_size = 1024});
  Check(best && std::isfinite(best->goodput) && best->goodput > 0, "the model predicts a goodput");
  return 0;
}
