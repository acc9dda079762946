#include "cluster/kube/watch_decoder.h"

#include <string>
#include <vector>

#include "cluster/kube/answer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using ::testing::HasSubstr;
using Type = WatchEvent::Type;

std::string Event(const std::string& type, const std::string& version, const std::string& spec = "{}") {
  return R"({"type":")" + type + R"(","object":{"kind":"Lease","metadata":{"name":"a","namespace":"ns",)" +
         R"("resourceVersion":")" + version + R"("},"spec":)" + spec + "}}\n";
}

WatchDecoder Decoder(std::size_t max_line = 1000) { return {Kind::kLease, "watch", max_line}; }

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(WatchDecoder, Events) {
  WatchDecoder decoder = Decoder();
  const auto events = decoder.Feed(
      Event("ADDED", "1") + Event("MODIFIED", "2", R"({"holderIdentity":"me"})") + "\n" +
      Event("DELETED", "3") +
      R"({"type":"BOOKMARK","object":{"kind":"Lease","metadata":{"resourceVersion":"9","creationTimestamp":null}}})" +
      "\n");
  ASSERT_EQ(events.size(), 4);
  const Type types[] = {Type::kAdded, Type::kModified, Type::kDeleted, Type::kBookmark};
  const std::string versions[] = {"1", "2", "3", "9"};
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(events[i]) << events[i].error().message;
    EXPECT_EQ(events[i]->type, types[i]);
    EXPECT_EQ(events[i]->resource_version, versions[i]);
    EXPECT_EQ(events[i]->object.has_value(), types[i] != Type::kBookmark);
  }
  EXPECT_EQ(std::get<Lease>(*events[1]->object).holder, "me");
  EXPECT_EQ(decoder.End(), (Error{ErrorCode::kUnavailable, "watch: the stream has ended", true}));
}

RC_GTEST_PROP(WatchDecoder, PiecesDoNotMatter, ()) {
  const std::string text = Event("ADDED", "1") + Event("MODIFIED", "2") + "\n" + Event("DELETED", "3");
  WatchDecoder decoder = Decoder();
  std::size_t seen = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto size = *rc::gen::inRange<std::size_t>(1, rest.size() + 1);
    for (const auto& event : decoder.Feed(rest.substr(0, size))) {
      RC_ASSERT(event.has_value());
      RC_ASSERT(event->resource_version == std::to_string(++seen));
    }
    rest.remove_prefix(size);
  }
  RC_ASSERT(seen == 3u);
}

TEST(WatchDecoder, ErrorsEndIt) {
  const struct {
    std::string line;
    ErrorCode code;
    std::string message;
  } cases[] = {
      {R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})",
       ErrorCode::kGone, "watch: too old (410 Expired)"},
      {R"({"type":"ERROR","object":{"kind":"Status","code":504}})", ErrorCode::kTimeout, "504"},
      {R"({"type":"ERROR","object":7})", ErrorCode::kUnavailable, "500"},
      {"rubbish", ErrorCode::kInternal, "not a JSON object"},
      {"[1]", ErrorCode::kInternal, "not a JSON object"},
      {"{}", ErrorCode::kInternal, "without type or object"},
      {R"({"type":7,"object":{}})", ErrorCode::kInternal, "not known"},
      {R"({"type":"ADDED","object":{}})", ErrorCode::kInternal, "metadata"},
      {R"({"type":"ADDED","object":[]})", ErrorCode::kInternal, ""},
      {R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})", ErrorCode::kInternal, "resource version"},
      {R"({"type":"BOOKMARK","object":{}})", ErrorCode::kInternal, "bookmark.metadata: missing"},
      {std::string(1001, 'x'), ErrorCode::kInternal, "more than 1000 bytes"},
  };
  for (const auto& one : cases) {
    WatchDecoder decoder = Decoder();
    const auto events = decoder.Feed(Event("ADDED", "1") + one.line + "\n" + Event("ADDED", "2"));
    ASSERT_EQ(events.size(), 2) << one.line;
    EXPECT_TRUE(events[0]);
    ASSERT_FALSE(events[1]) << one.line;
    EXPECT_EQ(events[1].error().code, one.code) << one.line;
    EXPECT_THAT(events[1].error().message, HasSubstr(one.message));
    EXPECT_TRUE(decoder.Feed(Event("ADDED", "3")).empty());
  }
}

TEST(WatchDecoder, ACutLineIsDropped) {
  WatchDecoder decoder = Decoder();
  EXPECT_EQ(decoder.Feed(Event("ADDED", "1") + R"({"type":"ADD)").size(), 1);
  EXPECT_EQ(decoder.End(), (Error{ErrorCode::kUnavailable, "watch: the stream was cut", true}));
}

TEST(WatchDecoder, LimitHoldsAcrossPieces) {
  WatchDecoder decoder = Decoder(10);
  EXPECT_TRUE(decoder.Feed("1234567890").empty());
  const auto events = decoder.Feed("1");
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].error().code, ErrorCode::kInternal);
}

TEST(WatchDecoder, HugeObjectInSmallPieces) {
  constexpr std::size_t kPiece = 16 * 1024;
  const std::string text = Event("ADDED", "1", R"({"holderIdentity":")" + std::string(10 << 20, 'x') + "\"}");
  WatchDecoder decoder = Decoder(20 << 20);
  std::size_t seen = 0;
  const std::string_view bytes = text;
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    seen += decoder.Feed(bytes.substr(at, kPiece)).size();
  }
  EXPECT_EQ(seen, 1);
}

TEST(Answer, OneOddObjectDoesNotHideTheOthers) {
  const auto page = DecodePage(Kind::kLease, R"({"metadata":{"resourceVersion":"5","continue":"t"},"items":[
      {"metadata":{"name":"z","namespace":"a-b"}}, {"metadata":{"name":"bad","namespace":"a"},"spec":3},
      {"metadata":{"name":"deep","namespace":"a"},"spec":)" +
                                                 Nested(5000) + "}]}");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "5");
  EXPECT_EQ(page->next, "t");
  ASSERT_EQ(page->objects.size(), 3);  // Sorted by key.
  EXPECT_EQ(std::get<Unreadable>(page->objects[0]).metadata.name, "bad");
  EXPECT_EQ(std::get<Unreadable>(page->objects[1]).error.message, "nested deeper than 100 levels");
  EXPECT_EQ(std::get<Lease>(page->objects[2]).metadata.name_space, "a-b");
}

TEST(Answer, Nonsense) {
  for (const std::string body :
       {"", "null", "{}", R"({"metadata":{}})", R"({"metadata":{"resourceVersion":"1"},"items":3})",
        R"({"metadata":{"resourceVersion":"1"},"items":[{}]})"}) {
    const auto page = DecodePage(Kind::kPod, body);
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().code, ErrorCode::kInternal) << body;
  }
  EXPECT_TRUE(DecodePage(Kind::kPod, R"({"metadata":{"resourceVersion":"1"},"items":null})"));
  EXPECT_EQ(DecodeObjectAnswer(Kind::kPod, R"({"a":)" + Nested(200) + "}").error().code,
            ErrorCode::kInternal);
}

}  // namespace
}  // namespace adaptdl
