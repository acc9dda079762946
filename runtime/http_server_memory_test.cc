// What a request that is held, or does not come to its end, costs its server.
#include <malloc.h>

#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/http_server.h"
#include "runtime/http_testing.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ADAPTDL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ADAPTDL_SANITIZED 1
#endif
#endif

namespace adaptdl {
namespace {

constexpr std::size_t kClients = 200;
constexpr std::size_t kLarge = 256 * 1024;

std::size_t Allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// "/hold" is kept, without the request itself; "/large" gets a large answer.
class Holder {
 public:
  Holder() { held_.reserve(kClients); }

  HttpHandler Handler() {
    return [this](const HttpRequest& request, const Responder& responder) {
      if (request.path != "/hold")
        return responder.Answer({.body = std::string(request.path == "/large" ? kLarge : 0, 'x')});
      const std::lock_guard lock(mutex_);
      held_.push_back(responder);
      changed_.notify_all();
    };
  }

  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_.size() == kClients; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Responder> held_;
};

TEST(HttpServerMemory, AHeldRequestCostsLittleWhateverWasBefore) {
#ifdef ADAPTDL_SANITIZED
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  const std::string get = "GET /hold HTTP/1.1\r\nHost: x\r\nUser-Agent: python-requests/2.31.0\r\n\r\n";
  const std::string put =
      "PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kLarge) + "\r\n\r\n";
  struct Case {
    const char* name;
    std::string before;
    std::string request;
  };
  const Case cases[] = {{"nothing", "", get},
                        {"a small answer", "/small", get},
                        {"a large answer", "/large", get},
                        {"a large body", "", put + std::string(kLarge, 'x')}};
  for (const Case& a_case : cases) {
    Holder holder;
    const auto server = HttpServer::Start(OnLoopback(), holder.Handler()).value();
    EXPECT_EQ(TestClient(server->port()).Get("/").status, 200);
    const std::size_t before = Allocated();
    std::deque<TestClient> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
      TestClient& client = clients.emplace_back(server->port());
      if (!a_case.before.empty()) client.Get(a_case.before);
      EXPECT_TRUE(client.Send(a_case.request));
    }
    holder.Wait();
    EXPECT_EQ(TestClient(server->port()).Get("/").status, 200);  // The server is through with the last one.
    const std::size_t cost = (Allocated() - before) / kClients;
    EXPECT_LE(cost, 2500U) << "after " << a_case.name;
    std::cout << "bytes for each, after " << a_case.name << ": " << cost << "\n";
  }
}

TEST(HttpServerMemory, ABodyThatDoesNotComeCostsLittle) {
#ifdef ADAPTDL_SANITIZED
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  Holder holder;
  const auto server = HttpServer::Start(OnLoopback(), holder.Handler()).value();
  EXPECT_EQ(TestClient(server->port()).Get("/").status, 200);
  const std::size_t before = Allocated();
  std::deque<TestClient> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    TestClient& client = clients.emplace_back(server->port());
    client.Send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
    EXPECT_EQ(client.Read().status, 100);
  }
  EXPECT_EQ(TestClient(server->port()).Get("/").status, 200);  // The server is through with the last one.
  const std::size_t cost = (Allocated() - before) / kClients;
  EXPECT_LE(cost, 8000U);
  std::cout << "bytes for each: " << cost << "\n";
}

}  // namespace
}  // namespace adaptdl
