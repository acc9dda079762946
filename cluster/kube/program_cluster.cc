#include "cluster/kube/program_cluster.h"

#include <utility>

namespace adaptdl {

void Bind(KubeSettings& settings, ConfigSchema& schema) {
  schema.Add(
      {.key = "kubeconfig", .help = "How to reach the cluster; empty: $KUBECONFIG, or the pod's own account"},
      settings.kubeconfig);
  schema.Add({.key = "api.requests-per-second", .help = "Most requests to the API server, in the long run"},
             settings.requests_per_second, {.min = 1});
  schema.Add({.key = "api.burst", .help = "Most requests at once"}, settings.burst, {.min = 1});
}

Result<KubeConnection> FindConnection(const KubeSettings& settings, const Environment& environment) {
  return settings.kubeconfig.empty() ? FindConnection(environment) : LoadKubeconfig(settings.kubeconfig);
}

Result<std::unique_ptr<Cluster>> ConnectProgram(const KubeConnection& connection,
                                                const KubeSettings& settings, KubeOptions options,
                                                Clock& clock, Metrics& metrics) {
  const auto requests =
      metrics.AddCounter("adaptdl_api_requests_total", "Requests to the API server; code 0: no answer came",
                         {"verb", "kind", "code"});
  if (!requests) return tl::unexpected(requests.error());
  options.requests_per_second = settings.requests_per_second;
  options.burst = settings.burst;
  options.on_request = [requests = *requests](std::string_view verb, Kind kind, int status) {
    requests.Increment({verb, ToString(kind), std::to_string(status)});
  };
  return ConnectToKubernetes(connection, std::move(options), clock);
}

}  // namespace adaptdl
