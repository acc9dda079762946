// How a request names what it is about, whichever way it comes. Messages begin with the field.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/object.h"
#include "runtime/result.h"

namespace adaptdl {

// kInvalid where no job can have that name, or no namespace.
Result<Key> ParseJobKey(std::string_view name_space, std::string_view job);

// From 0 to 2^53, so that it is exact as a double, too. As text only the way it would be printed.
Result<std::int64_t> CheckGroup(std::int64_t group);
Result<std::int64_t> ParseGroup(std::string_view text);

}  // namespace adaptdl
