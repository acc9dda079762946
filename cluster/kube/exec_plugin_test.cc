#include "cluster/kube/exec_plugin.h"

#include <unistd.h>

#include <array>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr int kNever = -1;  // A file that is never readable.

Result<std::string> RunScript(const std::string& script, int stop_fd = kNever,
                              milliseconds limit = seconds(60)) {
  return RunPlugin({.command = "sh",
                    .args = {"-c", script, "plugin", "one two"},
                    .env = {{"EXTRA", "x=y"}},
                    .api_version = kV1},
                   stop_fd, limit);
}

std::string Credential(const std::string& status) {
  return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{)" + status +
         "}}";
}

TEST(ExecPlugin, ReadsWhatItPrinted) {
  const auto read = ParseExecCredential(
      Credential(R"("token":"t","expirationTimestamp":"2026-01-01T00:00:00Z","odd":1)"), kV1);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->identity, (Identity{.token = "t"}));
  EXPECT_EQ(read->expires, *ParseTime("2026-01-01T00:00:00Z"));
  const auto pair =
      ParseExecCredential(Credential(R"("clientCertificateData":"c","clientKeyData":"k")"), kV1);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->identity, (Identity{.certificate = "c", .key = "k"}));
  EXPECT_FALSE(pair->expires);
}

TEST(ExecPlugin, RefusesWithoutShowingSecrets) {
  for (const std::string& text :
       {std::string("SECRET"), std::string(R"({"token": SECRET})"), Credential(""),
        Credential(R"("token":7)"), Credential(R"("clientKeyData":"SECRET")"),
        Credential(R"("token":"SECRET","expirationTimestamp":"soon")"),
        std::string(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"})"),
        std::string(R"({"apiVersion":"v1","kind":"ExecCredential","status":{"token":"SECRET"}})"),
        std::string(
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"X","status":{"token":"SECRET"}})")}) {
    const auto read = ParseExecCredential(text, kV1);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, Not(HasSubstr("SECRET")));
  }
}

TEST(ExecPlugin, RunsWithArgumentsAndEnvironment) {
  EXPECT_EQ(RunScript(R"(echo "$1/$EXTRA/$KUBERNETES_EXEC_INFO"; cat)"),
            "one two/x=y/{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
            "\"spec\":{\"interactive\":false}}\n");
}

TEST(ExecPlugin, Failures) {
  const auto failed = RunScript(R"(echo SECRET; printf 'no\033[1m way\n' >&2; exit 3)");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(),
            (Error{ErrorCode::kUnavailable, "credential plugin sh: exit code 3: no\\x1b[1m way\\x0a", true}));
  EXPECT_THAT(RunScript("kill -9 $$").error().message, HasSubstr("killed by signal 9"));
  EXPECT_THAT(RunPlugin({.command = "./not/there"}, kNever, seconds(60)).error().message,
              HasSubstr("No such file"));
  EXPECT_THAT(RunScript("head -c 2000000 /dev/zero").error().message, HasSubstr("printed too much"));
}

TEST(ExecPlugin, IsKilledWithItsChildren) {
  // Each waits for the end of a pipe that nobody ever closes.
  constexpr const char* kHang = "tail -f /dev/null & tail -f /dev/null; wait";
  EXPECT_THAT(RunScript(kHang, kNever, milliseconds(1)).error().message, HasSubstr("took longer than 1 ms"));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_THAT(RunScript(kHang, ends[0]).error().message, HasSubstr("stopped"));
  close(ends[0]);
  close(ends[1]);
}

TEST(ExecPlugin, AChildThatLivesOnDoesNotHoldItUp) {
  // The one in the background keeps the pipes open until this test program ends.
  EXPECT_EQ(RunScript("tail --pid=$PPID -f /dev/null & echo done"), "done\n");
}

}  // namespace
}  // namespace adaptdl
