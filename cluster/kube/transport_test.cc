#include "cluster/kube/transport.h"

#include <atomic>
#include <future>

#include "cluster/kube/scripted_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using ::testing::HasSubstr;
using End = TransferAnswer::End;
using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;
using std::chrono::milliseconds;

std::unique_ptr<Transport> TransportTo(const std::string& url) { return *Transport::Create({.server = url}); }

TransferAnswer Call(Transport& transport, TransferRequest request) {
  std::promise<TransferAnswer> answer;
  transport.Start(std::move(request), [&](TransferAnswer got) { answer.set_value(std::move(got)); });
  return answer.get_future().get();
}

TEST(ThreadsTransport, SendsWhatItIsTold) {
  ScriptedServer server([](const Request&, const Reply& reply) { reply.Answer(201, "made"); });
  const auto transport = TransportTo(server.url() + "/base");
  const TransferAnswer answer =
      Call(*transport, {.method = "PATCH",
                        .target = "/a%2Fb/../c?x=1",
                        .body = std::string(2 << 20, 'b'),
                        .content_type = "application/x",
                        .identity = std::make_shared<Identity>(Identity{.token = "tok"})});
  EXPECT_EQ(answer.end, End::kAnswered);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "made");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1);
  EXPECT_EQ(requests[0].method, "PATCH");
  EXPECT_EQ(requests[0].target, "/base/a%2Fb/../c?x=1");
  EXPECT_EQ(requests[0].body.size(), 2 << 20);
  EXPECT_EQ(requests[0].headers.at("authorization"), "Bearer tok");
  EXPECT_EQ(requests[0].headers.at("content-type"), "application/x");
  EXPECT_EQ(requests[0].headers.at("user-agent"), "adaptdl-sched");
  EXPECT_FALSE(requests[0].headers.contains("expect"));
}

TEST(ThreadsTransport, KeepsConnections) {
  ScriptedServer server([](const Request&, const Reply& reply) { reply.Answer(200, "{}"); });
  const auto transport = TransportTo(server.url());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Call(*transport, {.target = "/"}).status, 200);
  EXPECT_EQ(server.connections(), 1);
}

TEST(ThreadsTransport, WhetherItReachedTheServer) {
  std::string nobody;
  {
    const ScriptedServer gone([](const Request&, const Reply&) {});
    nobody = gone.url();
  }
  EXPECT_EQ(Call(*TransportTo(nobody), {.method = "POST", .target = "/"}).end, End::kNotSent);

  ScriptedServer server([](const Request& request, const Reply& reply) {
    if (request.target == "/half") reply.Raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    if (request.target == "/stall") return reply.WaitForClose();
    reply.Cut();
  });
  const auto transport = TransportTo(server.url());
  const TransferAnswer cut = Call(*transport, {.method = "POST", .target = "/cut"});
  EXPECT_EQ(cut.end, End::kLost);
  EXPECT_EQ(cut.status, 0);
  EXPECT_FALSE(cut.message.empty());
  EXPECT_EQ(Call(*transport, {.target = "/half"}).end, End::kLost);
  EXPECT_EQ(Call(*transport, {.target = "/half"}).status, 200);
  EXPECT_EQ(Call(*transport, {.target = "/stall", .timeout = milliseconds(100)}).end, End::kTimeout);
}

TEST(ThreadsTransport, AWriteIsSentOnceEvenIfAKeptConnectionBreaks) {
  std::atomic<int> writes = 0;
  std::atomic<int> reads = 0;
  ScriptedServer server([&](const Request& request, const Reply& reply) {
    if (request.target == "/warm") return reply.Answer(200, "");
    ++(request.method == "GET" ? reads : writes);
    reply.Cut();
  });
  const auto transport = TransportTo(server.url());
  EXPECT_EQ(Call(*transport, {.target = "/warm"}).status, 200);
  EXPECT_EQ(Call(*transport, {.method = "POST", .target = "/break", .body = "x"}).end, End::kLost);
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(Call(*transport, {.target = "/warm"}).status, 200);
  EXPECT_EQ(Call(*transport, {.target = "/break"}).end, End::kLost);
  EXPECT_GE(reads, 1);  // What only reads may be sent again.
}

TEST(ThreadsTransport, LimitsWhatItTakes) {
  ScriptedServer server(
      [](const Request&, const Reply& reply) { reply.Answer(200, std::string(1001, 'x')); });
  const auto transport = TransportTo(server.url());
  EXPECT_EQ(Call(*transport, {.target = "/", .max_body = 1000}).end, End::kTooLarge);
  EXPECT_EQ(Call(*transport, {.target = "/", .max_body = 1001}).body.size(), 1001);
}

TEST(ThreadsTransport, RetryAfterAndRedirects) {
  ScriptedServer server([](const Request& request, const Reply& reply) {
    if (request.target == "/busy") return reply.Answer(429, "wait", "Retry-After: 7\r\n");
    reply.Answer(302, "", "Location: /busy\r\n");
  });
  const auto transport = TransportTo(server.url());
  const TransferAnswer busy = Call(*transport, {.target = "/busy"});
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.retry_after, std::chrono::seconds(7));
  EXPECT_EQ(busy.body, "wait");
  EXPECT_EQ(Call(*transport, {.target = "/moved"}).status, 302);
}

TEST(ThreadsTransport, Streams) {
  ScriptedServer server([](const Request& request, const Reply& reply) {
    EXPECT_FALSE(request.headers.contains("accept-encoding"));
    if (request.target == "/refused") return reply.Answer(403, "no");
    reply.BeginStream();
    for (const char c : std::string("dribble")) reply.Piece({&c, 1});
    if (request.target == "/cut") return reply.Cut();
    reply.EndStream();
  });
  const auto transport = TransportTo(server.url());
  std::string seen;
  const auto take = [&](std::string_view piece) {
    seen += piece;
    return true;
  };
  EXPECT_EQ(Call(*transport, {.target = "/whole", .max_body = 1, .on_data = take}).end, End::kAnswered);
  EXPECT_EQ(seen, "dribble");
  seen.clear();
  const TransferAnswer cut = Call(*transport, {.target = "/cut", .on_data = take});
  EXPECT_EQ(cut.end, End::kLost);
  EXPECT_EQ(cut.status, 200);
  EXPECT_EQ(seen, "dribble");
  const TransferAnswer refused = Call(*transport, {.target = "/refused", .on_data = take});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body, "no");
  EXPECT_EQ(Call(*transport, {.target = "/whole", .on_data = [](std::string_view) { return false; }}).end,
            End::kStopped);
}

TEST(ThreadsTransport, CancelClosesTheStream) {
  std::promise<void> closed;
  ScriptedServer server([&](const Request& request, const Reply& reply) {
    if (request.target == "/other") return reply.Answer(200, "");
    reply.BeginStream();
    reply.Piece("x");
    reply.WaitForClose();
    closed.set_value();
  });
  const auto transport = TransportTo(server.url());
  std::promise<void> begun;
  const auto id =
      transport->Start({.target = "/", .on_data = [&](std::string_view) { return begun.set_value(), true; }},
                       [](const TransferAnswer&) { ADD_FAILURE(); });
  begun.get_future().get();
  EXPECT_EQ(Call(*transport, {.target = "/other"}).status, 200);  // One stream does not hold up others.
  transport->Cancel(id);
  transport->Cancel(id);
  closed.get_future().get();
}

TEST(ThreadsTransport, DestroyedWithRequestsUnderWay) {
  ScriptedServer server([](const Request&, const Reply& reply) { reply.WaitForClose(); });
  auto transport = TransportTo(server.url());
  auto held = std::make_shared<int>();
  for (int i = 0; i < 10; ++i)
    transport->Start({.target = "/"}, [held](const TransferAnswer&) { ADD_FAILURE(); });
  transport.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Transport, RefusesWhatIsNoUrl) {
  EXPECT_THAT(Transport::Create({.server = "https://"}).error().message, HasSubstr("is no URL"));
  EXPECT_THAT(Transport::Create({.server = "https://a:b"}).error().message, HasSubstr("is no URL"));
}

}  // namespace
}  // namespace adaptdl
