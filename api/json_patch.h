// JSON Patch (RFC 6902): a list of operations on a document.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// Whether this is a list of operations, whatever they are to be applied to. `name` is what the user knows the
// patch by; every message begins with it: "NAME[2].op: 'ad' is none of add, ...".
Result<void> CheckPatch(const nlohmann::json& patch, const std::string& name);

// The document after all operations of a patch that CheckPatch takes, or what the first of them lacks:
// "NAME[2]: /spec/x: ...".
Result<nlohmann::json> ApplyPatch(const nlohmann::json& patch, nlohmann::json document,
                                  const std::string& name);

}  // namespace adaptdl
