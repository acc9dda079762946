// The place the output goes to: what it can show, and text made for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/environment.h"

namespace adaptdl {

enum class ColorMode { kAuto, kAlways, kNever };

struct Terminal {
  bool is_terminal = false;
  std::size_t width = 100;  // In columns; a guess when it is no terminal.
  bool color = false;
  bool unicode = false;
};

// Asks the file descriptor and the environment: COLUMNS, NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG.
Terminal DetectTerminal(int fd, ColorMode mode, const Environment& environment);

enum class Style { kPlain, kBold, kDim, kRed, kGreen, kYellow };

// `text` in the style, or just `text` where colour is not wanted.
std::string Paint(const Terminal& terminal, Style style, std::string_view text);

// Columns that `text` takes: two for an East Asian wide character or an emoji, none for a combining mark. A
// byte that is not UTF-8 counts as one.
std::size_t DisplayWidth(std::string_view text);

// The longest beginning of `text` that fits into `width` columns; "…" (or "...") tells that something is
// gone.
std::string Shorten(const Terminal& terminal, std::string_view text, std::size_t width);

}  // namespace adaptdl
