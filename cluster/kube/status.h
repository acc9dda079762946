// What the API server's refusals mean to the port. Pure.
#pragma once

#include <string_view>

#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// An HTTP status that is no success, with the body that came along: a metav1.Status, or anything. `what` says
// what was tried ("patch Pod ns/name") and begins the message; where it is empty, the message is what the
// server says and nothing else.
Error ErrorFromAnswer(int http_status, std::string_view body, std::string_view what);

// A metav1.Status; `code` counts where it names none.
Error ErrorFromStatus(const nlohmann::json& status, int code, std::string_view what);

}  // namespace adaptdl
