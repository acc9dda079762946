// A configuration file in a strict subset of YAML, flattened: nested maps and dotted keys are the same thing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace adaptdl {

struct YamlSetting {
  enum class Kind { kNull, kPlain, kQuoted, kList, kEmptyMap };

  std::string key;  // Joined by dots: "autoscale.max-nodes".
  int line = 0;     // From 1.
  Kind kind = Kind::kNull;
  std::vector<std::string> items;  // One for a scalar; all of a list.

  friend bool operator==(const YamlSetting&, const YamlSetting&) = default;
};

// What is longer is refused, so nobody needs to read more of a file than this and one byte.
inline constexpr std::size_t kMaxYamlBytes = 1 << 20;

// The settings in the order of the file. Refused, with `name` and the line: what is not YAML, a repeated key,
// anchors, aliases, tags, lists of anything but scalars, several documents, and what is too long or too deep.
Result<std::vector<YamlSetting>> ReadFlatYaml(std::string_view text, std::string_view name);

}  // namespace adaptdl
