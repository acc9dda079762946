// Requests and answers of HTTP, free of sockets: what a handler sees. The server is runtime/http_server.h; a
// test can call a handler without one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.h"

namespace adaptdl {

class Clock;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// All of it comes from outside: Printable() before any of it gets into a message.
struct HttpRequest {
  std::string method;                        // "GET"
  std::string path;                          // Decoded, without the query; begins with '/'.
  std::map<std::string, std::string> query;  // Decoded.
  HttpHeaders headers;                       // In the order in which they came.
  std::string body;
  std::string peer;  // The client's address, without its port.

  // The first header of that name, in any case; null where there is none.
  const std::string* FindHeader(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  HttpHeaders headers = {};  // Beyond those of content and connection, which the server writes itself.
};

// The right to answer one request. Copies are the same right; all methods may be called from any thread, at
// any later time, also after the server is gone (then they do nothing).
class Responder {
 public:
  using Send = std::function<void(HttpResponse)>;
  using Watch = std::function<void(std::function<void()> gone)>;

  // `send` is called once, with the first answer. Where the last copy is destroyed without one, `dropped` is
  // called instead; without it, `send` gets a 500. `watch` takes what OnGone was given.
  explicit Responder(Send send, Watch watch = {}, std::function<void()> dropped = {});

  // Only the first call counts.
  void Answer(HttpResponse response) const;

  // `gone` is called once if the client leaves before the answer (also where it only closes its sending
  // side), or the server gives the request up while it stops. It runs on the server's thread, never inside
  // this call; a later one replaces it. It may still come while another thread is just answering.
  void OnGone(std::function<void()> gone) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

using HttpHandler = std::function<void(HttpRequest request, Responder responder)>;

// A handler that runs `handler` on the clock's thread. The clock outlives it; what the clock drops is
// answered with 500.
HttpHandler OnClock(Clock& clock, HttpHandler handler);

struct HttpTarget {
  std::string path;
  std::map<std::string, std::string> query;
};

// The target of a request line, such as "/a%20b?key=x+y&flag". Refused: what is not a path, malformed
// escapes, an escaped slash or zero byte in the path, which could be mistaken for another path, and a key
// that is repeated.
Result<HttpTarget> ParseTarget(std::string_view target);

}  // namespace adaptdl
