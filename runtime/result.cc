#include "runtime/result.h"

#include <cstdint>

namespace adaptdl {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "Invalid";
    case ErrorCode::kNotFound:
      return "NotFound";
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

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0. A C1 control counts as ill-formed:
// terminals act on it.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool out_of_range = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  const bool c1_control = lead == 0xC2 && byte(1) < 0xA0;
  return overlong || out_of_range || c1_control ? 0 : length;
}

}  // namespace

std::string Printable(std::string_view text, std::size_t limit) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    const auto lead = static_cast<std::uint8_t>(text[0]);
    const bool plain = length > 0 && lead >= 0x20 && lead != 0x7F;
    const std::string piece =
        plain ? std::string(text.substr(0, length)) : std::string{'\\', 'x', kHex[lead >> 4], kHex[lead & 15]};
    if (out.size() + piece.size() > limit) return out + "...";
    out += piece;
    text.remove_prefix(plain ? length : 1);
  }
  return out;
}

}  // namespace adaptdl
