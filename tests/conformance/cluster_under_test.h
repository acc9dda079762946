// A cluster for the conformance suite, with the few things that the suite needs besides the port.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/clock.h"
#include "cluster/cluster.h"

namespace adaptdl {

class ClusterUnderTest {
 public:
  virtual ~ClusterUnderTest() = default;

  virtual Cluster& cluster() = 0;
  virtual Clock& clock() = 0;

  // Lets the clock run until `holds` holds or the cluster had more than enough time; whether it holds.
  virtual bool RunUntil(const std::function<bool()>& holds) = 0;

  // A namespace that is there and that nobody else uses.
  virtual std::string name_space() = 0;

  // Makes the cluster forget all history up to now: tokens of lists go stale, watches cannot go back.
  virtual void ForgetHistory() = 0;
};

// Nothing where there is none on this machine, with the reason.
using MakeCluster = Result<std::unique_ptr<ClusterUnderTest>> (*)();

}  // namespace adaptdl
