#include "runtime/tls_files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "cluster/sim/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/http_server.h"
#include "runtime/http_testing.h"
#include "runtime/tls_testing.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const TlsIdentity& identity) {
    std::ofstream(files_.certificates) << identity.certificates;
    std::ofstream(files_.key) << identity.key;
  }

  // Takes whatever fits together, as a server does.
  void Watch() {
    reloader_.emplace(
        clock_, files_, ReadTlsFiles(files_).value(),
        [&](const TlsIdentity& identity) {
          const auto made = MakeServerTls(identity);
          if (made) used_.push_back(identity);
          return made.map([](const auto&) {});
        },
        log_);
  }

  const std::string folder_ = testing::TempDir() + "tls_files_" + std::to_string(getpid());
  const TlsFiles files_{folder_ + "/tls.crt", folder_ + "/tls.key"};
  std::vector<std::string> lines_;
  const Logger log_{"tls", {.sink = [this](std::string_view line) { lines_.emplace_back(line); }}};
  VirtualClock clock_;
  std::vector<TlsIdentity> used_;
  std::optional<TlsReloader> reloader_;
  const TlsIdentity one_ = MakeIdentity("one");
  const TlsIdentity two_ = MakeIdentity("two");
};

TEST_F(TlsFilesTest, HandsOverWhatIsNewOnce) {
  Write(one_);
  Watch();
  clock_.RunFor(seconds(60));
  EXPECT_THAT(used_, IsEmpty());
  Write(one_);  // The same again.
  clock_.RunFor(seconds(60));
  EXPECT_THAT(used_, IsEmpty());
  Write(two_);
  clock_.RunFor(seconds(10));
  EXPECT_TRUE(used_ == std::vector{two_});
  clock_.RunFor(seconds(60));
  EXPECT_EQ(used_.size(), 1);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("renewed")));
  Write(one_);
  clock_.RunFor(seconds(10));
  EXPECT_TRUE(used_ == (std::vector{two_, one_}));
}

TEST_F(TlsFilesTest, WhatDoesNotFitIsSaidOnceAndTriedAgainWhenItChanges) {
  Write(one_);
  Watch();
  Write({two_.certificates, one_.key});
  clock_.RunFor(seconds(60));
  EXPECT_THAT(used_, IsEmpty());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("does not belong to the certificate")));
  Write(two_);
  clock_.RunFor(seconds(60));
  EXPECT_TRUE(used_ == std::vector{two_});
  for (const std::string& line : lines_) EXPECT_EQ(line.find("BEGIN"), std::string::npos) << line;
}

TEST_F(TlsFilesTest, FilesThatAreGoneChangeNothing) {
  Write(one_);
  Watch();
  for (int i = 0; i < 2; ++i) {
    std::filesystem::remove(files_.key);
    clock_.RunFor(seconds(60));
    Write(one_);
    clock_.RunFor(seconds(60));
  }
  EXPECT_THAT(used_, IsEmpty());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("tls.key"), HasSubstr("tls.key")));  // Each time once.
}

TEST_F(TlsFilesTest, LooksNoMoreOnceItIsGone) {
  Write(one_);
  Watch();
  reloader_.reset();
  Write(two_);
  clock_.RunFor(seconds(60));
  EXPECT_THAT(used_, IsEmpty());
}

TEST(TlsFiles, ErrorsNameTheFile) {
  EXPECT_THAT(ReadTlsFiles({"/nowhere/tls.crt", "/nowhere/tls.key"}).error().message,
              HasSubstr("/nowhere/tls.crt"));
}

class ThreadsTlsFiles : public TlsFilesTest {};

TEST_F(ThreadsTlsFiles, ServerGoesOnWithTheNewCertificate) {
  Write(one_);
  HttpServerOptions options = OnLoopback();
  options.tls = ReadTlsFiles(files_).value();
  const auto server = HttpServer::Start(options, [](const HttpRequest&, const Responder& responder) {
                        responder.Answer({.body = "here"});
                      }).value();
  const TlsReloader reloader(
      clock_, files_, *options.tls, [&](const TlsIdentity& identity) { return server->ReloadTls(identity); },
      log_);
  EXPECT_EQ(TestClient(server->port()).Secure(), "one");
  Write({two_.certificates, one_.key});
  clock_.RunFor(seconds(10));
  EXPECT_EQ(TestClient(server->port()).Secure(), "one");
  Write(two_);
  clock_.RunFor(seconds(10));
  TestClient client(server->port());
  EXPECT_EQ(client.Secure(), "two");
  EXPECT_EQ(client.Get("/").body, "here");
}

}  // namespace
}  // namespace adaptdl
