// What another process has cost so far, from /proc.
#pragma once

#include <sys/types.h>

#include <vector>

namespace adaptdl {

struct ProcessCosts {
  double cpu_seconds = 0;
  long resident_kb = 0;
  std::vector<double> threads = {};  // CPU seconds of each that there is, by its id.
};

// All zero where there is no such process.
ProcessCosts CostsOf(pid_t process);

}  // namespace adaptdl
