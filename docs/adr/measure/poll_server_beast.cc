// poll_server_beast POLLS ROUNDS: prints its port, holds GET requests until POLLS of them wait at the same
// time, then answers all; ROUNDS times on the same connections. One thread. Ends by itself.
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <vector>

#include "common.h"

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;

namespace {

struct Session {
  explicit Session(tcp::socket s) : socket(std::move(s)) {}
  tcp::socket socket;
  boost::beast::flat_buffer buffer;
  http::request<http::string_body> request;
  http::response<http::string_body> response;
};
using SessionPtr = std::shared_ptr<Session>;

class Server {
 public:
  Server(std::size_t polls, std::size_t rounds)
      : polls_(polls), rounds_(rounds), acceptor_(io_, {net::ip::make_address("127.0.0.1"), 0}) {}

  int Run() {
    std::printf("%d\n", acceptor_.local_endpoint().port());
    std::fflush(stdout);
    Accept();
    io_.run();
    measure::Report("Boost.Beast", measure::Threads(),
                    std::to_string(answered_) + " answers in " + std::to_string(rounds_) + " rounds");
    return answered_ == polls_ * rounds_ ? 0 : 1;
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](boost::system::error_code e, tcp::socket socket) {
      if (!e) {
        Read(std::make_shared<Session>(std::move(socket)));
        Accept();
      }
    });
  }

  void Read(const SessionPtr& s) {
    s->request = {};
    http::async_read(s->socket, s->buffer, s->request, [this, s](auto error, auto) {
      if (error) {
        return;
      }
      held_.push_back(s);
      if (held_.size() == polls_) {
        for (const auto& held : std::exchange(held_, {})) {
          Answer(held);
        }
      }
    });
  }

  void Answer(const SessionPtr& s) {
    s->response = {http::status::ok, s->request.version()};
    s->response.set(http::field::content_type, "application/json");
    s->response.body() = R"(["10.0.0.1","10.0.0.2"])";
    s->response.prepare_payload();
    http::async_write(s->socket, s->response, [this, s](auto error, auto) {
      if (!error && ++answered_ == polls_ * rounds_) {
        io_.stop();
      } else if (!error) {
        Read(s);
      }
    });
  }

  std::size_t polls_, rounds_, answered_ = 0;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  std::vector<SessionPtr> held_;
};

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  return argc == 3 ? Server(std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10)).Run() : 2;
}
