// The pod of one replica: the user's template, with what makes it a replica.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/document.h"
#include "api/job.h"
#include "api/replica.h"
#include "api/replica_token.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// What the administrator wants of all replicas. Immutable and cheap to copy.
class PodSettings {
 public:
  PodSettings();  // No defaults and no patches.

  // Each as JSON text, empty for none: `default_resources` {"requests": {...}, "limits": {...}}; the patches
  // are lists of operations (RFC 6902). Errors name the setting and the place in it.
  static Result<PodSettings> Parse(std::string_view default_resources, std::string_view pod_patch,
                                   std::string_view container_patch);

  std::string supervisor_url = {};
  // What a replica shows to the supervisor, as a part of its address; empty: nothing.
  std::function<std::string(const ReplicaIdentity& replica)> token = {};
  std::string version = {};  // ADAPTDL_SCHED_VERSION.

  const nlohmann::json& default_resources() const;
  const nlohmann::json& pod_patch() const;
  const nlohmann::json& container_patch() const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

std::string PodName(const Job& job, std::int64_t group, std::int64_t rank);
// What makes `<job>-<group>-<rank>` a name of a host, also where it would be too long for one.
std::string PodHostname(const Job& job, std::int64_t group, std::int64_t rank);

// A pod for Cluster::Create. kInvalid where template and settings do not fit together; the message names the
// place.
Result<Document> BuildPod(const Job& job, const Replica& replica, const PodSettings& settings);

}  // namespace adaptdl
