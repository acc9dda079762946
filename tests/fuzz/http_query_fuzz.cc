// Targets of requests: whatever comes, it is refused or read, and what was read can be written and read
// again.
#include <string>
#include <string_view>

#include "runtime/http.h"
#include "tests/fuzz/check.h"

namespace {

std::string Escape(std::string_view text, bool keep_slash) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' && keep_slash) {
      out += c;
    } else {
      out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<HttpTarget> target = ParseTarget(AsText(data, size));
  if (!target) {
    Check(target.error().code == ErrorCode::kInvalid, "only bad input is refused");
    Check(target.error().message == Printable(target.error().message, 100000), "messages are safe to print");
    return 0;
  }
  Check(target->path.starts_with('/'), "a path begins with a slash");
  Check(target->path.find('\0') == std::string::npos, "a path has no zero byte");
  std::string text = Escape(target->path, true) + "?";
  for (const auto& [key, value] : target->query)
    text += Escape(key, false) + "=" + Escape(value, false) + "&";
  const Result<HttpTarget> again = ParseTarget(text);
  Check(again.has_value() && again->path == target->path && again->query == target->query,
        "what is written reads back to the same");
  return 0;
}
