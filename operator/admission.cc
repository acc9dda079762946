#include "operator/admission.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "api/json.h"

namespace adaptdl {
namespace {

constexpr int kUnprocessable = 422;
constexpr int kInternalError = 500;
constexpr int kUnavailable = 503;

AdmissionAnswer Refusal(int code, std::string reason, std::string message) {
  return {.allowed = false, .code = code, .reason = std::move(reason), .message = std::move(message)};
}

// `<job>-<group>-<rank>` is to be the name of a host, which is a DNS label.
Result<void> CheckName(const JobCreation& job) {
  constexpr std::size_t kMaxName = 63 - std::string_view("-0-0").size();
  constexpr std::string_view kMadeUp = "xxxxx";  // So many letters the server adds.
  const bool made_up = job.name.empty() && !job.generate_name.empty();
  const std::string& given = made_up ? job.generate_name : job.name;
  const std::string name = made_up ? given + std::string(kMadeUp) : given;
  if (IsJobName(name) && name.find('.') == std::string::npos && name.size() <= kMaxName) return {};
  const std::size_t limit = made_up ? kMaxName - kMadeUp.size() : kMaxName;
  return Invalid(std::string("metadata.") + (made_up ? "generateName" : "name") + ": '" +
                 Printable(given, 80) + "' does not make names of hosts, which its replicas need: at most " +
                 std::to_string(limit) +
                 " lower-case letters, digits and '-', with a letter or digit at both ends");
}

// How many letters are to be put in, taken out or replaced to get from one to the other.
std::size_t Distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : from) {
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t replaced = diagonal + (letter == to[i] ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({replaced, row[i] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string UnknownField(const std::string& name) {
  std::string warning = "unknown field \"" + MemberPath("spec", name) + "\"";
  constexpr std::size_t kTypos = 2;
  constexpr std::size_t kLongest = 40;  // Of what could be meant.
  if (name.size() > kLongest) return warning;
  for (const std::string_view known : kJobSpecFields) {
    if (Distance(name, known) <= kTypos) return warning + "; did you mean \"" + std::string(known) + "\"?";
  }
  return warning;
}

std::vector<std::string> Warnings(const std::vector<std::string>& unknown_fields) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> warnings;
  for (const std::string& name : unknown_fields) {
    if (warnings.size() == kMost) {
      warnings.push_back("and " + std::to_string(unknown_fields.size() - kMost) + " more unknown fields");
      break;
    }
    warnings.push_back(UnknownField(name));
  }
  return warnings;
}

Verdict Judge(const JobCreation& job) {
  Verdict verdict{.answer = {.allowed = true}};
  if (const Result<void> name = CheckName(job); !name) {
    verdict.answer = Refusal(kUnprocessable, "Invalid", name.error().message);
  } else if (!job.spec) {
    verdict.answer = Refusal(kUnprocessable, "Invalid", job.spec.error().message);
  } else {
    verdict.unchecked = job.spec->pod_template;
  }
  verdict.answer.warnings = Warnings(job.unknown_fields);
  return verdict;
}

Verdict Judge(const JobUpdate& job) {
  if (job.changed_fields.empty()) return {{.allowed = true}};
  constexpr std::size_t kShown = 10;
  std::string fixed;
  std::size_t count = 0;
  for (const std::string& name : job.changed_fields) {
    const auto& may_change = kMutableJobSpecFields;
    if (std::find(std::begin(may_change), std::end(may_change), name) != std::end(may_change)) continue;
    if (count++ < kShown) fixed += (fixed.empty() ? "" : ", ") + MemberPath("spec", name);
  }
  if (count > kShown) fixed += " and " + std::to_string(count - kShown) + " more";
  if (count > 0) {
    return {Refusal(kUnprocessable, "Forbidden",
                    fixed + ": cannot change in a job that is there; only suspend, minReplicas and "
                            "maxReplicas can")};
  }
  if (!job.mutable_part) return {Refusal(kUnprocessable, "Invalid", job.mutable_part.error().message)};
  return {{.allowed = true}};
}

Verdict Judge(std::monostate /*something else*/) { return {{.allowed = true}}; }

// What is left to do about one request.
struct Pending {
  AdmissionRequest request;
  AdmissionAnswer answer;
  std::optional<Responder> responder;  // Until it has been answered.
  Timer timer = {};
};

class Desk {
 public:
  Desk(Clock& clock, Cluster& cluster, Logger log, Counter reviews, Duration deadline)
      : clock_(clock),
        cluster_(cluster),
        log_(std::move(log)),
        reviews_(std::move(reviews)),
        deadline_(deadline) {}

  // The answer may come later than the end of this.
  static void Take(const std::shared_ptr<const Desk>& desk, const HttpRequest& http,
                   const Responder& responder) {
    if (http.path != "/validate") return responder.Answer({.status = 404, .body = "not found\n"});
    if (http.method != "POST") {
      return responder.Answer({.status = 405, .body = "only POST\n", .headers = {{"Allow", "POST"}}});
    }
    Result<AdmissionRequest> request = ParseAdmissionReview(http.body);
    if (!request) return desk->RefuseRubbish(request.error(), http, responder);
    Verdict verdict = adaptdl::Judge(*request);
    const auto pending =
        std::make_shared<Pending>(Pending{*std::move(request), std::move(verdict.answer), responder});
    if (!verdict.unchecked) return desk->Answer(*pending);
    pending->timer = desk->clock_.After(desk->deadline_, [desk, weak = std::weak_ptr(pending)] {
      const auto held = weak.lock();
      if (held != nullptr) desk->Finish(*held, Fail(ErrorCode::kTimeout, "no answer in time", true));
    });
    desk->cluster_.CheckTemplate(
        pending->request.job.name_space, *verdict.unchecked,
        [desk, pending](const Result<void>& checked) { desk->Finish(*pending, checked); });
  }

 private:
  void RefuseRubbish(const Error& error, const HttpRequest& http, const Responder& responder) const {
    log_.Info("not an AdmissionReview", {{"peer", http.peer}, {"why", error.message}});
    reviews_.Increment({"failed"});
    responder.Answer({.status = 400, .body = "not an AdmissionReview: " + error.message + "\n"});
  }

  void Finish(Pending& pending, const Result<void>& checked) const {
    if (!pending.responder) return;
    pending.answer = AfterCheck(std::move(pending.answer), checked);
    Answer(pending);
  }

  void Answer(Pending& pending) const {
    const AdmissionAnswer& answer = pending.answer;
    const bool failed = answer.code >= kInternalError;
    if (!answer.allowed) {
      log_.Log(failed ? LogLevel::kWarn : LogLevel::kInfo, "job refused",
               {{"job", ToString(pending.request.job)}, {"code", answer.code}, {"why", answer.message}});
    }
    reviews_.Increment({answer.allowed ? "allowed" : failed ? "failed" : "denied"});
    pending.timer.reset();
    const Responder responder = *std::exchange(pending.responder, std::nullopt);
    responder.Answer(
        {.content_type = "application/json", .body = AdmissionReviewText(pending.request.uid, answer)});
  }

  Clock& clock_;
  Cluster& cluster_;
  const Logger log_;
  const Counter reviews_;
  const Duration deadline_;
};

}  // namespace

Verdict Judge(const AdmissionRequest& request) {
  return std::visit([](const auto& wish) { return Judge(wish); }, request.wish);
}

AdmissionAnswer AfterCheck(AdmissionAnswer answer, const Result<void>& checked) {
  if (checked) return answer;
  const Error& error = checked.error();
  AdmissionAnswer refusal;
  if (error.code == ErrorCode::kInvalid) {
    refusal = Refusal(kUnprocessable, "Invalid", error.message);
  } else {
    const bool later = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
    refusal = Refusal(later ? kUnavailable : kInternalError, later ? "ServiceUnavailable" : "InternalError",
                      "the pod template could not be checked: " + error.message);
  }
  refusal.warnings = std::move(answer.warnings);
  return refusal;
}

HttpHandler AdmissionHandler(Clock& clock, Cluster& cluster, Logger log, Counter reviews, Duration deadline) {
  const auto desk =
      std::make_shared<const Desk>(clock, cluster, std::move(log), std::move(reviews), deadline);
  return [desk](const HttpRequest& request, const Responder& responder) {
    Desk::Take(desk, request, responder);
  };
}

}  // namespace adaptdl
