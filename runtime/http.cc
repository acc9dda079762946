#include "runtime/http.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "cluster/clock.h"

namespace adaptdl {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Nothing where an escape is malformed.
std::optional<std::string> Unescape(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

const std::string* HttpRequest::FindHeader(std::string_view name) const {
  const auto same = [&](const auto& header) {
    return std::equal(header.first.begin(), header.first.end(), name.begin(), name.end(),
                      [](char a, char b) { return Lower(a) == Lower(b); });
  };
  const auto found = std::find_if(headers.begin(), headers.end(), same);
  return found == headers.end() ? nullptr : &found->second;
}

struct Responder::State {
  State(Send s, Watch w, std::function<void()> d)
      : send(std::move(s)), watch(std::move(w)), dropped(std::move(d)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (answered) return;
    dropped ? dropped() : send({.status = 500, .body = "the request was dropped\n"});
  }

  const Send send;
  const Watch watch;
  const std::function<void()> dropped;
  std::atomic<bool> answered = false;
};

Responder::Responder(Send send, Watch watch, std::function<void()> dropped)
    : state_(std::make_shared<State>(std::move(send), std::move(watch), std::move(dropped))) {}

void Responder::Answer(HttpResponse response) const {
  if (!state_->answered.exchange(true)) state_->send(std::move(response));
}

void Responder::OnGone(std::function<void()> gone) const {
  if (!state_->answered && state_->watch) state_->watch(std::move(gone));
}

HttpHandler OnClock(Clock& clock, HttpHandler handler) {
  // Shared, so that a task that still waits does not need this handler to be there.
  return [&clock, shared = std::make_shared<const HttpHandler>(std::move(handler))](HttpRequest request,
                                                                                    Responder responder) {
    clock.Post([shared, request = std::move(request), responder = std::move(responder)]() mutable {
      (*shared)(std::move(request), std::move(responder));
    });
  };
}

Result<HttpTarget> ParseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return Invalid("target: not a path");
  const std::size_t mark = target.find('?');
  const std::string_view escaped = target.substr(0, mark);
  HttpTarget out;
  std::optional<std::string> path = Unescape(escaped, false);
  if (!path) return Invalid("target: malformed escape in the path");
  if (path->find('\0') != std::string::npos ||
      std::count(path->begin(), path->end(), '/') != std::count(escaped.begin(), escaped.end(), '/')) {
    return Invalid("target: an escaped slash or zero byte in the path");
  }
  out.path = *std::move(path);
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::optional<std::string> key = Unescape(pair.substr(0, equals), true);
    std::optional<std::string> value = Unescape(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) return Invalid("target: malformed escape in the query");
    const auto [at, fresh] = out.query.emplace(*std::move(key), *std::move(value));
    if (!fresh) return Invalid("target: " + Printable(at->first) + " is given twice");
  }
  return out;
}

}  // namespace adaptdl
