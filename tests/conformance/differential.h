// The same random course of calls on any cluster, told so that two clusters can be compared.
#pragma once

#include <cstdint>
#include <string>

#include "tests/conformance/cluster_under_test.h"

namespace adaptdl {

// Plays `steps` calls drawn from `seed` and tells each with its outcome, a line each, and then all that a
// watch from the beginning saw. Names of its own making (uids, resource versions, dates) are told in a way
// that does not depend on the cluster.
std::string Play(ClusterUnderTest& under_test, std::uint64_t seed, int steps);

}  // namespace adaptdl
