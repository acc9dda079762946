// Reading UTF-8 one character at a time, for those who print, cut or check text from outside.
#pragma once

#include <cstddef>
#include <string_view>

namespace adaptdl {

struct Utf8Char {
  char32_t code = 0;
  std::size_t size = 0;  // Bytes taken; 0 when the text is empty or does not begin with well-formed UTF-8.
};

Utf8Char NextUtf8(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace adaptdl
