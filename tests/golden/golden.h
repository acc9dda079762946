// Reads the golden vectors: from ADAPTDL_GOLDEN_DIR where that is set, else from this folder.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/model.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

inline nlohmann::json LoadGolden(const std::string& file) {
  const char* dir = std::getenv("ADAPTDL_GOLDEN_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  const std::string path =
      std::string(dir != nullptr && *dir != '\0' ? dir : ADAPTDL_GOLDEN_DEFAULT) + "/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(in);
}

inline PerfParams GoldenPerf(const nlohmann::json& p) { return {p[0], p[1], p[2], p[3], p[4], p[5], p[6]}; }

// The limits that an entry, or its arguments, gives.
inline BatchLimits GoldenLimits(const nlohmann::json& entry) {
  const auto size = [](const nlohmann::json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
  };
  const nlohmann::json& range = entry["atomic_bsz_range"];
  return {.max_batch_size = size(entry["max_batch_size"]),
          .min_local_bsz = range.is_null() ? std::nullopt : size(range[0]),
          .max_local_bsz = range.is_null() ? std::nullopt : size(range[1]),
          .gradient_accumulation = entry["accumulation"]};
}

inline std::vector<Observation> GoldenObservations(const nlohmann::json& entry) {
  std::vector<Observation> observations;
  for (std::size_t i = 0; i < entry["num_nodes"].size(); ++i) {
    observations.push_back({entry["num_nodes"][i], entry["num_replicas"][i], entry["atomic_bsz"][i],
                            entry["accum_step_time"][i], entry["optim_step_time"][i]});
  }
  return observations;
}

}  // namespace adaptdl
