#include "runtime/result.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "runtime/utf8.h"

namespace adaptdl {
namespace {

TEST(Result, EveryErrorCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    names.insert(ToString(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"Invalid", "NotFound", "AlreadyExists", "Conflict", "Gone",
                                               "Forbidden", "Unavailable", "Timeout", "Internal"}));
}

TEST(Result, FailCarriesItsParts) {
  const Result<int> failed = Fail(ErrorCode::kUnavailable, "down", true);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error(), (Error{ErrorCode::kUnavailable, "down", true}));
  EXPECT_EQ(Invalid("bad").value(), (Error{ErrorCode::kInvalid, "bad", false}));
}

struct PrintableCase {
  std::string in;
  std::string out;
};

TEST(Result, PrintableTable) {
  const PrintableCase cases[] = {
      {"", ""},
      {"plain text, \"quoted\"", "plain text, \"quoted\""},
      {"Zürich 東京 🚀", "Zürich 東京 🚀"},
      {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // U+009B, a C1 control: the 8-bit form of ESC [.
      {"\xc2\xa0", "\xc2\xa0"},    // U+00A0 is the first after them.
      {std::string{'\xe2', '\x80', '\xae'}, "\\xe2\\x80\\xae"},  // U+202E turns the reading direction.
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},                       // U+2028 is a line break to some viewers.
      {"\xff", "\\xff"},                                         // Never a byte of UTF-8.
      {"\x80", "\\x80"},                                         // A continuation of nothing.
      {"\xc3", "\\xc3"},                                         // Cut off.
      {"\xc3(", "\\xc3("},                                       // Not continued.
      {"\xc0\xaf", "\\xc0\\xaf"},                                // Overlong "/".
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},                       // The same in three bytes.
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},              // And in four.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                       // A surrogate.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},              // Past U+10FFFF.
  };
  for (const PrintableCase& c : cases) EXPECT_EQ(Printable(c.in), c.out);
}

TEST(Result, PrintableCutsBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("ab東", 4), "ab...");
  EXPECT_EQ(Printable("a\n", 4), "a...");
  EXPECT_EQ(Printable("x", 0), "...");
  EXPECT_EQ(Printable("", 0), "");
}

RC_GTEST_PROP(ResultProperty, PrintableIsSafeAndBounded, (const std::string& text)) {
  const auto limit = *rc::gen::inRange<std::size_t>(0, 64);
  const std::string out = Printable(text, limit);
  RC_ASSERT(IsUtf8(out));
  RC_ASSERT(out.size() <= limit + 3);
  for (const char c : out) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  RC_ASSERT(Printable(out, limit + 3) == out);
}

RC_GTEST_PROP(ResultProperty, Utf8ReadsBackEveryCodePoint, ()) {
  const auto code = *rc::gen::suchThat(rc::gen::inRange<std::uint32_t>(0, 0x110000),
                                       [](std::uint32_t c) { return c < 0xD800 || c > 0xDFFF; });
  std::string text;
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
  const Utf8Char read = NextUtf8(text + "tail");
  RC_ASSERT(read.code == code);
  RC_ASSERT(read.size == text.size());
  RC_ASSERT(NextUtf8(text.substr(0, text.size() - 1)).size == 0U);
}

}  // namespace
}  // namespace adaptdl
