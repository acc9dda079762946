#include "cluster/sim/validation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxObjectBytes = 1'500'000;  // etcd takes no more in one request.
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlnum(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

// A DNS-1123 subdomain.
bool IsName(std::string_view name) {
  char previous = '.';
  for (const char c : name) {
    const bool fits = IsLower(c) || (c == '.' && IsLower(previous)) || (c == '-' && previous != '.');
    if (!fits) return false;
    previous = c;
  }
  return IsLower(previous) && name.size() <= kMaxName;
}

bool IsLabelValue(std::string_view value) {
  if (value.empty()) return true;
  const auto fits = [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; };
  return value.size() <= kMaxLabel && IsAlnum(value.front()) && IsAlnum(value.back()) &&
         std::all_of(value.begin(), value.end(), fits);
}

// [prefix/]name
bool IsQualifiedName(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return !key.empty() && IsLabelValue(key);
  return IsName(key.substr(0, slash)) && slash + 1 < key.size() && IsLabelValue(key.substr(slash + 1));
}

// About as many bytes as its text would have; the text itself would cost too much for every write.
std::size_t SizeOf(const json& value) {
  std::size_t size = 2;
  if (const auto* text = value.get_ptr<const json::string_t*>()) return size + text->size();
  if (const auto* object = value.get_ptr<const json::object_t*>()) {
    for (const auto& [key, member] : *object) size += key.size() + 4 + SizeOf(member);
  } else if (const auto* list = value.get_ptr<const json::array_t*>()) {
    for (const json& element : *list) size += 1 + SizeOf(element);
  }
  return size;
}

Result<void> ValidateMetadata(const Metadata& metadata) {
  if (!IsName(metadata.name)) {
    return Invalid("metadata.name: '" + Printable(metadata.name, 80) + "' is not a DNS-1123 subdomain");
  }
  for (const auto& [key, value] : metadata.labels) {
    if (!IsQualifiedName(key)) return Invalid("metadata.labels: '" + Printable(key, 80) + "' is no key");
    if (!IsLabelValue(value)) return Invalid("metadata.labels: '" + Printable(value, 80) + "' is no value");
  }
  for (const auto& [key, value] : metadata.annotations) {
    if (!IsQualifiedName(key)) return Invalid("metadata.annotations: '" + Printable(key, 80) + "' is no key");
  }
  return {};
}

// The schema of the CRD.
struct JobSchema {};

void Decode(const Reader& in, JobSchema* /*out*/) {
  if (const auto metadata = in.Find("metadata"); metadata && metadata->value().is_object()) {
    std::string name;
    metadata->Optional("name", &name);
    if (name.size() > kMaxLabel) metadata->Fail("name", "longer than 63 characters");
  }
  const auto spec = in.Find("spec");
  if (!spec) return in.Fail("spec", "missing");
  std::int64_t number = 0;
  bool flag = false;
  spec->Optional("minReplicas", &number, {.min = 0, .take_integral_double = true});
  spec->Optional("maxReplicas", &number, {.min = 1, .take_integral_double = true});
  spec->Optional("preemptible", &flag);
  spec->Optional("suspend", &flag);
  for (const char* key : {"startTimeoutSeconds", "backoffLimit", "ttlSecondsAfterFinished"}) {
    spec->Optional(key, &number, {.min = 0, .take_integral_double = true});
  }
  spec->Optional("activeDeadlineSeconds", &number, {.min = 1, .take_integral_double = true});
  const auto pod_template = spec->Find("template");
  if (!pod_template) return spec->Fail("template", "missing");
  if (!pod_template->value().is_object()) pod_template->FailExpected("an object");
  const auto status = in.Find("status");
  if (status && !status->value().is_object()) status->FailExpected("an object");
}

struct PodSchema {};

void Decode(const Reader& in, PodSchema* /*out*/) {
  const auto spec = in.Find("spec");
  const auto containers = spec ? spec->Find("containers") : std::nullopt;
  if (!containers) return in.Fail("spec.containers", "missing");
  const auto all = containers->Elements();
  if (all.empty()) containers->Fail("at least one is needed");
  for (const Reader& container : all) {
    std::string image;
    container.Required("image", &image);
  }
}

Result<void> ValidateSchema(Kind kind, const json& value) {
  if (kind == Kind::kJob) return FromJson<JobSchema>(value).map([](JobSchema) {});
  if (kind == Kind::kPod) return FromJson<PodSchema>(value).map([](PodSchema) {});
  return {};
}

Result<Object> ValidateDecoded(Kind kind, Object&& object) {
  const auto* unreadable = std::get_if<Unreadable>(&object);
  if (unreadable != nullptr && kind != Kind::kJob) return Invalid(unreadable->error.message);
  const auto* lease = std::get_if<Lease>(&object);
  if (lease != nullptr && lease->duration_seconds.value_or(1) <= 0) {
    return Invalid("spec.leaseDurationSeconds: must be greater than 0");
  }
  return std::move(object);
}

struct OneOwner : Owner {};

void Decode(const Reader& in, OneOwner* out) {
  in.Required("apiVersion", &out->api_version);
  in.Required("kind", &out->kind);
  in.Required("name", &out->name);
  in.Required("uid", &out->uid);
}

struct Owners {
  std::vector<OneOwner> list;
};

void Decode(const Reader& in, Owners* out) { in.Optional("ownerReferences", &out->list); }

json WithoutMutableParts(json spec) {
  spec.erase("activeDeadlineSeconds");
  spec.erase("tolerations");
  for (const char* list : {"containers", "initContainers"}) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (json& container : spec[list]) {
      if (container.is_object()) container.erase("image");
    }
  }
  return spec;
}

}  // namespace

Result<Object> ValidateObject(Kind kind, const json& value) {
  if (SizeOf(value) > kMaxObjectBytes) return Invalid("the object is too large");
  if (Result<void> schema = ValidateSchema(kind, value); !schema) return tl::unexpected(schema.error());
  Result<Object> object = DecodeObject(kind, value);
  if (!object) return object;
  if (Result<void> metadata = ValidateMetadata(MetadataOf(*object)); !metadata) {
    return tl::unexpected(metadata.error());
  }
  return ValidateDecoded(kind, *std::move(object));
}

Result<void> ValidateTemplate(const PodTemplate& pod_template) {
  json pod = pod_template.value();
  json& metadata = pod["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (metadata.is_object()) metadata["name"] = "checked";  // A template's own counts for nothing.
  return ValidateObject(Kind::kPod, pod).map([](const Object&) {}).map_error([](Error&& error) {
    error.message = "template." + error.message;
    return std::move(error);
  });
}

Result<std::vector<Owner>> ReadOwners(const json& metadata) {
  if (!metadata.contains("ownerReferences")) return std::vector<Owner>();
  return FromJson<Owners>(metadata, "metadata").map([](Owners&& owners) {
    return std::vector<Owner>(owners.list.begin(), owners.list.end());
  });
}

Result<void> ValidatePodSpecChange(const json& before, const json& after) {
  if (before == after) return {};
  if (after.is_object() && WithoutMutableParts(before) == WithoutMutableParts(after)) return {};
  return Invalid("spec: a pod may not change but for images, activeDeadlineSeconds and tolerations");
}

}  // namespace adaptdl
