// Strict JSON in and out. What every codec of this folder builds on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// Deeper documents are refused: what walks a document afterwards (printing, comparing) recurses.
inline constexpr int kMaxJsonDepth = 100;

// One JSON value and nothing after it. Refuses, besides what is no JSON (NaN, comments, ill-formed UTF-8):
// a key given twice in one object ("spec.template: given twice"), a number beyond the range of a double, and
// nesting beyond kMaxJsonDepth. Where the text is wrong the message gives line and column.
Result<nlohmann::json> ParseJson(std::string_view text);

// Compact where `indent` is negative. Never throws: text that is not UTF-8 gets replacement characters.
std::string ToText(const nlohmann::json& value, int indent = -1);

// The place of a member or an element below `path`, as messages name it: "spec.containers[2]", and as
// Kubernetes does for keys that are no plain names: "limits[nvidia.com/gpu]". Safe to print.
std::string MemberPath(std::string_view path, std::string_view key);
std::string ElementPath(std::string_view path, std::size_t index);

}  // namespace adaptdl
