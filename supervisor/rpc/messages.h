// What comes over gRPC, in the project's own types; and back.
#pragma once

#include <string>
#include <string_view>

#include "api/hints.h"
#include "cluster/clock.h"
#include "runtime/result.h"

namespace google::protobuf {
class Duration;
}

namespace adaptdl {

namespace v1 {
class Hints;
}

// With the rules of every other report, and their words. Messages give the path below `hints`.
Result<Hints> ReadHints(const v1::Hints& message);

// Not negative. What is longer than a day becomes a day: nobody waits longer here.
Result<Duration> ReadTimeout(const google::protobuf::Duration& message);

// The token in a header `authorization: Bearer TOKEN`; empty where it is of another kind.
std::string BearerToken(std::string_view authorization);

// "10.0.0.1" of "ipv4:10.0.0.1:5000", "fd00::1" of "ipv6:%5Bfd00::1%5D:5000". Anything else as it is.
std::string PeerAddress(std::string_view peer);

}  // namespace adaptdl
