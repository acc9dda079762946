// Objects and queries as the API server names them in URLs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/cluster.h"
#include "runtime/result.h"

namespace adaptdl {

std::string_view ApiVersionOf(Kind kind);  // "adaptdl.petuum.com/v1", "v1", ...

// The path of one object. Refused (kInvalid): a name that is empty or could be read as more than one step of
// a path, a namespace where the kind has none, or none where it has one.
Result<std::string> ObjectPath(const Ref& ref);

// The path of all objects of a kind in one namespace, for a new one.
Result<std::string> CollectionPath(Kind kind, const std::string& name_space);

// Path and query of a new pod template that is checked but not kept.
Result<std::string> TemplateCheckTarget(const std::string& name_space);

// Path and query of a list or a watch. Labels that could not be labels are refused.
Result<std::string> ListTarget(const Query& query, std::size_t limit, const std::string& token);
Result<std::string> WatchTarget(const Query& query, const std::string& resource_version,
                                std::chrono::seconds timeout);

}  // namespace adaptdl
