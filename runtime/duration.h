// Durations as people write them: "250ms", "30s", "1h30m", "2d".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace adaptdl {

// Whole numbers with the units d, h, m, s, ms, the larger first and each once. A number without a unit is
// refused: whether 30 means seconds or minutes is what people get wrong.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// The shortest spelling that ParseDuration reads back; "0s" for nothing. `duration` is not negative.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace adaptdl
