// What the server does to clients that ask for too much, too slowly, or nonsense.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/http_server.h"
#include "runtime/http_testing.h"

namespace adaptdl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kShort{50};

void Ok(const HttpRequest&, const Responder& responder) { responder.Answer({}); }

std::unique_ptr<HttpServer> Serve(HttpServerOptions options = OnLoopback(), HttpHandler handler = Ok) {
  return HttpServer::Start(std::move(options), std::move(handler)).value();
}

// What a client that sends this, and nothing more, gets before the connection is closed.
std::string Says(const HttpServer& server, const std::string& text) {
  TestClient client(server.port());
  client.Send(text);
  return client.ReadToEnd();
}

// The same for a client of a server without a place for it, which may first be busy telling others so.
std::string SaysSomething(const HttpServer& server) {
  std::string said;
  while (said.empty()) said = Says(server, "");
  return said;
}

TEST(ThreadsHttpLimits, RefusesWhatIsTooLong) {
  HttpServerOptions options = OnLoopback();
  options.header_bytes = 1000;
  options.target_bytes = 100;
  options.body_bytes = 100;
  const auto server = Serve(options);
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string long_text(5000, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"GET /" + std::string(100, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
      {"GET /" + long_text, "414"},
      {get + "A: " + long_text, "431"},
      {get + "A: " + long_text + "\r\n\r\n", "431"},
      {post + "Content-Length: 101\r\n\r\n", "413"},
      {post + "Content-Length: 101\r\nExpect: 100-continue\r\n\r\n", "413"},
      {post + "Content-Length: 5000\r\n\r\n" + long_text, "413"},
      {post + "Transfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x'), "413"},
      {post + "Transfer-Encoding: chunked\r\n\r\n60\r\n" + std::string(96, 'x') +
           "\r\n9\r\n123456789\r\n0\r\n\r\n",
       "413"},
      {post + "Transfer-Encoding: chunked\r\n\r\n1;" + long_text, "400"},
      {post + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: " + long_text, "4"},
  };
  for (const auto& [text, status] : cases) {
    EXPECT_THAT(Says(*server, text), StartsWith("HTTP/1.1 " + status)) << text.substr(0, 100);
  }
  EXPECT_EQ(TestClient(server->port()).Get("/").status, 200);
}

TEST(ThreadsHttpLimits, RefusalsAreInTheWordsOfTheService) {
  HttpServerOptions options = OnLoopback();
  options.connections = 1;
  options.header_bytes = 1000;
  options.target_bytes = 100;
  options.body_bytes = 100;
  options.refusal = [](int status, const std::string& why) {
    return HttpResponse{.status = 200,  // Not for it to say.
                        .content_type = "application/json",
                        .body = "{\"error\": \"" + std::to_string(status) + " " + why + "\"}",
                        .headers = {{"X-Refused", "yes"}}};
  };
  const auto server = Serve(options, [](const HttpRequest&, const Responder&) {});
  // One connection at a time has a place: an earlier one may still be on its way out.
  const auto answer = [&](const std::string& text) {
    TestReply reply;
    do {
      TestClient client(server->port());
      client.Send(text);
      reply = client.Read();
    } while (reply.status == 503 || reply.status == 0);
    EXPECT_THAT(reply.head,
                AllOf(HasSubstr("Content-Type: application/json\r\n"), HasSubstr("X-Refused: yes\r\n")));
    return std::to_string(reply.status) + " " + reply.body;
  };
  const std::string rest = " HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(answer("GET x" + rest + "\r\n"), R"(400 {"error": "400 target: not a path"})");
  EXPECT_EQ(answer("GET /?\xff&\xff" + rest + "\r\n"), R"(400 {"error": "400 target: \xff is given twice"})");
  EXPECT_EQ(answer("POST /" + rest + "Content-Length: 101\r\n\r\n"), R"(413 {"error": "413 body too long"})");
  EXPECT_EQ(answer("GET /" + std::string(100, 'x') + rest + "\r\n"),
            R"(414 {"error": "414 target too long"})");
  EXPECT_EQ(answer("GET /" + rest + "A: " + std::string(1000, 'x')),
            R"(431 {"error": "431 header too long"})");
  EXPECT_EQ(answer("GET /" + rest + "\r\n"), R"(500 {"error": "500 the request was dropped"})");
  std::optional<TestClient> keeps;
  do keeps.emplace(server->port());
  while (keeps->Get("/").status != 500);
  EXPECT_THAT(SaysSomething(*server),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr(R"({"error": "503 too many connections"})")));
  EXPECT_EQ(keeps->Get("/").status, 500);  // A dropped request does not end its connection.
}

TEST(ThreadsHttpLimits, AnswerReachesAClientThatGoesOnSending) {
  const auto server = Serve();
  TestClient client(server->port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_EQ(client.Read().status, 413);
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_FALSE(client.was_reset());
}

TEST(ThreadsHttpLimits, RefusesWhatIsMalformed) {
  const auto server = Serve();
  const std::string cases[] = {
      "\x16\x03\x01 this is TLS\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9\r\n\r\n",
      "G@T / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nbad header\r\n\r\n",
      "GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
      "GET x HTTP/1.1\r\n\r\n",
      "GET /%zz HTTP/1.1\r\n\r\n",
      "GET /?a&a HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
  };
  for (const std::string& text : cases)
    EXPECT_THAT(Says(*server, text), StartsWith("HTTP/1.1 400 Bad Request")) << text;
}

TEST(ThreadsHttpLimits, HalfARequestGetsNoAnswer) {
  const auto server = Serve();
  TestClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHos");
  client.EndWriting();
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST(ThreadsHttpLimits, CutsOffSlowClients) {
  HttpServerOptions options = OnLoopback();
  options.read_timeout = kShort;
  options.header_bytes = 128 * 1024;  // More than what dribbles in below until time is up.
  const auto server = Serve(options);
  for (const std::string text :
       {"GET / HT", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\na"}) {
    EXPECT_EQ(Says(*server, text), "") << text;
  }
  // Bytes that dribble in do not put it off, wherever they do, nor on a connection that has had an answer.
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (const std::string& begins :
       {std::string("G"), std::string("GET /"), std::string("GET / HTTP/1.1\r\nA: "),
        post + "Content-Length: 1000000\r\n\r\n", post + "Transfer-Encoding: chunked\r\n\r\nF4240\r\n"}) {
    for (const bool again : {false, true}) {
      TestClient dribbles(server->port());
      if (again) dribbles.Get("/");
      dribbles.Send(begins);
      while (dribbles.Send("x")) std::this_thread::yield();
      EXPECT_EQ(dribbles.ReadToEnd(), "") << begins;
    }
  }
}

TEST(ThreadsHttpLimits, CutsOffIdleClients) {
  HttpServerOptions options = OnLoopback();
  options.idle_timeout = kShort;
  const auto server = Serve(options);
  EXPECT_EQ(Says(*server, ""), "");
  // On a busy machine a client may come too late even for its first request.
  bool served = false;
  while (!served) {
    TestClient client(server->port());
    served = client.Get("/").status == 200;
    EXPECT_EQ(client.ReadToEnd(), "");
  }
}

TEST(ThreadsHttpLimits, AHeldRequestMayTakeLongerThanTheTimeouts) {
  HttpServerOptions options = OnLoopback();
  options.read_timeout = kShort;
  options.write_timeout = kShort;
  HeldRequests held;
  const auto server = Serve(options, held.Handler());
  TestClient holds(server->port());
  holds.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto requests = held.Take(1);
  EXPECT_EQ(Says(*server, "GET / HT"), "");  // By then its time would have been up, too.
  requests.front().second.Answer({});
  EXPECT_EQ(holds.Read().status, 200);
}

TEST(ThreadsHttpLimits, RefusesConnectionsBeyondTheLimit) {
  HttpServerOptions options = OnLoopback();
  options.connections = 2;
  const auto server = Serve(options);
  TestClient first(server->port());
  TestClient second(server->port());
  EXPECT_EQ(first.Get("/").status, 200);
  EXPECT_EQ(second.Get("/").status, 200);
  EXPECT_THAT(Says(*server, ""), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Says(*server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(first.Get("/").status, 200);
  second.Close();
  while (TestClient(server->port()).Get("/").status != 200) {
  }
}

TEST(ThreadsHttpLimits, AClientsOwnLimitLeavesPlaceForOthers) {
  HttpServerOptions options = OnLoopback();
  options.connections_per_peer = 2;
  const auto server = Serve(options);
  TestClient first(server->port());
  TestClient second(server->port());
  EXPECT_EQ(first.Get("/").status, 200);
  EXPECT_EQ(second.Get("/").status, 200);
  EXPECT_THAT(SaysSomething(*server), StartsWith("HTTP/1.1 503 "));
  TestClient other(server->port(), 0, "127.0.0.2");
  EXPECT_EQ(other.Get("/").status, 200);
  EXPECT_EQ(first.Get("/").status, 200);
  second.Close();
  while (TestClient(server->port()).Get("/").status != 200) {
  }
}

TEST(ThreadsHttpLimits, CutsOffAClientThatDoesNotReadOrTooSlowly) {
  HttpServerOptions options = OnLoopback();
  options.connections = 1;
  options.write_timeout = kShort;
  const std::string large(std::size_t{32} << 20U, 'x');
  const auto server = Serve(options, [&](const HttpRequest& request, const Responder& responder) {
    responder.Answer({.body = request.path == "/large" ? large : ""});
  });
  for (const std::size_t reads_now_and_then : {0, 1024}) {
    std::optional<TestClient> client;
    do client.emplace(server->port(), 4096);  // The one before may still be on its way out.
    while (client->Get("/").status != 200);
    client->Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    // Its place is free once it is cut off.
    while (TestClient(server->port()).Get("/").status != 200) client->ReadMore(reads_now_and_then);
    EXPECT_EQ(client->Read().status, 0);
  }
}

}  // namespace
}  // namespace adaptdl
