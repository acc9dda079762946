#include "runtime/http_connection.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace adaptdl {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::chrono::milliseconds kLinger{2000};
// What one read takes: little while nothing is known to come, as thousands of connections wait at the same
// time; of a body as much as has come of it already, as what a header promises costs its sender nothing; and
// next to nothing while a request is held, as all that may come is the client's end or its next one.
constexpr std::size_t kHeldRead = 256;
constexpr std::size_t kSmallRead = 2 * 1024;
constexpr std::size_t kLargeRead = 64 * 1024;

// An assignment would keep the room it had.
void Free(std::string* text) {
  text->clear();
  text->shrink_to_fit();
}

std::string Format(const HttpResponse& response, bool keep_open, bool head) {
  const int status = response.status >= 200 && response.status <= 599 ? response.status : 500;
  const bool may_have_body = status != 204 && status != 304;
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status))).to_string();
  const auto add = [&out](std::string_view name, std::string_view value) {
    out.append("\r\n").append(name).append(": ").append(Printable(value, kLargeRead));
  };
  if (may_have_body) {
    add("Content-Type", response.content_type);
    add("Content-Length", std::to_string(response.body.size()));
  }
  add("Connection", keep_open ? "keep-alive" : "close");
  for (const auto& [name, value] : response.headers) add(Printable(name), value);
  out += "\r\n\r\n";
  if (may_have_body && !head) out += response.body;
  return out;
}

class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpShared& shared, std::uint64_t id, std::unique_ptr<HttpStream> stream, std::string peer,
             bool refused)
      : shared_(shared), id_(id), stream_(std::move(stream)), peer_(std::move(peer)), refused_(refused) {}

  void Start() override {
    SetDeadline(shared_.options.read_timeout);
    stream_->Handshake([self = shared_from_this()](error_code error) {
      if (error || self->state_ == State::kClosed) return self->Close();
      if (self->refused_) return self->Refuse(503, "too many connections");
      self->NextRequest();
    });
  }

  void Stop() override {
    const bool idle =
        state_ == State::kStarting || (state_ == State::kReading && input_.empty() && !parser_->got_some());
    if (idle) Close();
  }

  void Close() override {
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    deadline_.cancel();
    error_code ignored;
    stream_->socket().close(ignored);
    if (const auto gone = std::exchange(on_gone_, nullptr)) gone();
    const auto self = shared_from_this();  // The server lets go of it.
    shared_.closed(id_);
  }

 private:
  enum class State { kStarting, kReading, kHeld, kWriting, kLingering, kClosed };
  using Parser = http::request_parser<http::string_body>;

  void SetDeadline(std::chrono::milliseconds delay) {
    deadline_.expires_after(delay);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      // It may have been put off when this was already on its way.
      if (!error && self->deadline_.expiry() <= std::chrono::steady_clock::now()) self->Close();
    });
  }
  void ClearDeadline() { deadline_.expires_at(std::chrono::steady_clock::time_point::max()); }

  void NextRequest() {
    state_ = State::kReading;
    header_seen_ = false;
    head_ = false;
    parser_ = std::make_unique<Parser>();
    parser_->eager(true);
    parser_->header_limit(shared_.options.header_bytes);
    parser_->body_limit(shared_.options.body_bytes);
    if (input_.empty() && shared_.stopping) return Linger();
    SetDeadline(input_.empty() ? shared_.options.idle_timeout : shared_.options.read_timeout);
    Parse();
  }

  void Parse() {
    error_code error;
    std::size_t used = 0;
    // Less than the shortest end of a chunked body, "0\r\n\r\n", may trip an assertion of
    // Beast (boostorg/beast, pull request 2861).
    const std::size_t enough = header_seen_ && parser_->chunked() ? 5 : 1;
    if (input_.size() >= enough) used = parser_->put(net::buffer(input_), error);
    if (error == http::error::header_limit) {
      const bool in_first_line = parser_->get().target().empty() && input_.find('\n') == std::string::npos;
      return in_first_line ? Refuse(414, "target too long") : Refuse(431, "header too long");
    }
    input_.erase(0, used);
    if (error == http::error::body_limit) return Refuse(413, "body too long");
    if (error && error != http::error::need_more) return Refuse(400, error.message());
    if (parser_->is_header_done() && !header_seen_) {
      header_seen_ = true;
      if (parser_->get().target().size() > shared_.options.target_bytes)
        return Refuse(414, "target too long");
      if (!parser_->is_done() &&
          http::token_list(parser_->get()[http::field::expect]).exists("100-continue")) {
        return Continue();
      }
    }
    if (parser_->is_done()) return Dispatch();
    // Beast sets no limit to a line between two chunks.
    if (input_.size() > shared_.options.header_bytes) return Refuse(400, "chunk header too long");
    if (ended_) return Close();
    Read();
  }

  // The client waits for a word before it sends the body.
  void Continue() {
    output_ = "HTTP/1.1 100 Continue\r\n\r\n";
    stream_->Write(net::buffer(output_), [self = shared_from_this()](error_code error) {
      if (error || self->state_ == State::kClosed) return self->Close();
      Free(&self->output_);
      self->Parse();
    });
  }

  HttpResponse Refusal(int status, const std::string& why) const {
    const std::string printable = Printable(why);
    if (!shared_.options.refusal) return {.status = status, .body = printable + "\n"};
    HttpResponse response = shared_.options.refusal(status, printable);
    response.status = status;
    return response;
  }
  void Refuse(int status, const std::string& why) { Send(Refusal(status, why), false); }

  void Dispatch() {
    Parser::value_type message = parser_->release();
    parser_.reset();
    keep_open_ = message.keep_alive();
    head_ = message.method() == http::verb::head;
    Result<HttpTarget> target = ParseTarget({message.target().data(), message.target().size()});
    if (!target) return Refuse(400, target.error().message);
    HttpRequest request{.method = message.method_string().to_string(),
                        .path = std::move(target->path),
                        .query = std::move(target->query),
                        .body = std::move(message.body()),
                        .peer = peer_};
    for (const auto& field : message) {
      request.headers.emplace_back(field.name_string().to_string(), field.value().to_string());
    }
    state_ = State::kHeld;
    ClearDeadline();
    input_.shrink_to_fit();
    shared_.handler(std::move(request), MakeResponder(++number_));
    if (ended_) return GoneSoon();
    Read();
  }

  Responder MakeResponder(std::uint64_t number) {
    const std::weak_ptr<Connection> weak = weak_from_this();
    const std::shared_ptr<HttpMailbox>& mailbox = shared_.mailbox;
    return Responder(
        [weak, mailbox, number](HttpResponse response) {
          mailbox->Post([weak, number, response = std::move(response)] {
            if (const auto self = weak.lock()) self->Answer(number, response);
          });
        },
        [weak, mailbox, number](std::function<void()> gone) {
          mailbox->Post([weak, number, gone = std::move(gone)]() mutable {
            const auto self = weak.lock();
            if (!self || self->state_ == State::kClosed) return gone();
            if (self->HoldsAt(number)) self->on_gone_ = std::move(gone);
          });
        },
        [weak, mailbox, number] {
          mailbox->Post([weak, number] {
            const auto self = weak.lock();
            if (self && self->HoldsAt(number))
              self->Answer(number, self->Refusal(500, "the request was dropped"));
          });
        });
  }

  bool HoldsAt(std::uint64_t number) const { return state_ == State::kHeld && number == number_; }
  // After what the handler has answered at once and is on its way here: who sends requests and then closes
  // that direction gets such answers.
  void GoneSoon() {
    net::post(shared_.io, [self = shared_from_this(), number = number_] {
      if (self->HoldsAt(number)) self->Close();
    });
  }

  void Answer(std::uint64_t number, const HttpResponse& response) {
    if (!HoldsAt(number)) return;
    on_gone_ = nullptr;
    Send(response, keep_open_ && !shared_.stopping);
  }

  void Send(const HttpResponse& response, bool keep_open) {
    state_ = State::kWriting;
    output_ = Format(response, keep_open, head_);
    SetDeadline(shared_.options.write_timeout);
    stream_->Write(net::buffer(output_), [self = shared_from_this(), keep_open](error_code error) {
      if (error || self->state_ == State::kClosed) return self->Close();
      Free(&self->output_);
      keep_open ? self->NextRequest() : self->Linger();
    });
  }

  // Closing a socket with unread bytes would take the answer away from a client that still sends: it first
  // ends its side, or time is up.
  void Linger() {
    state_ = State::kLingering;
    SetDeadline(kLinger);
    stream_->EndWriting([self = shared_from_this()](error_code) {});
    if (ended_) return Close();
    Read();
  }

  // There is always a read under way, also while a request is held: that is how one sees the client go.
  void Read() {
    if (reading_ || ended_) return;
    reading_ = true;
    const std::size_t body = parser_ ? parser_->get().body().size() : 0;
    const std::size_t size = state_ == State::kHeld ? kHeldRead : std::clamp(body, kSmallRead, kLargeRead);
    if (chunk_.size() != size) chunk_ = std::vector<char>(size);
    stream_->Read(net::buffer(chunk_), [self = shared_from_this()](error_code error, std::size_t count) {
      self->reading_ = false;
      self->ended_ = static_cast<bool>(error);
      self->Received(count);
    });
  }

  void Received(std::size_t count) {
    if (state_ == State::kClosed) return;
    if (state_ == State::kLingering) return ended_ ? Close() : Read();
    const bool begins = state_ == State::kReading && input_.empty() && !parser_->got_some();
    input_.append(chunk_.data(), count);
    if (state_ == State::kReading) {
      if (begins) SetDeadline(shared_.options.read_timeout);
      if (output_.empty()) Parse();  // Otherwise once the word to go on is out.
      return;
    }
    if (ended_) return GoneSoon();
    if (input_.size() < shared_.options.header_bytes)
      Read();  // Further requests wait their turn in the socket.
  }

  HttpShared& shared_;
  const std::uint64_t id_;
  const std::unique_ptr<HttpStream> stream_;
  const std::string peer_;
  const bool refused_;
  net::steady_timer deadline_{shared_.io};

  State state_ = State::kStarting;
  bool reading_ = false;  // A read is under way, into chunk_.
  bool ended_ = false;    // The client sends nothing more.
  std::vector<char> chunk_;
  std::string input_;               // Read, but not yet parsed.
  std::string output_;              // Being written.
  std::unique_ptr<Parser> parser_;  // While reading.
  bool header_seen_ = false;
  std::uint64_t number_ = 0;  // Of the request in hand.
  bool keep_open_ = false;
  bool head_ = false;
  std::function<void()> on_gone_;
};

}  // namespace

std::shared_ptr<HttpConnection> MakeHttpConnection(HttpShared& shared, std::uint64_t id,
                                                   std::unique_ptr<HttpStream> stream, std::string peer,
                                                   bool refused) {
  return std::make_shared<Connection>(shared, id, std::move(stream), std::move(peer), refused);
}

}  // namespace adaptdl
