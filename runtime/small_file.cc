#include "runtime/small_file.h"

#include <fstream>

namespace adaptdl {

Result<std::string> ReadSmallFile(const std::string& path, std::size_t limit) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Fail(ErrorCode::kNotFound, Printable(path) + ": cannot be opened");
  std::string text(limit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder, too, can be opened; only reading it fails.
  if (in.bad()) return Fail(ErrorCode::kInvalid, Printable(path) + ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > limit)
    return Invalid(Printable(path) + ": longer than " + std::to_string(limit) + " bytes");
  return text;
}

}  // namespace adaptdl
