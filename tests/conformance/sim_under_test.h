// The simulated cluster for the conformance suite: no faults, three nodes.
#pragma once

#include <memory>

#include "tests/conformance/cluster_under_test.h"

namespace adaptdl {

Result<std::unique_ptr<ClusterUnderTest>> MakeSimulated();

}  // namespace adaptdl
