// The bodies of the API server's answers. Pure.
//
// What the server sends is JSON of its own making, so it is not read as strictly as what people write; but
// an object in it is a user's, and one odd object must not hide all others: it comes as Unreadable.
#pragma once

#include <string_view>

#include "api/object.h"
#include "cluster/cluster.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// All fail with kInternal, where a body is none of the API server's.
Result<nlohmann::json> ParseAnswer(std::string_view body);
Result<Object> DecodeServed(Kind kind, const nlohmann::json& value);
Result<Object> DecodeObjectAnswer(Kind kind, std::string_view body);
Result<Page> DecodePage(Kind kind, std::string_view body);

}  // namespace adaptdl
