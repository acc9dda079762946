// adaptdl-supervisor beside a test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "tests/e2e/child_program.h"

namespace adaptdl {

class SupervisorProgram {
 public:
  // On free ports of 127.0.0.1 and without a delay at its end, unless `flags` say otherwise. It serves when
  // this returns, or the test has failed.
  SupervisorProgram(EventLoop& loop, const std::string& kubeconfig, std::vector<std::string> flags);

  std::uint16_t port() const { return port_; }
  std::string url() const;

  bool IsReady() const;
  // What /readyz says.
  std::string Readiness() const;
  // Of a line of /metrics, by all that is before the number; 0 where there is none.
  double Metric(const std::string& name) const;
  // All of /metrics.
  std::string Metrics() const;

  ChildProgram& process() { return process_; }
  int End(int signal);

 private:
  ChildProgram process_;
  std::uint16_t metrics_port_ = 0;
  std::uint16_t port_ = 0;
};

// A kubeconfig in which nothing is wrong, but nobody listens there.
std::string UnreachableCluster();
// A file of this test program; its path.
std::string WriteTestFile(const std::string& name, const std::string& text);

}  // namespace adaptdl
