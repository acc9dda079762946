// The results of replays as one page that a browser shows, with nothing beside it.
#pragma once

#include <string>
#include <vector>

#include "simulator/result.h"

namespace adaptdl {

// A whole HTML file that loads nothing: it works from a disk, in a mail, in ten years. Within a workload, the
// first policy is what the others are compared with; workloads and policies keep the order in which they
// come.
std::string HtmlReport(const std::vector<SimResult>& results);

}  // namespace adaptdl
