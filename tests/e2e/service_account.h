// A program of ours as its pod would find itself: with the rights of its account, and no others.
#pragma once

#include <string>

#include "tests/e2e/testbed.h"

namespace adaptdl {

// Gives the chart's rights to the account of `program`, e.g. "operator"; the path of a kubeconfig of that
// account.
std::string MakeServiceAccount(const Testbed& server, const std::string& program);

}  // namespace adaptdl
