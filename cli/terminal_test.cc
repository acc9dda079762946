#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "runtime/utf8.h"

namespace adaptdl {
namespace {

Environment Variables(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

// A real terminal, of which nobody sees the other end.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(std::uint16_t columns) : fd_(posix_openpt(O_RDWR | O_NOCTTY)) {
    winsize size{};
    size.ws_col = columns;
    if (exists()) {
      EXPECT_EQ(ioctl(fd_, TIOCSWINSZ, &size), 0);
    }
  }
  ~PseudoTerminal() { close(fd_); }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  bool exists() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

constexpr const char* kNoTerminals = "this machine gives no pseudo-terminals";

TEST(Terminal, TerminalTellsItsWidthAndTakesColor) {
  const PseudoTerminal pty(57);
  if (!pty.exists()) GTEST_SKIP() << kNoTerminals;
  const Terminal terminal = DetectTerminal(pty.fd(), ColorMode::kAuto, Variables({{"TERM", "xterm"}}));
  EXPECT_TRUE(terminal.is_terminal);
  EXPECT_EQ(terminal.width, 57U);
  EXPECT_TRUE(terminal.color);
  EXPECT_FALSE(terminal.unicode);
}

TEST(Terminal, AnythingElseIsPlainAndHasAFixedWidth) {
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const Terminal terminal = DetectTerminal(fd, ColorMode::kAuto, Variables({{"TERM", "xterm"}}));
  close(fd);
  EXPECT_FALSE(terminal.is_terminal);
  EXPECT_EQ(terminal.width, 100U);
  EXPECT_FALSE(terminal.color);
}

TEST(Terminal, ColumnsWinsWhenItIsANumber) {
  const PseudoTerminal pty(57);
  if (!pty.exists()) GTEST_SKIP() << kNoTerminals;
  const auto width = [&](const std::string& columns) {
    return DetectTerminal(pty.fd(), ColorMode::kAuto, Variables({{"COLUMNS", columns}})).width;
  };
  EXPECT_EQ(width("132"), 132U);
  for (const std::string bad : {"", "0", "-5", "80x", "wide", "99999999999999999999999"}) {
    EXPECT_EQ(width(bad), 57U) << bad;
  }
  const PseudoTerminal unsized(0);
  EXPECT_EQ(DetectTerminal(unsized.fd(), ColorMode::kAuto, Variables({})).width, 100U);
}

struct ColorCase {
  std::map<std::string, std::string> environment;
  ColorMode mode;
  bool on_terminal;
  bool on_pipe;
};

TEST(Terminal, ColorTable) {
  const ColorCase cases[] = {
      {{}, ColorMode::kAuto, true, false},
      {{{"NO_COLOR", "1"}}, ColorMode::kAuto, false, false},
      {{{"NO_COLOR", ""}}, ColorMode::kAuto, true, false},  // Set but empty does not count: no-color.org.
      {{{"TERM", "dumb"}}, ColorMode::kAuto, false, false},
      {{{"NO_COLOR", "1"}, {"TERM", "dumb"}}, ColorMode::kAlways, true, true},
      {{}, ColorMode::kNever, false, false},
  };
  const PseudoTerminal pty(80);
  if (!pty.exists()) GTEST_SKIP() << kNoTerminals;
  for (const ColorCase& c : cases) {
    EXPECT_EQ(DetectTerminal(pty.fd(), c.mode, Variables(c.environment)).color, c.on_terminal);
    EXPECT_EQ(DetectTerminal(-1, c.mode, Variables(c.environment)).color, c.on_pipe);
  }
}

TEST(Terminal, UnicodeIsDecidedByTheFirstLocaleVariable) {
  const auto unicode = [](std::map<std::string, std::string> variables) {
    return DetectTerminal(-1, ColorMode::kAuto, Variables(std::move(variables))).unicode;
  };
  EXPECT_FALSE(unicode({}));
  EXPECT_TRUE(unicode({{"LANG", "en_US.UTF-8"}}));
  EXPECT_TRUE(unicode({{"LANG", "C.utf8"}}));
  EXPECT_FALSE(unicode({{"LANG", "de_DE.ISO-8859-1"}}));
  EXPECT_FALSE(unicode({{"LANG", "en_US.UTF-8"}, {"LC_ALL", "C"}}));
  EXPECT_TRUE(unicode({{"LANG", "C"}, {"LC_CTYPE", "C.UTF-8"}, {"LC_ALL", ""}}));
}

TEST(Terminal, PaintsOnlyWithColor) {
  const Terminal colored{.color = true};
  EXPECT_EQ(Paint(colored, Style::kBold, "a"), "\x1b[1ma\x1b[0m");
  EXPECT_EQ(Paint(colored, Style::kDim, "a"), "\x1b[2ma\x1b[0m");
  EXPECT_EQ(Paint(colored, Style::kRed, "a"), "\x1b[31ma\x1b[0m");
  EXPECT_EQ(Paint(colored, Style::kGreen, "a"), "\x1b[32ma\x1b[0m");
  EXPECT_EQ(Paint(colored, Style::kYellow, "a"), "\x1b[33ma\x1b[0m");
  EXPECT_EQ(Paint(colored, Style::kPlain, "a"), "a");
  EXPECT_EQ(Paint(colored, Style::kRed, ""), "");
  EXPECT_EQ(Paint(Terminal{}, Style::kRed, "a"), "a");
}

TEST(Terminal, DisplayWidthTable) {
  const std::pair<std::string_view, std::size_t> cases[] = {
      {"", 0},  {"abc", 3}, {"é", 1}, {"e\xcc\x81", 1}, {"東京", 4}, {"한글", 4},
      {"ｱ", 1}, {"Ａ", 2},  {"🚀", 2}, {"…", 1},         {"⣿", 1},    {"\xff\xfe", 2},
  };
  for (const auto& [text, width] : cases) EXPECT_EQ(DisplayWidth(text), width) << text;
}

TEST(Terminal, ShortensTable) {
  const Terminal unicode{.unicode = true};
  EXPECT_EQ(Shorten(unicode, "abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten(unicode, "abcdef", 5), "abcd…");
  EXPECT_EQ(Shorten(unicode, "東京都", 5), "東京…");
  EXPECT_EQ(Shorten(unicode, "東京都", 4), "東…");
  EXPECT_EQ(Shorten(unicode, "abc", 1), "…");
  EXPECT_EQ(Shorten(unicode, "abc", 0), "");
  EXPECT_EQ(Shorten(Terminal{}, "abcdef", 5), "ab...");
  EXPECT_EQ(Shorten(Terminal{}, "abcdef", 2), "..");
}

RC_GTEST_PROP(TerminalProperty, ShortenedTextFitsAndStaysWhole, (const std::string& bytes, bool unicode)) {
  const auto letters = *rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  const std::string text = (IsUtf8(bytes) ? bytes : "") + letters + "東é";
  const auto width = *rc::gen::inRange<std::size_t>(0, 20);
  const std::string out = Shorten(Terminal{.unicode = unicode}, text, width);
  RC_ASSERT(IsUtf8(out));
  RC_ASSERT(DisplayWidth(out) <= width);
  RC_ASSERT((out == text) == (DisplayWidth(text) <= width));
}

}  // namespace
}  // namespace adaptdl
