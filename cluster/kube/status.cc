#include "cluster/kube/status.h"

#include <string>

#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

std::string TextMember(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json* Member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

ErrorCode CodeOf(int status, const std::string& reason) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? ErrorCode::kAlreadyExists : ErrorCode::kConflict;
    case 410:
      return ErrorCode::kGone;
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return ErrorCode::kInvalid;
    case 408:
    case 504:
      return ErrorCode::kTimeout;
    case 429:
      return ErrorCode::kUnavailable;
    default:
      return status >= 500 && status <= 599 ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  }
}

}  // namespace

Error ErrorFromStatus(const json& status, int code, std::string_view what) {
  if (const json* own = Member(status, "code"); own != nullptr && own->is_number_integer()) {
    if (const auto value = own->get<std::int64_t>(); value >= 400 && value <= 599)
      code = static_cast<int>(value);
  }
  const std::string reason = TextMember(status, "reason");
  const std::string message = TextMember(status, "message");
  constexpr std::size_t kShown = 500;
  constexpr std::size_t kShownAlone = 2000;  // Somebody has to mend what it names.
  constexpr std::size_t kShownReason = 50;
  std::string text = message.empty() ? "refused" : Printable(message, what.empty() ? kShownAlone : kShown);
  if (!what.empty()) {
    text = std::string(what) + ": " + text + " (" + std::to_string(code) +
           (reason.empty() ? "" : " " + Printable(reason, kShownReason)) + ")";
  }
  const ErrorCode mapped = CodeOf(code, reason);
  return {mapped, std::move(text), mapped == ErrorCode::kUnavailable || mapped == ErrorCode::kTimeout};
}

Error ErrorFromAnswer(int http_status, std::string_view body, std::string_view what) {
  json status = json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  // What is no Status comes from somebody in between; his own words may help all the same.
  if (TextMember(status, "kind") != "Status") status = {{"message", body.substr(0, body.find('\n'))}};
  // A body that tells another code than HTTP did is not believed.
  status.erase("code");
  return ErrorFromStatus(status, http_status, what);
}

}  // namespace adaptdl
