// Questions to the scheduler: a snapshot in, the snapshot that is asked about out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/snapshot.h"
#include "runtime/result.h"

namespace adaptdl {

// Further nodes, called new-1, new-2...: like the template or, where there is none, like the largest node.
Result<Snapshot> AddNodes(Snapshot snapshot, std::int64_t count);

// What ran on it stays in base_allocations: those replicas have lost their node.
Result<Snapshot> RemoveNode(Snapshot snapshot, const std::string& name);

// `text` is JSON: jobs as in a snapshot, {"NAME": {"resources": ...}, ...}, or an AdaptDLJob or a List of
// them, as kubectl prints it. They come as new jobs do: nothing runs yet and, where they do not say when they
// were created, after all others. As for every job, an AdaptDLJob may have at most twice the replicas that it
// has been profiled with.
Result<Snapshot> AddJobs(Snapshot snapshot, std::string_view text);

}  // namespace adaptdl
