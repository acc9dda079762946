#include "api/lease.h"

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

// MicroTime: the API server takes times of a Lease only with a fraction.
std::string FormatMicroTime(Time time) {
  std::string text = FormatTime(time);
  if (text.find('.') == std::string::npos) text.insert(text.size() - 1, ".000000");
  return text;
}

}  // namespace

void Decode(const Reader& in, Lease* out) {
  in.Required("metadata", &out->metadata);
  if (out->metadata.name.empty()) in.Fail("metadata", "without a name");
  const std::optional<Reader> spec = in.Find("spec");
  if (!spec) return;
  spec->Optional("holderIdentity", &out->holder);
  spec->Optional("leaseDurationSeconds", &out->duration_seconds);
  spec->Optional("acquireTime", &out->acquire_time);
  spec->Optional("renewTime", &out->renew_time);
  spec->Optional("leaseTransitions", &out->transitions);
}

json Encode(const Lease& lease) {
  json spec = {{"holderIdentity", lease.holder}, {"leaseTransitions", lease.transitions}};
  if (lease.duration_seconds) spec["leaseDurationSeconds"] = *lease.duration_seconds;
  if (lease.acquire_time) spec["acquireTime"] = FormatMicroTime(*lease.acquire_time);
  if (lease.renew_time) spec["renewTime"] = FormatMicroTime(*lease.renew_time);
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", Encode(lease.metadata)},
          {"spec", std::move(spec)}};
}

}  // namespace adaptdl
