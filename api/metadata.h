// What every Kubernetes object says about itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/time.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

class Reader;

using Labels = std::map<std::string, std::string>;

// The object that controls this one, and with which it goes.
struct Owner {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;

  friend bool operator==(const Owner&, const Owner&) = default;
};

// Empty text stands for absent: none of these fields can hold an empty one.
struct Metadata {
  std::string name;
  std::string name_space;
  std::string uid;
  std::string resource_version;  // Opaque: only to be compared, and given back as a precondition.
  std::int64_t generation = 0;   // Grows with every change of what is wanted; 0: the kind has none.
  Labels labels;
  Labels annotations;
  std::optional<Time> creation_timestamp;
  std::optional<Time> deletion_timestamp;  // Present once the object is on its way out.
  std::optional<Owner> owner;              // The controller among its owners.

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

void Decode(const Reader& in, Metadata* out);
nlohmann::json Encode(const Metadata& metadata);

// A DNS-1123 name (lower-case letters, digits, '-' and '.'; a letter or digit at both ends of each part) of
// at most 63 characters: what a job may be called, as its name becomes a label's value.
bool IsJobName(std::string_view name);

}  // namespace adaptdl
