// A node, as far as the control plane looks at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/container.h"
#include "api/metadata.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

class Reader;

struct Taint {
  std::string key;
  std::string value;
  std::string effect;

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  Metadata metadata;
  std::vector<Taint> taints;
  bool unschedulable = false;
  bool ready = false;  // Its Ready condition is True; not where it is unknown or absent.
  Quantities allocatable;

  friend bool operator==(const Node&, const Node&) = default;
};

void Decode(const Reader& in, Node* out);
nlohmann::json Encode(const Node& node);

Result<Node> ParseNode(std::string_view text);

}  // namespace adaptdl
