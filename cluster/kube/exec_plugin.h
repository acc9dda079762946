// Programs that print credentials, as kubeconfigs name them (client.authentication.k8s.io).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "api/time.h"
#include "cluster/kube/kube_config.h"
#include "cluster/kube/transport.h"
#include "runtime/result.h"

namespace adaptdl {

struct PluginCredentials {
  Identity identity;  // Without a CA.
  std::optional<Time> expires;
};

// What the plugin printed. Strict; no message shows any of it.
Result<PluginCredentials> ParseExecCredential(std::string_view text, const std::string& api_version);

// Runs the plugin to its end and returns what it printed. Blocks. Past `limit`, or once `stop_fd` can be
// read, it is killed with all that it started in its process group. A failure shows the end of its stderr.
Result<std::string> RunPlugin(const ExecPlugin& plugin, int stop_fd, std::chrono::milliseconds limit);

}  // namespace adaptdl
