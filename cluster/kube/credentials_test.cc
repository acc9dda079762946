#include "cluster/kube/credentials.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/small_file.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

using Got = Result<std::shared_ptr<const Identity>>;

class ThreadsCredentials : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "credentials_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string Contents(const std::string& name) {
    return ReadSmallFile(folder_ + "/" + name, 10000).value_or("");
  }

  Got Get(Credentials& credentials) {
    std::optional<Got> got;
    credentials.Get([&](Got result) { got = std::move(result); });
    EXPECT_TRUE(loop_.RunUntil([&] { return got.has_value(); }, seconds(60)));
    return *got;
  }

  // Counts its runs in a file and prints what the file "answer" says.
  KubeConnection Plugin() {
    return {.exec = ExecPlugin{.command = "sh",
                               .args = {"-c", "cd " + folder_ + " && echo run >> runs && cat answer"},
                               .api_version = "client.authentication.k8s.io/v1"}};
  }
  static std::string Answer(const std::string& status) {
    return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{)" + status +
           "}}";
  }

  std::string folder_;
  EventLoop loop_;
};

TEST_F(ThreadsCredentials, FilesAreReadAgainAfterARefusal) {
  Write("token", " first\n");
  Write("ca", "CA");
  Credentials credentials(
      {.certificate_authority = {.path = folder_ + "/ca"}, .token = {.path = folder_ + "/token"}}, loop_);
  const Got first = Get(credentials);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(**first, (Identity{.token = "first", .ca = "CA"}));
  Write("token", "second");
  EXPECT_EQ(*Get(credentials), *first);  // Still fresh.
  credentials.Refuse(*first);
  const Got second = Get(credentials);
  EXPECT_EQ((*second)->token, "second");
  credentials.Refuse(*first);  // Long gone.
  EXPECT_EQ(*Get(credentials), *second);
}

TEST_F(ThreadsCredentials, AMissingFileIsSaidAndNotLookedForAllTheTime) {
  Credentials credentials({.token = {.path = folder_ + "/token"}}, loop_);
  const Got got = Get(credentials);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(got.error().retryable);
  EXPECT_THAT(got.error().message, HasSubstr("/token: cannot be opened"));
  bool inside = false;
  credentials.Get([&](const Got& again) { inside = !again; });
  EXPECT_TRUE(inside);
}

TEST_F(ThreadsCredentials, ATokenCannotSmuggleAHeader) {
  Credentials credentials({.token = {.text = "a\r\nX-Remote-User: admin"}}, loop_);
  EXPECT_THAT(Get(credentials).error().message, HasSubstr("control characters"));
}

TEST_F(ThreadsCredentials, APluginRunsOnceForAllWhoWait) {
  Write("answer", Answer(R"("token":"t","expirationTimestamp":"2999-01-01T00:00:00Z")"));
  Credentials credentials(Plugin(), loop_);
  int ready = 0;
  for (int i = 0; i < 3; ++i) {
    credentials.Get([&](const Got& got) { ready += got.has_value() && (*got)->token == "t" ? 1 : 0; });
  }
  EXPECT_EQ(ready, 0);
  EXPECT_TRUE(loop_.RunUntil([&] { return ready == 3; }, seconds(60)));
  const Got first = Get(credentials);
  EXPECT_EQ(Contents("runs"), "run\n");
  credentials.Refuse(*first);
  EXPECT_TRUE(Get(credentials));
  EXPECT_EQ(Contents("runs"), "run\nrun\n");
}

TEST_F(ThreadsCredentials, APluginThatPrintsRubbish) {
  Write("answer", "SECRET");
  Credentials credentials(Plugin(), loop_);
  EXPECT_EQ(Get(credentials).error().message, "credential plugin sh: what it printed is no JSON");
}

TEST_F(ThreadsCredentials, DestroyedWhileThePluginRuns) {
  auto credentials = std::make_unique<Credentials>(
      KubeConnection{.exec = ExecPlugin{.command = "tail", .args = {"-f", "/dev/null"}}}, loop_);
  bool called = false;
  credentials->Get([&](const Got&) { called = true; });
  credentials.reset();
  bool last = false;
  loop_.Post([&] { last = true; });
  EXPECT_TRUE(loop_.RunUntil([&] { return last; }, seconds(60)));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace adaptdl
