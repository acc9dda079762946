#include "cluster/kube/status.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

std::string Body(const std::string& reason, const std::string& more = "") {
  return R"({"kind":"Status","message":"words","reason":")" + reason + "\"" + more + "}";
}

TEST(Status, Codes) {
  const struct {
    int status;
    std::string body;
    ErrorCode code;
    bool retryable;
  } cases[] = {
      {400, Body("BadRequest"), ErrorCode::kInvalid, false},
      {401, Body("Unauthorized"), ErrorCode::kForbidden, false},
      {403, Body("Forbidden"), ErrorCode::kForbidden, false},
      {404, Body("NotFound"), ErrorCode::kNotFound, false},
      {404, "404 page not found", ErrorCode::kNotFound, false},
      {405, Body("MethodNotAllowed"), ErrorCode::kInvalid, false},
      {408, "", ErrorCode::kTimeout, true},
      {409, Body("AlreadyExists"), ErrorCode::kAlreadyExists, false},
      {409, Body("Conflict"), ErrorCode::kConflict, false},
      {409, "[]", ErrorCode::kConflict, false},
      {410, Body("Expired"), ErrorCode::kGone, false},
      {410, Body("Gone"), ErrorCode::kGone, false},
      {413, Body("RequestEntityTooLarge"), ErrorCode::kInvalid, false},
      {415, "", ErrorCode::kInvalid, false},
      {422, Body("Invalid"), ErrorCode::kInvalid, false},
      {422, Body("Invalid", R"(,"details":{"causes":[3,{"field":"spec.x"}]})"), ErrorCode::kInvalid, false},
      {429, "", ErrorCode::kUnavailable, true},
      {500, Body("InternalError"), ErrorCode::kUnavailable, true},
      {503, "<html>", ErrorCode::kUnavailable, true},
      {504, Body("Timeout"), ErrorCode::kTimeout, true},
      {302, "", ErrorCode::kInternal, false},
      {500, Body("Expired", R"(,"code":410)"), ErrorCode::kUnavailable, true},  // HTTP counts.
  };
  for (const auto& one : cases) {
    const Error error = ErrorFromAnswer(one.status, one.body, "get");
    EXPECT_EQ(error.code, one.code) << one.status << " " << one.body;
    EXPECT_EQ(error.retryable, one.retryable) << one.status << " " << one.body;
  }
}

TEST(Status, MessageHasTheServersWordsMadeSafe) {
  EXPECT_EQ(ErrorFromAnswer(409, Body("Conflict"), "patch Pod a/b").message,
            "patch Pod a/b: words (409 Conflict)");
  EXPECT_EQ(ErrorFromAnswer(404, "404 page not found\nmore", "x").message, "x: 404 page not found (404)");
  EXPECT_EQ(ErrorFromAnswer(502, "", "x").message, "x: refused (502)");
  EXPECT_EQ(ErrorFromAnswer(500, R"({"kind":"Status","message":"a\u001bb","reason":"\n"})", "x").message,
            "x: a\\x1bb (500 \\x0a)");
  EXPECT_EQ(ErrorFromAnswer(422, Body("Invalid"), "").message, "words");
  EXPECT_EQ(ErrorFromAnswer(422, R"({"kind":"Status","message":"a\nb"})", "").message, "a\\x0ab");
}

TEST(Status, InAWatchItsOwnCodeCounts) {
  EXPECT_EQ(ErrorFromStatus({{"code", 410}, {"reason", "Expired"}}, 500, "x").code, ErrorCode::kGone);
  EXPECT_EQ(ErrorFromStatus({{"code", 200}}, 500, "x").code, ErrorCode::kUnavailable);
  EXPECT_EQ(ErrorFromStatus({{"code", "410"}}, 500, "x").code, ErrorCode::kUnavailable);
  EXPECT_EQ(ErrorFromStatus(nullptr, 500, "x").code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace adaptdl
