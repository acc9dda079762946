// How a program of the control plane reaches its Kubernetes, by its settings and with its calls counted.
#pragma once

#include <memory>
#include <string>

#include "cluster/kube/kube_cluster.h"
#include "cluster/kube/kube_config.h"
#include "runtime/config.h"
#include "runtime/environment.h"
#include "runtime/metrics.h"
#include "runtime/result.h"

namespace adaptdl {

struct KubeSettings {
  std::string kubeconfig = {};  // Empty: $KUBECONFIG, ~/.kube/config, or the pod's service account.
  double requests_per_second = 200;
  double burst = 400;
};
void Bind(KubeSettings& settings, ConfigSchema& schema);

Result<KubeConnection> FindConnection(const KubeSettings& settings, const Environment& environment);

// With `options` but for the limits of `settings` and the counting, as adaptdl_api_requests_total. `clock`
// outlives the cluster.
Result<std::unique_ptr<Cluster>> ConnectProgram(const KubeConnection& connection,
                                                const KubeSettings& settings, KubeOptions options,
                                                Clock& clock, Metrics& metrics);

}  // namespace adaptdl
