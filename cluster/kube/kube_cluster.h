// Kubernetes behind the port. Works with API servers from 1.20 on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "cluster/kube/kube_config.h"
#include "runtime/result.h"

namespace adaptdl {

struct KubeOptions {
  // At most `burst` requests at once and `requests_per_second` in the long run, retries and watches included.
  double requests_per_second = 50;
  double burst = 100;
  // Of one call with all its retries. For a watch: until the server has taken it.
  std::chrono::milliseconds call_deadline{30'000};
  // The server is asked to end a watch after a random time between these, so that they do not all end at
  // once.
  std::chrono::seconds watch_min{300};
  std::chrono::seconds watch_max{600};
  std::size_t max_answer_bytes = std::size_t{256} << 20;
  std::size_t max_event_bytes = std::size_t{64} << 20;
  std::string user_agent = "adaptdl-sched";
  // Called on the clock's thread at the end of each request, retries included: verb as Kubernetes names it
  // ("get", "list", "watch", "create", "patch", "delete"), kind, HTTP status; status 0: no answer came.
  // The check of a template is a "create" of a Pod.
  std::function<void(std::string_view verb, Kind kind, int status)> on_request = {};
  std::uint64_t seed = 1;  // Of delays before retries and lengths of watches; differs between processes.
};

// Does not talk to the server yet: whether it is there, the first call tells. Fails with kInvalid where the
// connection or the options make no sense. `clock` outlives the cluster; one more thread does the I/O.
Result<std::unique_ptr<Cluster>> ConnectToKubernetes(KubeConnection connection, KubeOptions options,
                                                     Clock& clock);

}  // namespace adaptdl
