// watch_server STREAMS EVENTS: prints its port, waits until STREAMS watches are open, then sends one event
// of 1 KB to each of them every 10 ms, EVENTS times, as HTTP/1.1 chunks. Ends by itself.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "common.h"

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;

namespace {

struct Stream {
  explicit Stream(tcp::socket s) : socket(std::move(s)) {}
  tcp::socket socket;
  boost::beast::flat_buffer buffer;
  http::request<http::empty_body> request;
  http::response<http::empty_body> response{http::status::ok, 11};
  http::response_serializer<http::empty_body> serializer{response};
};

class Server {
 public:
  Server(std::size_t streams, int events)
      : want_(streams),
        events_(events),
        acceptor_(io_, {net::ip::make_address("127.0.0.1"), 0}),
        timer_(io_) {}

  int Run() {
    std::printf("%d\n", acceptor_.local_endpoint().port());
    std::fflush(stdout);
    Accept();
    io_.run();
    return finished_ == want_ ? 0 : 1;
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](boost::system::error_code e, tcp::socket socket) {
      if (e) {
        return;
      }
      socket.set_option(tcp::no_delay(true));
      auto s = std::make_shared<Stream>(std::move(socket));
      http::async_read(s->socket, s->buffer, s->request, [this, s](auto error, auto) {
        if (!error) {
          Open(s);
        }
      });
      Accept();
    });
  }

  void Open(const std::shared_ptr<Stream>& s) {
    s->response.set(http::field::content_type, "application/json");
    s->response.chunked(true);
    http::async_write_header(s->socket, s->serializer, [this, s](auto error, auto) {
      if (error) {
        return;
      }
      streams_.push_back(s);
      if (streams_.size() == want_) {
        acceptor_.close();
        Round(0);
      }
    });
  }

  void Round(int number) {
    if (number == events_) {
      for (auto& s : streams_) {
        net::async_write(s->socket, http::make_chunk_last(),
                         [this](auto e, auto) { finished_ += e ? 0 : 1; });
      }
      return;
    }
    event_ = measure::MakeEvent(number);
    pending_ = streams_.size();
    timer_.expires_after(std::chrono::milliseconds(10));
    for (auto& s : streams_) {
      net::async_write(s->socket, http::make_chunk(net::buffer(event_)), [this, number](auto error, auto) {
        if (!error && --pending_ == 0) {
          timer_.async_wait([this, number](auto) { Round(number + 1); });
        }
      });
    }
  }

  std::size_t want_;
  int events_;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  net::steady_timer timer_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::string event_;
  std::size_t pending_ = 0, finished_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  return argc == 3 ? Server(std::strtoul(argv[1], nullptr, 10), std::atoi(argv[2])).Run() : 2;
}
