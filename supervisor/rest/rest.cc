#include "supervisor/rest/rest.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "nlohmann/json.hpp"
#include "supervisor/request.h"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr const char* kJson = "application/json";
constexpr double kDefaultTimeout = 30;
constexpr std::string_view kBearer = "Bearer ";

HttpResponse Json(const json& value) { return {.content_type = kJson, .body = ToText(value)}; }

HttpResponse AsResponse(const Refusal& refusal) {
  switch (refusal.kind) {
    case Refusal::Kind::kInvalid:
      return JsonError(400, refusal.message);
    case Refusal::Kind::kNoToken: {
      HttpResponse response = JsonError(401, refusal.message);
      response.headers = {{"WWW-Authenticate", "Bearer"}};
      return response;
    }
    case Refusal::Kind::kWrongToken:
      return JsonError(403, refusal.message);
    case Refusal::Kind::kTooMany:
    case Refusal::Kind::kNotReady: {
      HttpResponse response = JsonError(refusal.kind == Refusal::Kind::kTooMany ? 429 : 503, refusal.message);
      response.headers = {{"Retry-After", "5"}};
      return response;
    }
    case Refusal::Kind::kNoJob:
      return JsonError(404, refusal.message);
    case Refusal::Kind::kOutdated:
      return JsonError(409, refusal.message);
  }
  return JsonError(500, refusal.message);
}

// An empty part, as a slash too many makes it, does not count.
std::vector<std::string_view> Split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Result<double> ParseTimeout(const HttpRequest& request) {
  const auto given = request.query.find("timeout");
  if (given == request.query.end()) return kDefaultTimeout;
  const std::string& text = given->second;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(seconds) || seconds < 0) {
    return Invalid("timeout: '" + Printable(text, 40) + "' is not a number of seconds");
  }
  return seconds;
}

// One request, with what it is about.
class Exchange {
 public:
  Exchange(Clock& clock, Supervisor& supervisor, HttpRequest request, Responder responder)
      : clock_(clock),
        supervisor_(supervisor),
        request_(std::move(request)),
        responder_(std::move(responder)) {}

  void Run() {
    std::vector<std::string_view> parts = Split(request_.path);
    Caller caller{.token = BearerToken(), .address = request_.peer};
    if (parts.size() >= 2 && parts[0] == "t") {
      caller.token = parts[1];
      parts.erase(parts.begin(), parts.begin() + 2);
    }
    if (parts.size() == 1 && parts[0] == "healthz") return Allow("GET") ? Answer({.body = "ok\n"}) : void();
    if (parts.size() == 4 && parts[0] == "discover") return Allow("GET") ? Discover(caller, parts) : void();
    if (parts.size() == 3 && parts[0] == "hints") return Allow("PUT") ? TakeHints(caller, parts) : void();
    Answer(JsonError(404,
                     "no such path; there are /discover/{namespace}/{job}/{group}, "
                     "/hints/{namespace}/{job} and /healthz"));
  }

 private:
  void Answer(HttpResponse response) const { responder_.Answer(std::move(response)); }
  void Answer(const Error& error) const { Answer(JsonError(400, error.message)); }

  bool Allow(const char* method) const {
    if (request_.method == method) return true;
    HttpResponse response = JsonError(405, std::string("only ") + method + " is possible here");
    response.headers = {{"Allow", method}};
    Answer(std::move(response));
    return false;
  }

  std::string BearerToken() const {
    const std::string* header = request_.FindHeader("Authorization");
    if (header == nullptr || !header->starts_with(kBearer)) return "";
    return header->substr(kBearer.size());
  }

  void Discover(const Caller& caller, const std::vector<std::string_view>& parts) const {
    const Result<Key> job = ParseJobKey(parts[1], parts[2]);
    if (!job) return Answer(job.error());
    const Result<std::int64_t> group = ParseGroup(parts[3]);
    if (!group) return Answer(group.error());
    const Result<double> timeout = ParseTimeout(request_);
    if (!timeout) return Answer(timeout.error());
    // Beyond a year it is no time any more; the supervisor's own limit is far below.
    constexpr double kMost = 1e7;
    const std::chrono::duration<double> seconds(std::min(*timeout, kMost));
    const Supervisor::Ticket ticket =
        supervisor_.Discover(caller, *job, *group, std::chrono::ceil<Duration>(seconds),
                             [responder = responder_](const Supervisor::Answer<DiscoveryAnswer>& answer) {
                               if (!answer) return responder.Answer(AsResponse(answer.error()));
                               if (answer->addresses == nullptr)
                                 return responder.Answer(JsonError(408, answer->why));
                               responder.Answer(Json(*answer->addresses));
                             });
    if (ticket == 0) return;
    responder_.OnGone([&clock = clock_, &supervisor = supervisor_, ticket] {
      clock.Post([&supervisor, ticket] { supervisor.StopDiscovering(ticket); });
    });
  }

  void TakeHints(const Caller& caller, const std::vector<std::string_view>& parts) const {
    const Result<Key> job = ParseJobKey(parts[1], parts[2]);
    if (!job) return Answer(job.error());
    std::optional<std::int64_t> group;
    if (const auto given = request_.query.find("group"); given != request_.query.end()) {
      const Result<std::int64_t> parsed = ParseGroup(given->second);
      if (!parsed) return Answer(parsed.error());
      group = *parsed;
    }
    const auto verdict =
        supervisor_.TakeReport(caller, *job, group, [this] { return ParseHints(request_.body); });
    if (!verdict) return Answer(AsResponse(verdict.error()));
    Answer(Json({{"result", ToString(*verdict)}}));
  }

  Clock& clock_;
  Supervisor& supervisor_;
  const HttpRequest request_;
  const Responder responder_;
};

}  // namespace

HttpResponse JsonError(int status, const std::string& message) {
  return {.status = status, .content_type = kJson, .body = ToText(json{{"error", message}})};
}

HttpHandler RestHandler(Clock& clock, Supervisor& supervisor) {
  return [&clock, &supervisor](HttpRequest request, Responder responder) {
    Exchange(clock, supervisor, std::move(request), std::move(responder)).Run();
  };
}

}  // namespace adaptdl
