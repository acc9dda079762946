#include "api/metadata.h"

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

void Decode(const Reader& in, Owner* out) {
  in.Optional("apiVersion", &out->api_version);
  in.Required("kind", &out->kind);
  in.Required("name", &out->name);
  in.Optional("uid", &out->uid);
}

void Decode(const Reader& in, Metadata* out) {
  in.Optional("name", &out->name);
  in.Optional("namespace", &out->name_space);
  in.Optional("uid", &out->uid);
  in.Optional("resourceVersion", &out->resource_version);
  in.Optional("generation", &out->generation);
  in.Optional("labels", &out->labels);
  in.Optional("annotations", &out->annotations);
  in.Optional("creationTimestamp", &out->creation_timestamp);
  in.Optional("deletionTimestamp", &out->deletion_timestamp);
  if (const auto owners = in.Find("ownerReferences")) {
    for (const Reader& owner : owners->Elements()) {
      bool controller = false;
      owner.Optional("controller", &controller);
      if (controller) owner.Read(&out->owner);
    }
  }
}

json Encode(const Metadata& metadata) {
  json out = json::object();
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  const auto time = [&](const char* key, const std::optional<Time>& value) {
    if (value) out[key] = FormatTime(*value);
  };
  text("name", metadata.name);
  text("namespace", metadata.name_space);
  text("uid", metadata.uid);
  text("resourceVersion", metadata.resource_version);
  if (metadata.generation != 0) out["generation"] = metadata.generation;
  if (!metadata.labels.empty()) out["labels"] = metadata.labels;
  if (!metadata.annotations.empty()) out["annotations"] = metadata.annotations;
  time("creationTimestamp", metadata.creation_timestamp);
  time("deletionTimestamp", metadata.deletion_timestamp);
  if (const auto& owner = metadata.owner) {
    out["ownerReferences"] = {{{"apiVersion", owner->api_version},
                               {"kind", owner->kind},
                               {"name", owner->name},
                               {"uid", owner->uid},
                               {"controller", true},
                               {"blockOwnerDeletion", true}}};
  }
  return out;
}

bool IsJobName(std::string_view name) {
  constexpr std::size_t kMaxLabelValue = 63;
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char previous = '.';
  for (const char c : name) {
    const bool fits = is_alnum(c) || (c == '.' && is_alnum(previous)) || (c == '-' && previous != '.');
    if (!fits) return false;
    previous = c;
  }
  return is_alnum(previous) && name.size() <= kMaxLabelValue;
}

}  // namespace adaptdl
