// Inside the HTTP server, for its own sources alone: the bytes of a connection, plain or through TLS.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <functional>
#include <memory>

struct ssl_ctx_st;

namespace adaptdl {

// At most one operation of each kind at a time; what it works on stays until `done`.
class HttpStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using OnRead = std::function<void(boost::system::error_code, std::size_t)>;
  using OnDone = std::function<void(boost::system::error_code)>;

  virtual ~HttpStream() = default;
  virtual Socket& socket() = 0;
  virtual void Handshake(OnDone done) = 0;
  virtual void Read(boost::asio::mutable_buffer into, OnRead done) = 0;
  virtual void Write(boost::asio::const_buffer all, OnDone done) = 0;
  // Tells the client that nothing more comes. The other direction stays open.
  virtual void EndWriting(OnDone done) = 0;
};

// With TLS where there is a context.
std::unique_ptr<HttpStream> MakeHttpStream(HttpStream::Socket socket, ssl_ctx_st* tls);

}  // namespace adaptdl
