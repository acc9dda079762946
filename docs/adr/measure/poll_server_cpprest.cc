// poll_server_cpprest POLLS ROUNDS POOL: the same server with cpprestsdk's http_listener; POOL as in
// watch_cpprest.
#include <arpa/inet.h>
#include <cpprest/http_listener.h>
#include <netinet/in.h>
#include <pplx/threadpool.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <mutex>
#include <vector>

#include "common.h"

namespace {

// The listener cannot choose a port and say which; so ask the kernel for a free one and let it go again.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  return ok ? ntohs(address.sin_port) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 4) {
    return 2;
  }
  const std::size_t polls = std::strtoul(argv[1], nullptr, 10);
  const std::size_t total = polls * std::strtoul(argv[2], nullptr, 10);
  const int pool = std::atoi(argv[3]);
  if (pool > 0) {
    crossplat::threadpool::initialize_with_threads(static_cast<std::size_t>(pool));
  }

  std::mutex mutex;
  std::vector<web::http::http_request> held;
  std::atomic<std::size_t> answered{0};
  std::promise<void> finished;

  web::http::experimental::listener::http_listener_config config;
  config.set_backlog(4096);
  const int port = FreePort();
  web::http::experimental::listener::http_listener listener("http://127.0.0.1:" + std::to_string(port),
                                                            config);
  listener.support(web::http::methods::GET, [&](const web::http::http_request& request) {
    std::vector<web::http::http_request> release;
    {
      const std::lock_guard lock(mutex);
      held.push_back(request);
      if (held.size() == polls) {
        release.swap(held);
      }
    }
    for (auto& r : release) {
      r.reply(web::http::status_codes::OK, R"(["10.0.0.1","10.0.0.2"])", "application/json").then([&] {
        if (++answered == total) {
          finished.set_value();
        }
      });
    }
  });
  listener.open().wait();
  std::printf("%d\n", port);
  std::fflush(stdout);
  finished.get_future().wait();
  measure::Report(
      "cpprestsdk, " + (pool > 0 ? "pool of " + std::to_string(pool) : std::string("default pool")),
      measure::Threads(), std::to_string(answered.load()) + " answers in " + argv[2] + " rounds");
  std::fflush(stdout);
  _exit(0);  // The listener's own way down is not what is measured.
}
