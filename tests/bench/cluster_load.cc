// Load for tests/bench/cluster_costs, on the cluster of $KUBECONFIG:
//   cluster_load create N     N pods in the namespace bench
//   cluster_load change N     N changes to them, one after the other in turn
//   cluster_load follow N     lists and watches them until N events have come, then says what that cost
//   cluster_load watches W N  W watches of them on one client, until each has seen N events
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/trim.h"
#include "cluster/kube/kube_cluster.h"
#include "runtime/environment.h"
#include "runtime/event_loop.h"
#include "runtime/watch_cache.h"
#include "tests/bench/pods.h"

namespace adaptdl {
namespace {

constexpr const char* kNamespace = "bench";
constexpr auto kLimit = std::chrono::minutes(10);

// Of this process, to other ones.
int Connections() {
  constexpr int kDescriptors = 1024;
  int connections = 0;
  for (int descriptor = 0; descriptor < kDescriptors; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const bool connected = getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    connections += connected && peer.ss_family != AF_UNIX ? 1 : 0;
  }
  return connections;
}

void Report(const char* what) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  std::printf("%s: %.2f CPU-s, %ld MB peak, connections: %d\n", what,
              seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss / 1024, Connections());
}

int Failed(const Error& error) {
  std::fprintf(stderr, "cluster_load: %s\n", error.message.c_str());
  return 1;
}

class Load {
 public:
  Load() {
    KubeOptions options{.requests_per_second = 5000, .burst = 5000};
    options.call_deadline = std::chrono::minutes(1);
    cluster_ = ConnectToKubernetes(FindConnection(ProcessEnvironment()).value(), options, loop_).value();
  }

  int Create(int count) {
    return ForAll(count, [&](int i, Done<Object> done) {
      cluster_->Create(Kind::kPod, Document::Parse(PodJson(kNamespace, i)).value(), std::move(done));
    });
  }

  int Change(int count) {
    const Result<Page> page = List(0);
    if (!page) return Failed(page.error());
    const std::vector<Object>& pods = page->objects;
    return ForAll(count, [&](int i, Done<Object> done) {
      const Metadata& pod = MetadataOf(pods[static_cast<std::size_t>(i) % pods.size()]);
      // Not what an earlier call wrote: that would be no change.
      const std::string merge = R"({"metadata": {"annotations": {"changed": ")" + pod.resource_version + "-" +
                                std::to_string(i) + R"("}}})";
      cluster_->Apply({.ref = {Kind::kPod, KeyOf(pod)},
                       .part = Patch::Part::kMain,
                       .merge = Document::Parse(merge).value()},
                      std::move(done));
    });
  }

  int Follow(std::uint64_t events) {
    const Logger log("follow");
    WatchCache<Pod> cache(loop_, *cluster_, {.name_space = kNamespace}, log, {.trim = Trim});
    cache.WhenReady([&] {
      std::printf("listed %zu\n", cache.size());
      std::fflush(stdout);
    });
    std::uint64_t seen = 0;
    cache.Subscribe([&](const Key&, const Pod* before, const Pod*) { seen += before != nullptr ? 1 : 0; });
    cache.Start();
    if (!loop_.RunUntil([&] { return seen >= events; }, kLimit)) return 1;
    Report("list and watch");
    return 0;
  }

  int Watches(std::size_t count, std::size_t events) {
    const Result<Page> page = List(1);
    if (!page) return Failed(page.error());
    std::vector<std::unique_ptr<Watch>> watches;
    std::vector<std::size_t> seen(count);
    std::size_t complete = 0;
    std::optional<Error> failure;
    for (std::size_t i = 0; i < count; ++i) {
      const auto on_event = [&, i](const Result<WatchEvent>& event) {
        if (!event) {
          failure = event.error();
        } else if (event->object && ++seen[i] == events) {
          ++complete;
        }
      };
      watches.push_back(cluster_->WatchFrom({.kind = Kind::kPod, .name_space = kNamespace},
                                            page->resource_version, on_event));
    }
    std::printf("watching\n");
    std::fflush(stdout);
    loop_.RunUntil([&] { return complete == count || failure; }, kLimit);
    if (failure) return Failed(*failure);
    if (complete != count) return 1;
    Report("watches");
    return 0;
  }

 private:
  int ForAll(int count, const std::function<void(int, Done<Object>)>& call) {
    constexpr int kAtOnce = 64;
    int next = 0;
    int done = 0;
    std::optional<Error> failure;
    std::function<void()> start = [&] {
      if (next == count) return;
      call(next++, [&](const Result<Object>& result) {
        ++done;
        if (!result) failure = result.error();
        start();
      });
    };
    for (int i = 0; i < kAtOnce; ++i) start();
    loop_.RunUntil([&] { return done == count || failure; }, kLimit);
    if (failure) return Failed(*failure);
    return done == count ? 0 : 1;
  }

  Result<Page> List(std::size_t limit) {
    Result<Page> page = Fail(ErrorCode::kTimeout, "no list in time");
    bool answered = false;
    cluster_->List({.kind = Kind::kPod, .name_space = kNamespace}, limit, "", [&](Result<Page> got) {
      page = std::move(got);
      answered = true;
    });
    loop_.RunUntil([&] { return answered; }, kLimit);
    return page;
  }

  EventLoop loop_;
  std::unique_ptr<Cluster> cluster_;
};

int Run(const std::vector<std::string>& args) {
  if (args.size() < 2) return 2;
  Load load;
  const int count = std::atoi(args[1].c_str());
  if (args[0] == "create") return load.Create(count);
  if (args[0] == "change") return load.Change(count);
  if (args[0] == "follow") return load.Follow(static_cast<std::uint64_t>(count));
  if (args[0] == "watches" && args.size() == 3) {
    return load.Watches(static_cast<std::size_t>(count),
                        static_cast<std::size_t>(std::atoi(args[2].c_str())));
  }
  return 2;
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Run(std::vector<std::string>(argv + 1, argv + argc)); }
