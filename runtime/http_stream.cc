#include "runtime/http_stream.h"

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace adaptdl {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

template <typename Layer>
class StreamOver : public HttpStream {
 public:
  template <typename... Args>
  explicit StreamOver(Args&&... args) : layer_(std::forward<Args>(args)...) {}

  void Read(net::mutable_buffer into, OnRead done) override { layer_.async_read_some(into, std::move(done)); }
  void Write(net::const_buffer all, OnDone done) override {
    net::async_write(layer_, all, [done = std::move(done)](error_code error, std::size_t) { done(error); });
  }

 protected:
  Layer layer_;
};

class PlainStream final : public StreamOver<tcp::socket> {
 public:
  using StreamOver::StreamOver;
  tcp::socket& socket() override { return layer_; }
  void Handshake(OnDone done) override { done({}); }
  void EndWriting(OnDone done) override {
    error_code error;
    layer_.shutdown(tcp::socket::shutdown_send, error);
    done(error);
  }
};

class TlsStream final : public StreamOver<net::ssl::stream<tcp::socket>> {
 public:
  using StreamOver::StreamOver;
  tcp::socket& socket() override { return layer_.next_layer(); }
  void Handshake(OnDone done) override {
    layer_.async_handshake(net::ssl::stream_base::server, std::move(done));
  }
  void EndWriting(OnDone done) override { layer_.async_shutdown(std::move(done)); }
};

}  // namespace

std::unique_ptr<HttpStream> MakeHttpStream(tcp::socket socket, ssl_ctx_st* tls) {
  if (tls == nullptr) return std::make_unique<PlainStream>(std::move(socket));
  SSL_CTX_up_ref(tls);  // The wrapper takes over one reference, the stream holds another.
  net::ssl::context context(tls);
  return std::make_unique<TlsStream>(std::move(socket), context);
}

}  // namespace adaptdl
