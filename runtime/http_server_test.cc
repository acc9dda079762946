#include "runtime/http_server.h"

#include <sys/resource.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/http_testing.h"

namespace adaptdl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// "GET /path [key=value,] body" back to the client.
void Echo(const HttpRequest& request, const Responder& responder) {
  std::string query;
  for (const auto& [key, value] : request.query) query.append(key).append("=").append(value).append(",");
  responder.Answer({.body = request.method + " " + request.path + " [" + query + "] " + request.body});
}

std::unique_ptr<HttpServer> Serve(HttpHandler handler, HttpServerOptions options = OnLoopback()) {
  return HttpServer::Start(std::move(options), std::move(handler)).value();
}

TEST(ThreadsHttpServer, TellsTheHandlerAllOfTheRequest) {
  HeldRequests held;
  const auto server = Serve(held.Handler());
  TestClient client(server->port());
  client.Send("PUT /a%20b?x=1&y HTTP/1.1\r\nHost: h\r\nX-Two:  a b \r\nContent-Length: 3\r\n\r\nabc");
  const auto requests = held.Take(1);
  const HttpRequest& request = requests.front().first;
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.query, (std::map<std::string, std::string>{{"x", "1"}, {"y", ""}}));
  EXPECT_EQ(request.body, "abc");
  EXPECT_EQ(request.peer, "127.0.0.1");
  ASSERT_NE(request.FindHeader("x-two"), nullptr);
  EXPECT_EQ(*request.FindHeader("x-two"), "a b");
  requests.front().second.Answer({.status = 201,
                                  .content_type = "application/json",
                                  .body = "{}",
                                  .headers = {{"X-Evil", "a\r\nSet-Cookie: b"}}});
  EXPECT_EQ(client.Read().head,
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: "
            "keep-alive\r\n"
            "X-Evil: a\\x0d\\x0aSet-Cookie: b\r\n");
}

TEST(ThreadsHttpServer, ServesManyRequestsOnOneConnection) {
  const auto server = Serve(Echo);
  TestClient client(server->port());
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(client.Get("/" + std::to_string(i)).body, "GET /" + std::to_string(i) + " [] ");
}

TEST(ThreadsHttpServer, AnswersPipelinedRequestsInOrderAlsoOfAClientThatHasEnded) {
  const auto server = Serve(Echo);
  TestClient client(server->port());
  std::string all;
  for (int i = 0; i < 2000; ++i)
    all += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab";
  std::thread writer([&] {
    EXPECT_TRUE(client.Send(all));
    client.EndWriting();
  });
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(client.Read().body, "POST /" + std::to_string(i) + " [] ab");
  writer.join();
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST(ThreadsHttpServer, ReadsChunkedBodiesInAnyPieces) {
  const auto server = Serve(Echo);
  TestClient client(server->port());
  const std::string request =
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3;ext=1\r\nabc\r\n5\r\ndefgh\r\n0\r\nTrailer: x\r\n\r\n";
  client.Send(request);
  EXPECT_EQ(client.Read().body, "POST /c [] abcdefgh");
  for (const char c : request) client.Send({&c, 1});
  EXPECT_EQ(client.Read().body, "POST /c [] abcdefgh");
  const std::string empty =
      "POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (const std::string_view rest : {"\r\n", "A: b\r\n\r\n"}) {
    client.Send(empty);
    EXPECT_EQ(client.Read().status, 100);  // So that the rest is a piece of its own.
    client.Send(rest);
    EXPECT_EQ(client.Read().body, "POST /e [] ");
  }
}

TEST(ThreadsHttpServer, TakesALongBody) {
  const auto server = Serve(Echo);
  TestClient client(server->port());
  const std::string body(OnLoopback().body_bytes, 'x');
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              body);
  EXPECT_EQ(client.Read().body, "POST / [] " + body);
}

TEST(ThreadsHttpServer, TellsAClientThatAsksToGoOn) {
  const auto server = Serve(Echo);
  TestClient client(server->port());
  for (int i = 0; i < 2; ++i) {
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client.Read().status, 100);
    client.Send("ab");
    EXPECT_EQ(client.Read().body, "POST / [] ab");
  }
}

TEST(ThreadsHttpServer, HeadHasNoBodyAndNeitherHas204) {
  const auto server = Serve([](const HttpRequest& request, const Responder& responder) {
    responder.Answer({.status = request.path == "/none" ? 204 : 200, .body = "abc"});
  });
  TestClient client(server->port());
  client.Send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Read(false).head, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(client.Get("/none").head, AllOf(StartsWith("HTTP/1.1 204 "), Not(HasSubstr("Content-"))));
  EXPECT_EQ(client.Get("/").body, "abc");
}

TEST(ThreadsHttpServer, ClosesWhereTheClientWantsThat) {
  const auto server = Serve(Echo);
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    TestClient client(server->port());
    client.Send(request);
    EXPECT_THAT(client.ReadToEnd(), AllOf(HasSubstr("Connection: close\r\n"), HasSubstr("GET / [] ")));
  }
}

TEST(ThreadsHttpServer, AnswersFiveHundredLongPollsLater) {
  constexpr std::size_t kPolls = 500;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  HeldRequests held;
  const auto server = Serve(held.Handler());
  std::vector<std::unique_ptr<TestClient>> clients;
  for (std::size_t i = 0; i < kPolls; ++i) clients.push_back(std::make_unique<TestClient>(server->port()));
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kPolls; ++i)
      clients[i]->Send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    auto requests = held.Take(kPolls);
    ASSERT_EQ(requests.size(), kPolls);
    std::vector<std::thread> threads;
    for (std::size_t part = 0; part < 4; ++part) {
      threads.emplace_back([&requests, part] {
        for (std::size_t i = part; i < requests.size(); i += 4)
          requests[i].second.Answer({.body = requests[i].first.path});
      });
    }
    for (std::size_t i = 0; i < kPolls; ++i) EXPECT_EQ(clients[i]->Read().body, "/" + std::to_string(i));
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(ThreadsHttpServer, DroppedRequestIsAnsweredWith500) {
  const auto server = Serve([](const HttpRequest&, const Responder&) {});
  TestClient client(server->port());
  EXPECT_EQ(client.Get("/").status, 500);
  EXPECT_EQ(client.Get("/").status, 500);
}

TEST(ThreadsHttpServer, SaysWhenTheClientHasGone) {
  HeldRequests held;
  const auto server = Serve(held.Handler());
  TestClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto requests = held.Take(1);
  std::promise<void> gone;
  requests.front().second.OnGone([&] { gone.set_value(); });
  client.Close();
  gone.get_future().get();
  // Also where it was gone before anybody asked.
  std::promise<void> again;
  requests.front().second.OnGone([&] { again.set_value(); });
  again.get_future().get();
  requests.front().second.Answer({});  // Nobody hears it.
}

TEST(ThreadsHttpServer, GoneIsNotSaidOfAnAnsweredRequest) {
  HeldRequests held;
  const auto server = Serve(held.Handler());
  TestClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  auto requests = held.Take(1);
  requests.front().second.OnGone([] { FAIL() << "it had its answer"; });
  requests.front().second.Answer({});
  EXPECT_EQ(client.Read().status, 200);
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto next = held.Take(1);
  std::promise<void> gone;
  next.front().second.OnGone([&] { gone.set_value(); });
  client.Close();
  gone.get_future().get();
}

TEST(ThreadsHttpServer, OnAClockHandlersRunOnItsThread) {
  EventLoop loop;
  const auto here = std::this_thread::get_id();
  const auto server = Serve(OnClock(loop, [&](const HttpRequest&, const Responder& responder) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    responder.Answer({.status = 202});
    loop.Stop();
  }));
  std::thread asks([port = server->port()] { EXPECT_EQ(TestClient(port).Get("/").status, 202); });
  loop.Run();
  asks.join();
}

TEST(ThreadsHttpServer, StopLetsHeldRequestsFinishAndClosesTheRest) {
  HeldRequests held;
  const auto server = Serve(held.Handler());
  TestClient idle(server->port());
  TestClient waiting(server->port());
  idle.Send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  held.Take(1).front().second.Answer({});
  EXPECT_EQ(idle.Read().status, 200);
  waiting.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto requests = held.Take(1);
  std::promise<void> stopped;
  server->Stop([&] { stopped.set_value(); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  requests.front().second.Answer({.body = "bye"});
  EXPECT_THAT(waiting.ReadToEnd(), AllOf(HasSubstr("Connection: close\r\n"), HasSubstr("bye")));
  waiting.Close();
  stopped.get_future().get();
  // The port is free again.
  HttpServerOptions options = OnLoopback();
  options.port = server->port();
  EXPECT_TRUE(HttpServer::Start(options, Echo).has_value());
}

TEST(ThreadsHttpServer, StopGivesUpRequestsThatNobodyAnswers) {
  HeldRequests held;
  HttpServerOptions options = OnLoopback();
  options.drain = std::chrono::milliseconds(1);
  const auto server = Serve(held.Handler(), options);
  TestClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto requests = held.Take(1);
  std::promise<void> gone;
  std::promise<void> stopped;
  requests.front().second.OnGone([&] { gone.set_value(); });
  server->Stop([&] { stopped.set_value(); });
  stopped.get_future().get();
  gone.get_future().get();
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST(ThreadsHttpServer, MayBeDestroyedWithRequestsHeld) {
  HeldRequests held;
  auto server = Serve(held.Handler());
  TestClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto requests = held.Take(1);
  server.reset();
  EXPECT_EQ(client.ReadToEnd(), "");
  requests.front().second.OnGone([] { FAIL() << "there is no server to say so"; });
  requests.front().second.Answer({});
}

TEST(ThreadsHttpServer, StartSaysWhatIsWrong) {
  const auto server = Serve(Echo);
  HttpServerOptions options = OnLoopback();
  options.port = server->port();
  const auto second = HttpServer::Start(options, Echo);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error(),
            (Error{ErrorCode::kUnavailable, "cannot listen on 127.0.0.1 port " +
                                                std::to_string(options.port) + ": Address already in use"}));
  options.address = "local\nhost";
  EXPECT_EQ(HttpServer::Start(options, Echo).error().message, "address: local\\x0ahost is not numeric");
}

}  // namespace
}  // namespace adaptdl
