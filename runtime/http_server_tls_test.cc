#include <future>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/http_server.h"
#include "runtime/http_testing.h"
#include "runtime/tls_identity.h"
#include "runtime/tls_testing.h"

namespace adaptdl {
namespace {

using ::testing::HasSubstr;

void Echo(const HttpRequest& request, const Responder& responder) {
  responder.Answer({.body = request.path + request.body});
}

std::unique_ptr<HttpServer> Serve(const TlsIdentity& identity, HttpHandler handler = Echo) {
  HttpServerOptions options = OnLoopback();
  options.tls = identity;
  return HttpServer::Start(std::move(options), std::move(handler)).value();
}

TEST(ThreadsHttpTls, ServesManyRequestsThroughTls) {
  const auto server = Serve(MakeIdentity("one"));
  TestClient client(server->port());
  EXPECT_EQ(client.Secure(), "one");
  EXPECT_EQ(client.Get("/a").body, "/a");
  const std::string body(500'000, 'x');
  client.Send("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n" + body);
  EXPECT_EQ(client.Read().body, "/b" + body);
  client.Send("GET /c HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("/c"));
}

TEST(ThreadsHttpTls, HoldsRequestsAndSeesClientsGo) {
  HeldRequests held;
  const auto server = Serve(MakeIdentity("one"), held.Handler());
  TestClient client(server->port());
  TestClient goes(server->port());
  EXPECT_EQ(client.Secure(), "one");
  EXPECT_EQ(goes.Secure(), "one");
  client.Send("GET /stays HTTP/1.1\r\nHost: x\r\n\r\nGET /piped HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto first = held.Take(1);
  goes.Send("GET /goes HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto second = held.Take(1);
  std::promise<void> gone;
  second.front().second.OnGone([&] { gone.set_value(); });
  goes.Close();
  gone.get_future().get();
  first.front().second.Answer({.body = "later"});
  EXPECT_EQ(client.Read().body, "later");
  held.Take(1).front().second.Answer({.body = "piped"});
  EXPECT_EQ(client.Read().body, "piped");
}

TEST(ThreadsHttpTls, ReloadsWithoutARestart) {
  const auto server = Serve(MakeIdentity("one"));
  TestClient before(server->port());
  EXPECT_EQ(before.Secure(), "one");
  ASSERT_TRUE(server->ReloadTls(MakeIdentity("two")).has_value());
  TestClient after(server->port());
  EXPECT_EQ(after.Secure(), "two");
  EXPECT_EQ(before.Get("/still").body, "/still");
  EXPECT_EQ(after.Get("/also").body, "/also");
  ASSERT_FALSE(server->ReloadTls({.certificates = "rubbish", .key = "rubbish"}).has_value());
  EXPECT_EQ(TestClient(server->port()).Secure(), "two");
}

TEST(ThreadsHttpTls, AClientWithoutTlsGetsNothingAndDisturbsNobody) {
  const auto server = Serve(MakeIdentity("one"));
  TestClient plain(server->port());
  plain.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  plain.ReadToEnd();
  TestClient client(server->port());
  EXPECT_EQ(client.Secure(), "one");
  EXPECT_EQ(client.Get("/a").body, "/a");
}

TEST(ThreadsHttpTls, AServerWithoutTlsHasNoneToReload) {
  const auto server = HttpServer::Start(OnLoopback(), Echo).value();
  EXPECT_FALSE(server->ReloadTls(MakeIdentity("one")).has_value());
}

TEST(TlsIdentity, SaysWhatIsWrong) {
  const TlsIdentity one = MakeIdentity("one");
  const TlsIdentity two = MakeIdentity("two");
  const std::string half = two.certificates.substr(0, two.certificates.size() / 2);
  EXPECT_TRUE(MakeServerTls({one.certificates + two.certificates, one.key}).has_value());
  const struct {
    TlsIdentity identity;
    std::string message;
  } cases[] = {
      {{"", one.key}, "TLS certificate: not a certificate in PEM"},
      {{one.key, one.key}, "TLS certificate: not a certificate in PEM"},
      {{one.certificates + half, one.key}, "TLS certificate: its chain does not read"},
      {{one.certificates, ""}, "TLS key: not a private key in PEM without a passphrase"},
      {{one.certificates, MakeIdentity("one", "word").key},
       "TLS key: not a private key in PEM without a passphrase"},
      {{one.certificates, two.key}, "TLS key: does not belong to the certificate"},
  };
  for (const auto& c : cases) {
    const auto made = MakeServerTls(c.identity);
    ASSERT_FALSE(made.has_value()) << c.message;
    EXPECT_EQ(made.error(), (Error{ErrorCode::kInvalid, c.message}));
  }
}

}  // namespace
}  // namespace adaptdl
