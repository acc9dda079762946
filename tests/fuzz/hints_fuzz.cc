// Hints: whatever is taken is valid, and is read back as it was written.
#include <cmath>

#include "api/hints.h"
#include "api/json.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<Hints> hints = ParseHints(AsText(data, size));
  if (!hints) return 0;
  const Result<Hints> again = ParseHints(ToText(Encode(*hints)));
  Check(again.has_value() && *again == *hints, "hints are read as they were written");
  for (const auto& batch_size : {hints->init_batch_size, hints->max_batch_size, hints->global_batch_size,
                                 hints->min_local_bsz, hints->max_local_bsz}) {
    Check(!batch_size || *batch_size >= 1, "sizes are positive");
  }
  Check(hints->max_batch_size.value_or(INT64_MAX) >= hints->init_batch_size.value_or(1),
        "maximum >= initial size");
  if (const auto& perf = hints->perf_params) {
    Check(std::isfinite(perf->alpha_c) && perf->alpha_c >= 0, "times are finite and not negative");
    Check(perf->gamma >= 1 && perf->gamma <= 10, "gamma is in range");
  }
  return 0;
}
