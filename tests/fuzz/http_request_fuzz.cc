// Connections of the HTTP server: whatever a client sends, and however it is cut, nothing is read as two
// different requests, and every answer is one to a request or a refusal.
#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/http_connection.h"
#include "tests/fuzz/check.h"

namespace adaptdl {
namespace {

using boost::system::error_code;

// A client in memory that sends a text in pieces, ends its side, and keeps what it is told.
class ScriptedStream final : public HttpStream {
 public:
  ScriptedStream(boost::asio::io_context& io, std::string_view text, std::size_t piece, std::string* told)
      : io_(io), socket_(io), text_(text), piece_(piece), told_(told) {}

  Socket& socket() override { return socket_; }
  void Handshake(OnDone done) override { done({}); }
  void Read(boost::asio::mutable_buffer into, OnRead done) override {
    const std::size_t count = std::min({piece_, into.size(), text_.size()});
    std::copy_n(text_.data(), count, static_cast<char*>(into.data()));
    text_.remove_prefix(count);
    const error_code error = count == 0 ? boost::asio::error::eof : error_code();
    boost::asio::post(io_, [done = std::move(done), error, count] { done(error, count); });
  }
  void Write(boost::asio::const_buffer all, OnDone done) override {
    Check(!ended_, "nothing is said after the end");
    told_->append(static_cast<const char*>(all.data()), all.size());
    boost::asio::post(io_, [done = std::move(done)] { done({}); });
  }
  void EndWriting(OnDone done) override {
    ended_ = true;
    done({});
  }

 private:
  boost::asio::io_context& io_;
  Socket socket_;  // Never open.
  std::string_view text_;
  const std::size_t piece_;
  std::string* const told_;
  bool ended_ = false;
};

struct Outcome {
  std::vector<HttpRequest> requests;
  int refused_with = 0;  // The first of the server's own answers.
  std::size_t refusals = 0;
  bool held = false;  // The last request has no answer.
  std::string told;
};

// "/d..." is dropped, "/h..." held until the client has gone; the others are answered.
Outcome Serve(std::string_view text, std::size_t piece) {
  Outcome out;
  HttpServerOptions options;
  options.header_bytes = 500;
  options.target_bytes = 100;
  options.body_bytes = 300;
  options.refusal = [&](int status, const std::string& why) {
    Check(why == Printable(why, 100000), "why is safe to print");
    Check(out.refusals == 0 || out.refused_with == 500, "nothing comes after a refusal");
    out.refused_with = status;
    ++out.refusals;
    return HttpResponse{.body = why};
  };
  std::optional<Responder> held;
  HttpShared shared(options, [&](HttpRequest request, const Responder& responder) {
    Check(!held && !out.held, "one request at a time");
    Check(request.path.starts_with('/'), "a path begins with a slash");
    Check(!request.method.empty() && request.body.size() <= 300, "limits hold");
    if (request.path.starts_with("/h")) {
      held = responder;
      out.held = true;
    } else if (!request.path.starts_with("/d")) {
      responder.Answer({.body = request.method});
    }
    out.requests.push_back(std::move(request));
  });
  int closed = 0;
  shared.closed = [&](std::uint64_t) { ++closed; };
  MakeHttpConnection(shared, 0, std::make_unique<ScriptedStream>(shared.io, text, piece, &out.told), "peer",
                     false)
      ->Start();
  shared.io.run();  // No deadline passes meanwhile: the client never waits.
  // While a request is held, a client that has sent too much ahead is not seen to go.
  Check(closed == 1 || out.held, "a connection ends with its client");
  shared.mailbox->Close();
  return out;
}

std::string_view TakeUntil(std::string_view* text, std::string_view mark) {
  const std::size_t end = text->find(mark);
  Check(end != std::string_view::npos, "an answer is whole");
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(end + mark.size());
  return part;
}

// Takes one answer off the text; its status.
int TakeAnswer(std::string_view* text, bool head_only, bool* closes) {
  std::string_view head = TakeUntil(text, "\r\n\r\n");
  const std::string_view first = head.substr(0, head.find("\r\n"));
  Check(first.starts_with("HTTP/1.1 ") && first.size() > 13 && first[12] == ' ', "a status line");
  const std::string code(first.substr(9, 3));
  Check(std::all_of(code.begin(), code.end(), [](char c) { return c >= '0' && c <= '9'; }), "a status");
  std::optional<std::size_t> length;
  for (head.remove_prefix(first.size()); !head.empty();) {
    head.remove_prefix(2);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size());
    Check(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }), "a header");
    const std::size_t colon = line.find(": ");
    Check(colon != std::string_view::npos && colon > 0, "a header has a name");
    const std::string value(line.substr(colon + 2));
    if (line.starts_with("Content-Length")) length = std::stoul(value);
    if (line.starts_with("Connection")) *closes = value == "close";
  }
  const int status = std::stoi(code);
  if (status == 100) return status;
  Check(length.has_value(), "the length of a body is said");
  if (!head_only) {
    Check(text->size() >= *length, "a body is whole");
    text->remove_prefix(*length);
  }
  return status;
}

void CheckAnswers(const Outcome& out) {
  std::string_view told = out.told;
  std::size_t answers = 0;
  bool closes = false;
  while (!told.empty()) {
    Check(!closes, "nothing comes after the last answer");
    const bool of_request = answers < out.requests.size();
    // What is refused for its target may have been a HEAD, of which nobody else was told.
    const bool head = of_request ? out.requests[answers].method == "HEAD"
                                 : told.find("\r\n\r\n") + 4 == told.size() && out.refused_with == 400;
    const int status = TakeAnswer(&told, head, &closes);
    if (status == 100) continue;
    Check(status >= 200 && status <= 599, "a status of an answer");
    if (of_request) {
      Check(status == (out.requests[answers].path.starts_with("/d") ? 500 : 200), "answers come in order");
    } else {
      Check(status == out.refused_with && closes, "a refusal is the last word");
    }
    ++answers;
  }
  const auto dropped = static_cast<std::size_t>(
      std::count_if(out.requests.begin(), out.requests.end(),
                    [](const HttpRequest& request) { return request.path.starts_with("/d"); }));
  Check(answers == out.requests.size() - (out.held ? 1 : 0) + out.refusals - dropped,
        "an answer to each request and each refusal");
}

bool Same(const HttpRequest& a, const HttpRequest& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.headers == b.headers &&
         a.body == b.body;
}

// One may be refused where the other is not, as the limit of a header is counted from where a piece begins,
// but nothing is read as two different requests.
void CheckAgree(const Outcome& a, const Outcome& b) {
  const auto& [less, more] = std::minmax(
      a, b, [](const Outcome& x, const Outcome& y) { return x.requests.size() < y.requests.size(); });
  Check(std::equal(less.requests.begin(), less.requests.end(), more.requests.begin(), Same),
        "pieces do not matter");
  Check(less.requests.size() == more.requests.size() || less.refused_with / 100 == 4,
        "a request is not lost without a word");
}

}  // namespace
}  // namespace adaptdl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Outcome whole = Serve(AsText(data, size), size + 1);
  CheckAnswers(whole);
  for (const std::size_t piece : {1, 7}) {
    const Outcome cut = Serve(AsText(data, size), piece);
    CheckAnswers(cut);
    CheckAgree(whole, cut);
  }
  return 0;
}
