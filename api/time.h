// Points in time as Kubernetes writes them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace adaptdl {

class Reader;

using Time = std::chrono::sys_time<std::chrono::microseconds>;

// RFC 3339 within the years 0000 to 9999 (UTC): "2026-01-01T00:00:00Z", "2026-01-01T01:30:00.25+01:30". What
// is finer than a microsecond is cut off. Leap seconds are refused, as Kubernetes refuses them.
Result<Time> ParseTime(std::string_view text);

// In UTC, with six digits of a second only where they are needed. `time` lies within the years 0000 to 9999.
std::string FormatTime(Time time);

void Decode(const Reader& in, Time* out);

}  // namespace adaptdl
