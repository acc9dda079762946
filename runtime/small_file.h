// Files that are read at once, and again when they change: credentials, certificates, settings.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/result.h"

namespace adaptdl {

// A whole file of at most `limit` bytes. kNotFound where there is none.
Result<std::string> ReadSmallFile(const std::string& path, std::size_t limit);

}  // namespace adaptdl
