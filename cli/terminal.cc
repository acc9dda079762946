#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "runtime/utf8.h"

namespace adaptdl {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Coarse on purpose, by whole blocks of Unicode: names of jobs and nodes, not typography.
constexpr CodeRange kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x2060, 0x2064},   {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};
constexpr CodeRange kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
    {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

template <std::size_t N>
bool Within(const CodeRange (&ranges)[N], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const CodeRange& range) { return range.first <= code && code <= range.last; });
}

struct Glyph {
  std::size_t bytes;
  std::size_t columns;
};

Glyph NextGlyph(std::string_view text) {
  const auto [code, size] = NextUtf8(text);
  if (size == 0) return {1, 1};
  return {size, Within(kZeroWidth, code) ? 0U : Within(kWide, code) ? 2U : 1U};
}

std::string Variable(const Environment& environment, const std::string& name) {
  return environment(name).value_or("");
}

std::optional<std::size_t> WidthOf(int fd, const Environment& environment) {
  const std::string columns = Variable(environment, "COLUMNS");
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (error == std::errc() && end == columns.data() + columns.size() && width > 0) return width;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return std::nullopt;
}

bool LocaleIsUtf8(const Environment& environment) {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // The first that is set decides.
    if (locale.empty()) locale = Variable(environment, name);
  }
  std::string letters;
  for (const char c : locale) {
    if (c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters.find("utf8") != std::string::npos;
}

}  // namespace

Terminal DetectTerminal(int fd, ColorMode mode, const Environment& environment) {
  Terminal terminal;
  terminal.is_terminal = isatty(fd) == 1;
  terminal.width = WidthOf(fd, environment).value_or(terminal.width);
  const bool welcome = terminal.is_terminal && Variable(environment, "NO_COLOR").empty() &&
                       Variable(environment, "TERM") != "dumb";
  terminal.color = mode == ColorMode::kAlways || (mode == ColorMode::kAuto && welcome);
  terminal.unicode = LocaleIsUtf8(environment);
  return terminal;
}

std::string Paint(const Terminal& terminal, Style style, std::string_view text) {
  static constexpr std::string_view kCodes[] = {"", "1", "2", "31", "32", "33"};
  if (!terminal.color || style == Style::kPlain || text.empty()) return std::string(text);
  std::string out = "\x1b[";
  return out.append(kCodes[static_cast<int>(style)]).append("m").append(text).append("\x1b[0m");
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Glyph glyph = NextGlyph(text);
    width += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

std::string Shorten(const Terminal& terminal, std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string_view mark = terminal.unicode ? "…" : "...";
  const std::size_t room = width - std::min(width, DisplayWidth(mark));
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < text.size()) {
    const Glyph glyph = NextGlyph(text.substr(bytes));
    if (columns + glyph.columns > room) break;
    bytes += glyph.bytes;
    columns += glyph.columns;
  }
  // Where not even the mark fits, its beginning still tells that something is missing.
  const std::string tail =
      columns == 0 && width < DisplayWidth(mark) ? std::string(width, '.') : std::string(mark);
  return std::string(text.substr(0, bytes)) + tail;
}

}  // namespace adaptdl
