#include "runtime/result.h"

#include <cstdint>

#include "runtime/utf8.h"

namespace adaptdl {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "Invalid";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kAlreadyExists:
      return "AlreadyExists";
    case ErrorCode::kConflict:
      return "Conflict";
    case ErrorCode::kGone:
      return "Gone";
    case ErrorCode::kForbidden:
      return "Forbidden";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    case ErrorCode::kTimeout:
      return "Timeout";
    case ErrorCode::kInternal:
      return "Internal";
  }
  return "Internal";
}

namespace {

// Characters that move, hide or reorder what stands around them instead of being seen themselves: the C0 and
// C1 controls, the line separators and the bidirectional overrides.
bool ActsOnTerminal(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string Printable(std::string_view text, std::size_t limit) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const auto [code, size] = NextUtf8(text);
    const bool plain = size > 0 && !ActsOnTerminal(code);
    const auto lead = static_cast<std::uint8_t>(text[0]);
    const std::string piece =
        plain ? std::string(text.substr(0, size)) : std::string{'\\', 'x', kHex[lead >> 4], kHex[lead & 15]};
    if (out.size() + piece.size() > limit) return out + "...";
    out += piece;
    text.remove_prefix(plain ? size : 1);
  }
  return out;
}

}  // namespace adaptdl
