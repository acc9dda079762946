// What `adaptdl sim` shows of its replays.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "runtime/result.h"
#include "simulator/result.h"

namespace adaptdl {

// Replays of every workload under each of the same policies, workload by workload.
struct SimResults {
  std::vector<SimResult> results;
  std::size_t policies = 1;
  bool autoscaling = false;  // Only then do node-hours tell anything.
};

std::string SimJson(const SimResults& sim);

// A table, with the means over the workloads where there are several.
std::string SimTable(const SimResults& sim, const Terminal& terminal);

// Which share of the first workload's jobs is done within which time, under the first two policies.
std::string CompletionPlot(const SimResults& sim, const Terminal& terminal);

// As people say it: "35 s", "46.3 min", "2.1 h".
std::string Duration(double seconds);

// Whether a file can be written there: better known before an hour of replays than after.
Result<void> CheckWritable(const std::string& path);

// The whole text or, where that fails, nothing: then what was there before still is.
Result<void> WriteWhole(const std::string& path, const std::string& text);

}  // namespace adaptdl
