// call_server CERT KEY: an HTTPS server that answers one connection after the other, keep-alive; prints its
// port. It runs until it is ended.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "common.h"

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 3) {
    return 2;
  }
  net::io_context io;
  net::ssl::context tls(net::ssl::context::tls_server);
  tls.use_certificate_chain_file(argv[1]);
  tls.use_private_key_file(argv[2], net::ssl::context::pem);
  tcp::acceptor acceptor(io, {net::ip::make_address("127.0.0.1"), 0});
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  for (;;) {
    boost::system::error_code error;
    net::ssl::stream<tcp::socket> stream(acceptor.accept(), tls);
    stream.next_layer().set_option(tcp::no_delay(true));
    stream.handshake(net::ssl::stream_base::server, error);
    boost::beast::flat_buffer buffer;
    while (!error) {
      http::request<http::string_body> request;
      http::read(stream, buffer, request, error);
      if (!error) {
        http::response<http::string_body> response(http::status::ok, request.version());
        response.body() = measure::MakeEvent(0);
        response.prepare_payload();
        http::write(stream, response, error);
      }
    }
  }
}
