// The suite on the simulated cluster.
#include "tests/conformance/conformance.h"
#include "tests/conformance/sim_under_test.h"
#include "tests/conformance/supervisor_conformance.h"

namespace adaptdl {
namespace {

INSTANTIATE_TEST_SUITE_P(Sim, Conformance, testing::Values(&MakeSimulated));
INSTANTIATE_TEST_SUITE_P(Sim, PodStory, testing::Values(&MakeSimulated));
INSTANTIATE_TEST_SUITE_P(Sim, SupervisorTable, testing::Values(&MakeSimulated));

}  // namespace
}  // namespace adaptdl
