#include "cli/command.h"

#include <cerrno>
#include <fstream>
#include <istream>
#include <system_error>

namespace adaptdl {

Result<std::string> ReadInput(const std::string& path, std::istream& in) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  const auto read = [](std::istream& stream) {
    std::string text;
    std::string block(1 << 16, '\0');
    while (text.size() <= kMost &&
           (stream.read(block.data(), static_cast<std::streamsize>(block.size())), true) &&
           stream.gcount() > 0) {
      text.append(block, 0, static_cast<std::size_t>(stream.gcount()));
    }
    return text;
  };
  std::string text;
  if (path == "-") {
    text = read(in);
  } else {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (file) text = read(file);
    if (!file.is_open() || file.bad()) {
      const std::string why = errno != 0 ? std::generic_category().message(errno) : "cannot be read";
      return Fail(ErrorCode::kNotFound, InputName(path) + ": " + why);
    }
  }
  if (text.size() > kMost) return Invalid(InputName(path) + ": larger than 64 MiB");
  return text;
}

std::string InputName(const std::string& path) { return path == "-" ? "standard input" : Printable(path); }

}  // namespace adaptdl
