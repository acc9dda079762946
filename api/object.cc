#include "api/object.h"

#include <utility>

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

struct OnlyMetadata {
  Metadata metadata;
};

void Decode(const Reader& in, OnlyMetadata* out) {
  in.Required("metadata", &out->metadata);
  if (in.ok() && out->metadata.name.empty()) in.Fail("metadata", "without a name");
}

template <typename T>
Result<Object> DecodeAs(const json& value) {
  Result<T> object = FromJson<T>(value);
  if (object) return Object(*std::move(object));
  return FromJson<OnlyMetadata>(value).map([&](OnlyMetadata&& known) {
    return Object(Unreadable{kKindOf<T>, std::move(known.metadata), std::move(object.error())});
  });
}

}  // namespace

std::string_view ToString(Kind kind) {
  switch (kind) {
    case Kind::kJob:
      return "AdaptDLJob";
    case Kind::kPod:
      return "Pod";
    case Kind::kNode:
      return "Node";
    case Kind::kLease:
      return "Lease";
    case Kind::kEvent:
      return "Event";
  }
  return "Unknown";
}

bool IsNamespaced(Kind kind) { return kind != Kind::kNode; }

bool HasStatus(Kind kind) { return kind != Kind::kLease && kind != Kind::kEvent; }

std::string ToString(const Key& key) {
  return key.name_space.empty() ? key.name : key.name_space + "/" + key.name;
}

Key KeyOf(const Metadata& metadata) { return {metadata.name_space, metadata.name}; }

Kind KindOf(const Object& object) {
  if (const auto* unreadable = std::get_if<Unreadable>(&object)) return unreadable->kind;
  return kAllKinds[object.index()];
}

const Metadata& MetadataOf(const Object& object) {
  return std::visit([](const auto& one) -> const Metadata& { return one.metadata; }, object);
}

Result<Object> DecodeObject(Kind kind, const json& value) {
  switch (kind) {
    case Kind::kJob:
      return DecodeAs<Job>(value);
    case Kind::kPod:
      return DecodeAs<Pod>(value);
    case Kind::kNode:
      return DecodeAs<Node>(value);
    case Kind::kLease:
      return DecodeAs<Lease>(value);
    case Kind::kEvent:
      return DecodeAs<Event>(value);
  }
  return Fail(ErrorCode::kInternal, "no such kind");
}

}  // namespace adaptdl
