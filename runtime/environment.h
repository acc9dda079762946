// The environment variables as an argument: only main() takes the real ones.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace adaptdl {

// The value of a variable, or nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// A copy of this process's variables, as they are now.
Environment ProcessEnvironment();

}  // namespace adaptdl
