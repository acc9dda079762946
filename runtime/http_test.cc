#include "runtime/http.h"

#include <optional>
#include <string>
#include <vector>

#include "cluster/sim/virtual_clock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using Query = std::map<std::string, std::string>;

std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', "0123456789abcdef"[byte / 16], "0123456789ABCDEF"[byte % 16]};
  }
  return out;
}

TEST(ParseTarget, SplitsAndDecodes) {
  const struct {
    std::string target, path;
    Query query;
  } cases[] = {
      {"/", "/", {}},
      {"/a/b", "/a/b", {}},
      {"/a%20b+c", "/a b+c", {}},
      {"/x?", "/x", {}},
      {"/x?verbose", "/x", {{"verbose", ""}}},
      {"/x?a=1&b=2", "/x", {{"a", "1"}, {"b", "2"}}},
      {"/x?a=1&&b=&", "/x", {{"a", "1"}, {"b", ""}}},
      {"/x?a=b=c?d", "/x", {{"a", "b=c?d"}}},
      {"/x?a+%26=x+%2f%2B", "/x", {{"a &", "x /+"}}},
      {"/x?=1", "/x", {{"", "1"}}},
  };
  for (const auto& c : cases) {
    const Result<HttpTarget> target = ParseTarget(c.target);
    ASSERT_TRUE(target.has_value()) << c.target << ": " << target.error().message;
    EXPECT_EQ(target->path, c.path) << c.target;
    EXPECT_EQ(target->query, c.query) << c.target;
  }
}

TEST(ParseTarget, Refuses) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "target: not a path"},
      {"*", "target: not a path"},
      {"http://x/", "target: not a path"},
      {"/%", "target: malformed escape in the path"},
      {"/%1", "target: malformed escape in the path"},
      {"/%g0", "target: malformed escape in the path"},
      {"/a%2fb", "target: an escaped slash or zero byte in the path"},
      {"/a%00", "target: an escaped slash or zero byte in the path"},
      {"/?a=%zz", "target: malformed escape in the query"},
      {"/?%=1", "target: malformed escape in the query"},
      {"/?a%0a=1&a%0A=2", "target: a\\x0a is given twice"},
  };
  for (const auto& [target, message] : cases) {
    const Result<HttpTarget> parsed = ParseTarget(target);
    ASSERT_FALSE(parsed.has_value()) << target;
    EXPECT_EQ(parsed.error(), (Error{ErrorCode::kInvalid, message})) << target;
  }
}

RC_GTEST_PROP(ParseTarget, GivesBackAnyQuery, (const Query& query)) {
  std::string target = "/";
  for (const auto& [key, value] : query)
    target.append(target == "/" ? "?" : "&").append(Escape(key)).append("=").append(Escape(value));
  const Result<HttpTarget> parsed = ParseTarget(target);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->query == query);
}

TEST(HttpRequest, FindsHeadersInAnyCase) {
  HttpRequest request;
  request.headers = {{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  ASSERT_NE(request.FindHeader("content-TYPE"), nullptr);
  EXPECT_EQ(*request.FindHeader("content-TYPE"), "a");
  EXPECT_EQ(*request.FindHeader("x"), "1");
  EXPECT_EQ(request.FindHeader("Content"), nullptr);
  EXPECT_EQ(request.FindHeader(""), nullptr);
}

TEST(Responder, OnlyTheFirstAnswerCounts) {
  std::vector<int> sent;
  {
    const Responder responder([&](const HttpResponse& response) { sent.push_back(response.status); });
    const std::vector<Responder> copies(2, responder);
    copies[0].Answer({.status = 201});
    copies[1].Answer({.status = 202});
    responder.OnGone([] { FAIL() << "answered already"; });
  }
  EXPECT_EQ(sent, std::vector{201});
}

TEST(Responder, DroppedIsAnsweredWith500ByTheLastCopy) {
  std::vector<int> sent;
  std::optional<Responder> first(std::in_place,
                                 [&](const HttpResponse& response) { sent.push_back(response.status); });
  std::optional<Responder> second = first;
  first.reset();
  EXPECT_TRUE(sent.empty());
  second.reset();
  EXPECT_EQ(sent, std::vector{500});
}

TEST(Responder, DroppedIsSaidInsteadToWhoWantsToKnow) {
  std::vector<int> sent;
  int dropped = 0;
  const auto send = [&](const HttpResponse& response) { sent.push_back(response.status); };
  const auto drop = [&] { ++dropped; };
  { const Responder unanswered(send, {}, drop); }
  EXPECT_EQ(dropped, 1);
  EXPECT_TRUE(sent.empty());
  Responder(send, {}, drop).Answer({.status = 201});
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(sent, std::vector{201});
}

TEST(OnClock, HandlerRunsOnTheClockAndIsNotNeededAfterwards) {
  VirtualClock clock;
  std::vector<std::string> seen;
  std::vector<int> sent;
  {
    const HttpHandler handler = OnClock(clock, [&](const HttpRequest& request, const Responder& responder) {
      seen.push_back(request.path);
      responder.Answer({.status = 204});
    });
    handler({.path = "/x"},
            Responder([&](const HttpResponse& response) { sent.push_back(response.status); }));
    EXPECT_TRUE(seen.empty());
  }
  clock.RunFor({});
  EXPECT_EQ(seen, std::vector<std::string>{"/x"});
  EXPECT_EQ(sent, std::vector{204});
}

}  // namespace
}  // namespace adaptdl
