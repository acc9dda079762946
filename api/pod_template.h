// The pod template of a job: the user's, kept as it was given.
#pragma once

#include <vector>

#include "api/container.h"
#include "api/document.h"
#include "api/metadata.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

class Reader;

// Immutable and cheap to copy. Nothing in it is checked before it is asked for: Kubernetes knows its fields,
// we know a few.
class PodTemplate {
 public:
  PodTemplate() = default;  // An empty object.
  explicit PodTemplate(nlohmann::json value);

  const nlohmann::json& value() const { return document_.value(); }

  // Errors name their place from the job on: "spec.template.spec.containers[0]...".
  Result<Metadata> ReadMetadata() const;
  Result<std::vector<Container>> ReadContainers() const;

  friend bool operator==(const PodTemplate&, const PodTemplate&) = default;

 private:
  Document document_;
};

void Decode(const Reader& in, PodTemplate* out);

}  // namespace adaptdl
