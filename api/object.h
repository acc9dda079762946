// Any object that the control plane deals with, whatever its kind.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "api/event.h"
#include "api/job.h"
#include "api/lease.h"
#include "api/metadata.h"
#include "api/node.h"
#include "api/pod.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

enum class Kind { kJob, kPod, kNode, kLease, kEvent };

inline constexpr Kind kAllKinds[] = {Kind::kJob, Kind::kPod, Kind::kNode, Kind::kLease, Kind::kEvent};

std::string_view ToString(Kind kind);  // "AdaptDLJob", "Pod", ...
bool IsNamespaced(Kind kind);
bool HasStatus(Kind kind);  // A part that changes apart from the rest.

// What names an object among those of its kind. The namespace is empty where the kind has none.
struct Key {
  std::string name_space;
  std::string name;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads it.
  friend auto operator<=>(const Key&, const Key&) = default;
};

std::string ToString(const Key& key);  // "namespace/name", or just "name".
Key KeyOf(const Metadata& metadata);

// An object that is there but does not read as one of its kind: a schema let more pass than the codec does,
// or somebody wrote rubbish. It is passed on so that it can be reported; as far as decisions go it does not
// exist.
struct Unreadable {
  Kind kind = Kind::kJob;
  Metadata metadata;
  Error error;

  friend bool operator==(const Unreadable&, const Unreadable&) = default;
};

using Object = std::variant<Job, Pod, Node, Lease, Event, Unreadable>;

Kind KindOf(const Object& object);
const Metadata& MetadataOf(const Object& object);

template <typename T>
inline constexpr Kind kKindOf = Kind::kJob;
template <>
inline constexpr Kind kKindOf<Pod> = Kind::kPod;
template <>
inline constexpr Kind kKindOf<Node> = Kind::kNode;
template <>
inline constexpr Kind kKindOf<Lease> = Kind::kLease;
template <>
inline constexpr Kind kKindOf<Event> = Kind::kEvent;

// Unreadable where only the codec of its kind refuses it; an error where not even its metadata can be read.
Result<Object> DecodeObject(Kind kind, const nlohmann::json& value);

}  // namespace adaptdl
