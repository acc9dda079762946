// How the parts of model.h are read and written wherever they occur: in hints and in snapshots.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/model.h"
#include "api/reader.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

// Python writes 1024.0 where a user computed with doubles.
inline constexpr Limits kSizeLimits{
    .min = 1, .max = static_cast<double>(kMaxSize), .take_integral_double = true};
inline constexpr Limits kCountLimits{
    .min = 0, .max = static_cast<double>(kMaxSize), .take_integral_double = true};
inline constexpr Limits kNotNegative{.min = 0};

struct PerfField {
  const char* name = nullptr;
  double PerfParams::*value = nullptr;
  Limits limits;
};

// In the order in which lists give them.
inline constexpr std::array<PerfField, 7> kPerfFields = {{
    {"alpha_c", &PerfParams::alpha_c, kNotNegative},
    {"beta_c", &PerfParams::beta_c, kNotNegative},
    {"alpha_n", &PerfParams::alpha_n, kNotNegative},
    {"beta_n", &PerfParams::beta_n, kNotNegative},
    {"alpha_r", &PerfParams::alpha_r, kNotNegative},
    {"beta_r", &PerfParams::beta_r, kNotNegative},
    {"gamma", &PerfParams::gamma, {.min = 1, .max = 10}},
}};

// {num_nodes, num_replicas, atomic_bsz, accum_step_time, optim_step_time}
void Decode(const Reader& in, Observation* out);
nlohmann::json Encode(const Observation& observation);

// The member `key` as [min|null, max|null], absent, or null.
void ReadBounds(const Reader& in, std::string_view key, std::optional<std::int64_t>* min,
                std::optional<std::int64_t>* max);
nlohmann::json EncodeBounds(const std::optional<std::int64_t>& min, const std::optional<std::int64_t>& max);

// Fails at the member `key` where its value, `high`, is below `low`, which the message calls `low_name`.
void CheckOrder(const Reader& in, std::string_view key, const std::optional<std::int64_t>& high,
                std::string_view low_name, const std::optional<std::int64_t>& low);

}  // namespace adaptdl
