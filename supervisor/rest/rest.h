// The supervisor over HTTP, as every published client knows it:
//   GET /healthz
//   GET /discover/{namespace}/{job}/{group}?timeout=30
//   PUT /hints/{namespace}/{job}
// each also behind /t/{token}, which is how clients that send no credentials of their own show their token.
// Others may send it as `Authorization: Bearer`.
#pragma once

#include <string>

#include "cluster/clock.h"
#include "runtime/http.h"
#include "supervisor/supervisor.h"

namespace adaptdl {

// {"error": message}. Also how the server is to word its own refusals.
HttpResponse JsonError(int status, const std::string& message);

// To be called on the clock's thread (see OnClock). Clock and supervisor outlive it, and what it posts.
HttpHandler RestHandler(Clock& clock, Supervisor& supervisor);

}  // namespace adaptdl
