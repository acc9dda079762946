#include "cluster/kube/kube_cluster.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cluster/kube/scripted_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/event_loop.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;
using std::chrono::milliseconds;
using std::chrono::seconds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

const Ref kLease{Kind::kLease, {"ns", "a"}};

std::string LeaseText(const std::string& version, const std::string& holder = "me") {
  return R"({"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":")" + version +
         R"("},"spec":{"holderIdentity":")" + holder + "\"}}";
}
std::string EventText(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

class ThreadsKubeCluster : public testing::Test {
 protected:
  void Serve(ScriptedServer::Handler handler) {
    server_ = std::make_unique<ScriptedServer>(std::move(handler));
    connection_.server = server_->url();
    Connect();
  }
  void Connect() {
    options_.requests_per_second = 1e6;
    options_.on_request = [this](std::string_view verb, Kind kind, int status) {
      seen_.push_back(std::string(verb) + " " + std::string(ToString(kind)) + " " + std::to_string(status));
    };
    cluster_ = *ConnectToKubernetes(connection_, options_, loop_);
  }

  bool Until(const std::function<bool()>& holds) { return loop_.RunUntil(holds, seconds(60)); }

  // The answer of a call, which is given as what is to be called with the `done`.
  template <typename T, typename Call>
  Result<T> Wait(Call call) {
    std::optional<Result<T>> got;
    call([&](Result<T> result) { got = std::move(result); });
    EXPECT_FALSE(got) << "answered inside the call";
    EXPECT_TRUE(Until([&] { return got.has_value(); }));
    return *got;
  }
  Result<Object> Get() {
    return Wait<Object>([&](Done<Object> done) { cluster_->Get(kLease, std::move(done)); });
  }
  Result<Object> Create() {
    const Document lease = *Document::Parse(LeaseText(""));
    return Wait<Object>([&](Done<Object> done) { cluster_->Create(Kind::kLease, lease, std::move(done)); });
  }
  // All events of one watch with the error at its end.
  std::vector<Result<WatchEvent>> Watched(const std::string& version = "1") {
    std::vector<Result<WatchEvent>> events;
    const auto watch = cluster_->WatchFrom({.kind = Kind::kLease}, version, [&](Result<WatchEvent> event) {
      events.push_back(std::move(event));
    });
    EXPECT_TRUE(Until([&] { return !events.empty() && !events.back(); }));
    return events;
  }

  EventLoop loop_;
  KubeConnection connection_;
  KubeOptions options_;
  std::vector<std::string> seen_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(ThreadsKubeCluster, Requests) {
  Serve([](const Request& request, const Reply& reply) {
    const bool list = request.method == "GET" && request.target.find('?') != std::string::npos;
    reply.Answer(200, list ? R"({"metadata":{"resourceVersion":"9"},"items":[]})" : LeaseText("7"));
  });
  const auto got = Get();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(std::get<Lease>(*got).holder, "me");
  EXPECT_TRUE(Create());
  const Patch patch{.ref = kLease,
                    .merge = *Document::Parse(R"({"status":{"x":null},"metadata":{"labels":{"a":"b"}}})"),
                    .resource_version = "7"};
  EXPECT_TRUE(Wait<Object>([&](Done<Object> done) { cluster_->Apply(patch, std::move(done)); }));
  const Deletion deletion{
      .ref = kLease, .precondition = {.uid = "u", .resource_version = "7"}, .grace = seconds(0)};
  EXPECT_TRUE(Wait<void>([&](Done<void> done) { cluster_->Delete(deletion, std::move(done)); }));
  const auto page = Wait<Page>([&](Done<Page> done) {
    cluster_->List({.kind = Kind::kNode, .labels = {{"x", "y"}}}, 5, "tok", std::move(done));
  });
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "9");

  const auto requests = server_->requests();
  ASSERT_EQ(requests.size(), 5);
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";
  EXPECT_EQ(requests[0].method + requests[0].target, "GET" + path + "/a");
  EXPECT_EQ(requests[1].method + requests[1].target, "POST" + path);
  EXPECT_EQ(json::parse(requests[1].body)["apiVersion"], "coordination.k8s.io/v1");
  EXPECT_EQ(json::parse(requests[1].body)["kind"], "Lease");
  EXPECT_EQ(requests[2].method + requests[2].target, "PATCH" + path + "/a/status");
  EXPECT_EQ(requests[2].headers.at("content-type"), "application/merge-patch+json");
  EXPECT_EQ(json::parse(requests[2].body), json::parse(R"({"status":{"x":null},
      "metadata":{"resourceVersion":"7"}})"));
  EXPECT_EQ(requests[3].method + requests[3].target, "DELETE" + path + "/a");
  EXPECT_EQ(json::parse(requests[3].body), json::parse(R"({"apiVersion":"v1","kind":"DeleteOptions",
      "propagationPolicy":"Background","gracePeriodSeconds":0,"preconditions":{"uid":"u","resourceVersion":"7"}})"));
  EXPECT_EQ(requests[4].target, "/api/v1/nodes?labelSelector=x%3Dy&limit=5&continue=tok");
  EXPECT_THAT(seen_, ElementsAre("get Lease 200", "create Lease 200", "patch Lease 200", "delete Lease 200",
                                 "list Node 200"));
}

TEST_F(ThreadsKubeCluster, RefusalsAndNonsense) {
  Serve([](const Request& request, const Reply& reply) {
    if (request.method == "GET") return reply.Answer(200, "rubbish");
    reply.Answer(409, R"({"kind":"Status","reason":"AlreadyExists","message":"there is one"})");
  });
  EXPECT_EQ(Get().error().code, ErrorCode::kInternal);
  EXPECT_EQ(Create().error(),
            (Error{ErrorCode::kAlreadyExists, "create Lease ns/a: there is one (409 AlreadyExists)", false}));
  const auto bad = Wait<Object>([&](Done<Object> done) {
    cluster_->Get({Kind::kPod, {"ns", ".."}}, std::move(done));
  });
  EXPECT_EQ(bad.error(), (Error{ErrorCode::kInvalid, "get Pod ns/..: name: '..' is no name", false}));
}

TEST_F(ThreadsKubeCluster, ChecksATemplateByADryRun) {
  std::atomic<int> count = 0;
  Serve([&](const Request&, const Reply& reply) {
    switch (++count) {
      case 1:
        return reply.Answer(201, "{}");
      case 2:  // Doing it twice does no harm.
        return reply.Cut();
      case 3:
        return reply.Answer(422, R"({"kind":"Status","reason":"Invalid","message":"no image"})");
      default:
        return reply.Answer(403, R"({"kind":"Status","reason":"Forbidden","message":"not you"})");
    }
  });
  const PodTemplate pod_template(json::parse(R"({"spec":{"containers":[]}})"));
  const auto check = [&](const std::string& name_space) {
    return Wait<void>(
        [&](Done<void> done) { cluster_->CheckTemplate(name_space, pod_template, std::move(done)); });
  };
  EXPECT_TRUE(check("ns"));
  EXPECT_EQ(check("ns").error(), (Error{ErrorCode::kInvalid, "no image", false}));
  EXPECT_EQ(check("ns").error(),
            (Error{ErrorCode::kForbidden, "check a pod template in ns: not you (403 Forbidden)", false}));
  EXPECT_EQ(check("..").error().code, ErrorCode::kInvalid);
  const auto requests = server_->requests();
  ASSERT_EQ(requests.size(), 4);
  EXPECT_EQ(requests[0].method + requests[0].target, "POST/api/v1/namespaces/ns/podtemplates?dryRun=All");
  EXPECT_EQ(json::parse(requests[0].body), json::parse(R"({"apiVersion":"v1","kind":"PodTemplate",
      "metadata":{"generateName":"adaptdljob-"},"template":{"spec":{"containers":[]}}})"));
  EXPECT_THAT(seen_, ElementsAre("create Pod 201", "create Pod 0", "create Pod 422", "create Pod 403"));
}

TEST_F(ThreadsKubeCluster, TriesAgainWhatDoesNoHarm) {
  std::atomic<int> count = 0;
  Serve([&](const Request& request, const Reply& reply) {
    const int n = ++count;
    if (n == 1) return reply.Cut();
    if (n == 2) return reply.Answer(500, "");
    if (n == 3) return reply.Answer(429, "");
    reply.Answer(request.method == "GET" || n > 5 ? 200 : 429, LeaseText("7"));
  });
  EXPECT_TRUE(Get());
  EXPECT_TRUE(Create());  // Refused once before: too many requests.
  EXPECT_THAT(seen_, ElementsAre("get Lease 0", "get Lease 500", "get Lease 429", "get Lease 200",
                                 "create Lease 429", "create Lease 200"));
}

TEST_F(ThreadsKubeCluster, RespectsRetryAfter) {
  std::atomic<int> count = 0;
  Serve([&](const Request&, const Reply& reply) {
    if (++count == 1) return reply.Answer(503, "", "Retry-After: 1\r\n");
    reply.Answer(200, LeaseText("7"));
  });
  const Instant start = loop_.Now();
  EXPECT_TRUE(Create());
  EXPECT_GE(loop_.Now() - start, seconds(1));
}

TEST_F(ThreadsKubeCluster, AWriteThatMayHaveHappenedIsNotRepeated) {
  std::atomic<int> count = 0;
  Serve([&](const Request&, const Reply& reply) {
    ++count;
    reply.Cut();
  });
  const auto cut = Create();
  EXPECT_EQ(cut.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(cut.error().retryable);
  EXPECT_EQ(count, 1);
}

TEST_F(ThreadsKubeCluster, GivesUpAtTheDeadline) {
  options_.call_deadline = milliseconds(300);
  Serve([](const Request& request, const Reply& reply) {
    if (request.method == "GET") return reply.Answer(503, "busy");
    reply.WaitForClose();
  });
  EXPECT_EQ(Get().error(), (Error{ErrorCode::kUnavailable, "get Lease ns/a: busy (503)", true}));
  EXPECT_EQ(Create().error().code, ErrorCode::kTimeout);
  server_.reset();  // Nobody there.
  EXPECT_EQ(Create().error().code, ErrorCode::kUnavailable);
}

TEST_F(ThreadsKubeCluster, FreshCredentialsAfterARefusal) {
  const std::string file = testing::TempDir() + "kube_cluster_" + std::to_string(getpid());
  std::ofstream(file) << "old";
  connection_.token.path = file;
  Serve([&](const Request& request, const Reply& reply) {
    if (request.headers.at("authorization") == "Bearer new") return reply.Answer(200, LeaseText("7"));
    std::ofstream(file) << (request.method == "GET" ? "new" : "other");
    reply.Answer(401, R"({"kind":"Status","reason":"Unauthorized","message":"no"})");
  });
  EXPECT_TRUE(Get());
  std::ofstream(file) << "old";
  Connect();
  EXPECT_EQ(Create().error(),
            (Error{ErrorCode::kForbidden, "create Lease ns/a: no (401 Unauthorized)", false}));
  EXPECT_THAT(seen_, ElementsAre("get Lease 401", "get Lease 200", "create Lease 401", "create Lease 401"));
  std::filesystem::remove(file);
}

TEST_F(ThreadsKubeCluster, WatchDribbled) {
  Serve([](const Request&, const Reply& reply) {
    reply.BeginStream();
    for (const char c : EventText("ADDED", LeaseText("2")) + EventText("DELETED", LeaseText("3")))
      reply.Piece({&c, 1});
    reply.EndStream();
  });
  const auto events = Watched();
  ASSERT_EQ(events.size(), 3);
  EXPECT_EQ(events[0]->resource_version, "2");
  EXPECT_EQ(events[1]->type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(events[2].error(), (Error{ErrorCode::kUnavailable, "watch Lease: the stream has ended", true}));
  EXPECT_THAT(server_->requests()[0].target, HasSubstr("watch=1&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_THAT(server_->requests()[0].target, HasSubstr("&resourceVersion=1"));
}

TEST_F(ThreadsKubeCluster, WatchEnds) {
  const struct {
    ScriptedServer::Handler handler;
    std::size_t events;
    ErrorCode code;
  } cases[] = {
      {[](const Request&, const Reply& reply) {
         reply.Answer(410, R"({"kind":"Status","reason":"Expired"})");
       },
       0, ErrorCode::kGone},
      {[](const Request&, const Reply& reply) {
         reply.BeginStream();
         reply.Piece(EventText("ADDED", LeaseText("2")) +
                     EventText("ERROR", R"({"kind":"Status","code":410})") +
                     EventText("ADDED", LeaseText("3")));
         reply.WaitForClose();
       },
       1, ErrorCode::kGone},
      {[](const Request&, const Reply& reply) {
         reply.BeginStream();
         reply.Piece(EventText("ADDED", LeaseText("2")) + "{\"type");
         reply.Cut();
       },
       1, ErrorCode::kUnavailable},
      {[](const Request&, const Reply& reply) {
         reply.BeginStream();
         reply.Piece("rubbish\n");
         reply.WaitForClose();
       },
       0, ErrorCode::kInternal},
      {[](const Request&, const Reply& reply) { reply.Answer(403, ""); }, 0, ErrorCode::kForbidden},
  };
  for (const auto& one : cases) {
    cluster_.reset();
    Serve(one.handler);
    const auto events = Watched();
    EXPECT_EQ(events.size(), one.events + 1);
    EXPECT_EQ(events.back().error().code, one.code) << events.back().error().message;
    EXPECT_EQ(events.back().error().retryable, one.code == ErrorCode::kUnavailable);
  }
  EXPECT_EQ(Watched("").back().error().code, ErrorCode::kInvalid);
}

TEST_F(ThreadsKubeCluster, WatchOfAHugeObject) {
  Serve([](const Request&, const Reply& reply) {
    const std::string text = EventText("ADDED", LeaseText("2", std::string(10 << 20, 'x')));
    const std::string_view bytes = text;
    reply.BeginStream();
    for (std::size_t at = 0; at < text.size(); at += 16384) reply.Piece(bytes.substr(at, 16384));
    reply.EndStream();
  });
  const auto events = Watched();
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(std::get<Lease>(*events[0]->object).holder.size(), 10 << 20);
}

TEST_F(ThreadsKubeCluster, NothingComesAfterTheWatchIsGone) {
  Serve([](const Request& request, const Reply& reply) {
    if (request.target.find("watch") == std::string::npos) return reply.Answer(200, LeaseText("7"));
    reply.BeginStream();
    reply.Piece(EventText("ADDED", LeaseText("2")) + EventText("ADDED", LeaseText("3")));
    reply.WaitForClose();
  });
  int events = 0;
  std::unique_ptr<Watch> watch =
      cluster_->WatchFrom({.kind = Kind::kLease}, "1", [&](const Result<WatchEvent>&) {
        ++events;
        watch.reset();  // In its own handler, with another event right behind.
      });
  EXPECT_TRUE(Until([&] { return events > 0; }));
  EXPECT_TRUE(Get());  // Meanwhile, anything else that was posted has run.
  EXPECT_EQ(events, 1);
}

TEST_F(ThreadsKubeCluster, NothingComesAfterTheClusterIsGone) {
  Serve([](const Request& request, const Reply& reply) {
    if (request.target.find("watch") == std::string::npos) return reply.WaitForClose();
    reply.BeginStream();
    reply.Piece(EventText("ADDED", LeaseText("2")) + EventText("ADDED", LeaseText("3")));
    reply.WaitForClose();
  });
  auto held = std::make_shared<int>();
  cluster_->Get(kLease, [held](const Result<Object>&) { ADD_FAILURE(); });
  cluster_->Get({Kind::kPod, {"", ""}}, [](const Result<Object>&) {});
  int events = 0;
  const auto watch = cluster_->WatchFrom({.kind = Kind::kLease}, "1", [&, held](const Result<WatchEvent>&) {
    ++events;
    cluster_.reset();  // In a handler, with another event right behind.
  });
  EXPECT_TRUE(Until([&] { return events > 0; }));
  EXPECT_EQ(events, 1);
  bool last = false;
  loop_.Post([&] { last = true; });
  EXPECT_TRUE(Until([&] { return last; }));
  EXPECT_EQ(events, 1);
  EXPECT_EQ(held.use_count(), 2);  // Here and in the handler of the watch.
}

TEST_F(ThreadsKubeCluster, RestartsOfAWatchDoNotGrow) {
  constexpr int kRestarts = kSanitized ? 1'000 : 100'000;
  constexpr std::size_t kMegabyte = 1 << 20;
  const auto resident = [] {
    std::size_t size = 0;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> size >> pages;
    return pages * 4096;
  };
  options_.burst = 1e6;
  Serve([](const Request&, const Reply& reply) {
    reply.BeginStream();
    reply.Piece(EventText("MODIFIED", LeaseText("2")));
    reply.EndStream();
  });
  server_->Forget();
  options_.on_request = {};
  cluster_ = *ConnectToKubernetes(connection_, options_, loop_);
  int ends = 0;
  int events = 0;
  std::unique_ptr<Watch> watch;
  std::function<void()> start = [&] {
    watch = cluster_->WatchFrom({.kind = Kind::kLease}, "1", [&](const Result<WatchEvent>& event) {
      ++(event ? events : ends);
      if (event) return;
      loop_.Post(start);
    });
  };
  start();
  const auto run_to = [&](int count) {
    return loop_.RunUntil([&] { return ends >= count; }, std::chrono::minutes(9));
  };
  ASSERT_TRUE(run_to(kRestarts / 10));
  const std::size_t before = resident();
  ASSERT_TRUE(run_to(kRestarts));
  const std::size_t after = resident();
  EXPECT_EQ(events, ends);
  if (!kSanitized) {
    EXPECT_LT(after, before + 4 * kMegabyte);
  }
}

}  // namespace
}  // namespace adaptdl
