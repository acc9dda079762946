#include "api/pod_template.h"

#include <utility>

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr const char* kPath = "spec.template";

// The parts of a template that we know, so that each is read by its codec.
struct TemplateMetadata {
  Metadata metadata;
};
struct TemplateContainers {
  std::vector<Container> containers;
};

void Decode(const Reader& in, TemplateMetadata* out) { in.Optional("metadata", &out->metadata); }

void Decode(const Reader& in, TemplateContainers* out) {
  if (const auto spec = in.Find("spec")) return spec->Required("containers", &out->containers);
  in.Fail("spec", "missing");
}

}  // namespace

PodTemplate::PodTemplate(json value) : document_(std::move(value)) {}

Result<Metadata> PodTemplate::ReadMetadata() const {
  return FromJson<TemplateMetadata>(value(), kPath).map([](auto&& known) {
    return std::move(known.metadata);
  });
}

Result<std::vector<Container>> PodTemplate::ReadContainers() const {
  return FromJson<TemplateContainers>(value(), kPath).map([](auto&& known) {
    return std::move(known.containers);
  });
}

void Decode(const Reader& in, PodTemplate* out) {
  if (!in.value().is_object()) return in.FailExpected("an object");
  *out = PodTemplate(in.value());
}

}  // namespace adaptdl
