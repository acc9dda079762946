// A watch cache on a real API server while things go wrong: nothing is missed, and nothing is seen out of
// order for one object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "cluster/kube/kube_cluster.h"
#include "runtime/event_loop.h"
#include "runtime/watch_cache.h"
#include "tests/e2e/tcp_proxy.h"
#include "tests/e2e/testbed.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

// One API server for all tests of this program; each of them has a namespace.
std::unique_ptr<Testbed>& Server() {
  static std::unique_ptr<Testbed> server;
  return server;
}

class KubeFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<Testbed>> started = Testbed::Start();
    if (started) {
      Server() = *std::move(started);
    } else {
      why_not_ = started.error().message;
      ASSERT_EQ(started.error().code, ErrorCode::kNotFound) << why_not_;
    }
  }
  static void TearDownTestSuite() { Server().reset(); }

  void SetUp() override {
    if (Server() == nullptr) GTEST_SKIP() << why_not_;
    name_space_ = Server()->MakeNamespace();
    writer_ = Connect(Server()->Connection());
    log_ = Logger("test", {.level = LogLevel::kError});
  }

  static KubeOptions Fast() { return {.requests_per_second = 2000, .burst = 2000}; }
  std::unique_ptr<Cluster> Connect(const KubeConnection& connection, const KubeOptions& options = Fast()) {
    return ConnectToKubernetes(connection, options, loop_).value();
  }
  // To the API server, but by way of a cable that can be cut.
  KubeConnection Through(const TcpProxy& proxy) const {
    KubeConnection connection = Server()->Connection();
    connection.server = "https://127.0.0.1:" + std::to_string(proxy.port());
    return connection;
  }

  // Asks again until it is so: for what nobody tells of.
  bool Eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 300; ++i) {
      if (holds()) return true;
      loop_.RunUntil([] { return false; }, std::chrono::milliseconds(200));
    }
    return false;
  }
  bool RunUntil(const std::function<bool()>& holds) { return loop_.RunUntil(holds, seconds(180)); }

  template <typename T>
  Result<T> Await(const std::function<void(Done<T>)>& call) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) { *answer = std::move(result); });
    EXPECT_TRUE(RunUntil([&] { return answer->has_value(); })) << "no answer";
    return answer->value_or(Fail(ErrorCode::kInternal, "no answer"));
  }
  Result<Page> ListJobs(Cluster& cluster) {
    return Await<Page>([&](Done<Page> done) { cluster.List(Jobs(), 0, "", std::move(done)); });
  }

  Query Jobs() const { return {.kind = Kind::kJob, .name_space = name_space_}; }
  static std::string Name(int i) { return "job-" + std::to_string(i); }
  Document JobDocument(int i) const {
    return Document::Parse(
               R"({"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "metadata": {"name": ")" +
               Name(i) + R"(", "namespace": ")" + name_space_ + R"("}, "spec": {"template": {}}})")
        .value();
  }

  // Both at once for so many jobs, until every answer is there. What the server did not take is tried again.
  void CreateJobs(int count) {
    ForAll(count,
           [&](int i, Done<Object> done) { writer_->Create(Kind::kJob, JobDocument(i), std::move(done)); });
  }
  void SetGroups(int count, int group) {
    ForAll(count, [&](int i, Done<Object> done) {
      const std::string json = R"({"status": {"group": )" + std::to_string(group) + "}}";
      writer_->Apply({.ref = {Kind::kJob, {name_space_, Name(i)}}, .merge = Document::Parse(json).value()},
                     std::move(done));
    });
  }
  void ForAll(int count, const std::function<void(int, Done<Object>)>& call) {
    int left = count;
    std::function<void(int)> attempt = [&](int i) {
      call(i, [&, i](const Result<Object>& result) {
        const bool done = result || result.error().code == ErrorCode::kAlreadyExists;
        if (!done && !result.error().retryable) ADD_FAILURE() << result.error().message;
        if (done || !result.error().retryable) {
          --left;
        } else {
          attempt(i);
        }
      });
    };
    for (int i = 0; i < count; ++i) attempt(i);
    ASSERT_TRUE(RunUntil([&] { return left == 0; }));
  }

  static std::string why_not_;
  EventLoop loop_;
  Logger log_{"test"};
  std::string name_space_;
  std::unique_ptr<Cluster> writer_;
};

std::string KubeFaults::why_not_;

// A cache, and in which order it showed what.
class Follower {
 public:
  Follower(EventLoop& loop, Cluster& cluster, const Query& query, const Logger& log)
      : cache(loop, cluster, query, log) {
    cache.Subscribe([this](const Key& key, const Job*, const Job* after) {
      if (after != nullptr) groups[key.name].push_back(after->status.group.value_or(0));
    });
    cache.Start();
  }

  bool All(int count, int group) const {
    if (cache.size() != static_cast<std::size_t>(count)) return false;
    for (const auto& job : cache.List()) {
      if (job->status.group.value_or(0) != group) return false;
    }
    return true;
  }
  // For one object never backwards; and every step of it where `whole`.
  void ExpectInOrder(bool whole) const {
    for (const auto& [name, seen] : groups) {
      for (std::size_t i = 1; i < seen.size(); ++i) {
        EXPECT_GT(seen[i], seen[i - 1]) << name;
        if (whole) {
          EXPECT_EQ(seen[i], seen[i - 1] + 1) << name;
        }
      }
    }
  }

  std::map<std::string, std::vector<std::int64_t>> groups;
  WatchCache<Job> cache;
};

TEST_F(KubeFaults, ConnectionsCutInTheMiddleOfEvents) {
  TcpProxy proxy(Server()->address(), Server()->port());
  const auto reader = Connect(Through(proxy));
  CreateJobs(20);
  Follower follower(loop_, *reader, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.All(20, 0); }));
  // Lengths that cut within the handshake, within headers, and all over events.
  for (int round = 1; round <= 20; ++round) {
    proxy.CutAfter(static_cast<std::uint64_t>(round % 4 == 0 ? 100 : 1000 + 997 * round));
    SetGroups(20, round);
  }
  proxy.CutAfter(0);
  ASSERT_TRUE(RunUntil([&] { return follower.All(20, 20); }));
  EXPECT_GT(proxy.cuts(), 0);
  follower.ExpectInOrder(true);
  EXPECT_EQ(follower.cache.reflector().stats().lists, 1)
      << "it listed again though the server still knew everything";
}

TEST_F(KubeFaults, HalfOpenConnection) {
  TcpProxy proxy(Server()->address(), Server()->port());
  KubeOptions options = Fast();
  options.watch_min = options.watch_max = seconds(1);
  const auto reader = Connect(Through(proxy), options);
  CreateJobs(1);
  Follower follower(loop_, *reader, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.All(1, 0); }));
  proxy.Freeze();
  SetGroups(1, 1);
  ASSERT_TRUE(RunUntil([&] { return follower.All(1, 1); }));
  EXPECT_EQ(follower.cache.reflector().stats().lists, 1);
}

TEST_F(KubeFaults, ApiServerKilledAndStartedAgain) {
  const auto reader = Connect(Server()->Connection());
  CreateJobs(10);
  Follower follower(loop_, *reader, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.All(10, 0); }));
  for (int round = 1; round <= 3; ++round) {
    Server()->Do({"stop", "apiserver"});
    const Result<Page> refused = ListJobs(*Connect(Server()->Connection(), {.call_deadline = seconds(1)}));
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(refused.error().retryable);
    Server()->Do({"start", "apiserver"});
    SetGroups(10, round);
    ASSERT_TRUE(RunUntil([&] { return follower.All(10, round); }));
  }
  follower.ExpectInOrder(false);
}

TEST_F(KubeFaults, EtcdKilledAndStartedAgain) {
  const auto reader = Connect(Server()->Connection());
  CreateJobs(10);
  Follower follower(loop_, *reader, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.All(10, 0); }));
  Server()->Do({"stop", "etcd"});
  const auto impatient = Connect(Server()->Connection(), {.call_deadline = seconds(1)});
  const Result<Object> lost = Await<Object>(
      [&](Done<Object> done) { impatient->Create(Kind::kJob, JobDocument(99), std::move(done)); });
  EXPECT_THAT(lost.error().code, AnyOf(ErrorCode::kUnavailable, ErrorCode::kTimeout));
  Server()->Do({"start", "etcd"});
  SetGroups(10, 1);
  ASSERT_TRUE(RunUntil([&] { return follower.cache.size() >= 10 && follower.groups["job-9"].back() == 1; }));
  follower.ExpectInOrder(false);
}

TEST_F(KubeFaults, HistoryForgottenWhileCutOff) {
  TcpProxy proxy(Server()->address(), Server()->port());
  const auto reader = Connect(Through(proxy));
  CreateJobs(10);
  Follower follower(loop_, *reader, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.All(10, 0); }));
  proxy.CutAfter(1);
  SetGroups(10, 1);
  const Deletion deletion{.ref = {Kind::kJob, {name_space_, Name(9)}}};
  ASSERT_TRUE(Await<void>([&](Done<void> done) { writer_->Delete(deletion, std::move(done)); }).has_value());
  SetGroups(9, 2);
  Server()->Do({"compact"});
  Server()->Do({"restart", "apiserver"});  // It forgets what it had in memory, too.
  proxy.CutAfter(0);
  ASSERT_TRUE(RunUntil([&] { return follower.All(9, 2); }));
  EXPECT_EQ(follower.cache.Find({name_space_, Name(9)}), nullptr);
  EXPECT_EQ(follower.cache.reflector().stats().lists, 2);
  follower.ExpectInOrder(false);
}

TEST_F(KubeFaults, TwoThousandObjectsChangeAtOnce) {
  constexpr int kCount = 2000;
  const auto reader = Connect(Server()->Connection());
  Follower follower(loop_, *reader, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.cache.ready(); }));
  CreateJobs(kCount);
  for (int round = 1; round <= 2; ++round) SetGroups(kCount, round);
  ASSERT_TRUE(RunUntil([&] { return follower.All(kCount, 2); }));
  EXPECT_EQ(follower.groups.size(), kCount);
  follower.ExpectInOrder(true);
  EXPECT_EQ(follower.cache.reflector().stats().lists, 1);
}

TEST_F(KubeFaults, NobodyWithoutRights) {
  Server()->Do({"user", "nobody", "/CN=nobody"});
  const auto nobody = Connect(Server()->Connection("nobody"));
  const Result<Page> refused = ListJobs(*nobody);
  EXPECT_EQ(refused.error().code, ErrorCode::kForbidden);
  EXPECT_THAT(refused.error().message, HasSubstr("nobody"));
  // A cache says why it cannot begin, and begins once it may.
  WatchCache<Job> cache(loop_, *nobody, Jobs(), log_);
  cache.Start();
  ASSERT_TRUE(RunUntil([&] { return cache.reflector().failure().has_value(); }));
  EXPECT_EQ(cache.reflector().failure()->code, ErrorCode::kForbidden);
  Server()->Kubectl(
      {"create", "clusterrolebinding", "nobody", "--clusterrole=cluster-admin", "--user=nobody"});
  EXPECT_TRUE(RunUntil([&] { return cache.ready() && !cache.reflector().failure().has_value(); }));
}

class KubeFiles : public KubeFaults {
 protected:
  void SetUp() override {
    KubeFaults::SetUp();
    folder_ = (std::filesystem::temp_directory_path() / "adaptdl-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/new") << text;
    std::filesystem::rename(folder_ + "/new", folder_ + "/" + name);
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A service account that may do anything, until it is deleted, and a token of it.
  std::string AccountWithToken(const std::string& name) {
    Server()->Kubectl({"create", "serviceaccount", name, "--namespace", name_space_});
    Server()->Kubectl({"create", "clusterrolebinding", name_space_ + "-" + name,
                       "--clusterrole=cluster-admin", "--serviceaccount=" + name_space_ + ":" + name});
    std::string token = Server()->Do({"token", name, name_space_});
    while (!token.empty() && token.back() == '\n') token.pop_back();
    return token;
  }
  void DeleteAccount(const std::string& name) {
    Server()->Kubectl({"delete", "serviceaccount", name, "--namespace", name_space_});
  }
  // The server of the test bed, without the administrator's certificate.
  KubeConnection Stranger() const {
    KubeConnection connection = Server()->Connection();
    connection.client_certificate = connection.client_key = {};
    return connection;
  }

  std::string folder_;
};

TEST_F(KubeFiles, TokenExpiresAndIsRenewed) {
  Write("token", AccountWithToken("first"));
  KubeConnection connection = Stranger();
  connection.token = {.path = folder_ + "/token"};
  const auto cluster = Connect(connection);
  CreateJobs(1);
  Follower follower(loop_, *cluster, Jobs(), log_);
  ASSERT_TRUE(RunUntil([&] { return follower.All(1, 0); }));
  DeleteAccount("first");  // From now on its token is as good as one that has expired.
  ASSERT_TRUE(Eventually([&] { return !ListJobs(*cluster).has_value(); }));
  EXPECT_EQ(ListJobs(*cluster).error().code, ErrorCode::kForbidden);
  Write("token", AccountWithToken("second"));
  EXPECT_TRUE(Eventually([&] { return ListJobs(*cluster).has_value(); }));
  SetGroups(1, 1);
  EXPECT_TRUE(RunUntil([&] { return follower.All(1, 1); }));
}

TEST_F(KubeFiles, PluginIsAskedAgainWhenItsTokenIsRefused) {
  Write("token", AccountWithToken("third"));
  Write("plugin", "#!/bin/sh\necho >>" + folder_ +
                      "/calls\nprintf '{\"apiVersion\":\"client.authentication.k8s.io/v1\"," +
                      "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%s\"}}' \"$(cat " + folder_ +
                      "/token)\"\n");
  ASSERT_EQ(chmod((folder_ + "/plugin").c_str(), 0700), 0);
  KubeConnection connection = Stranger();
  connection.exec =
      ExecPlugin{.command = folder_ + "/plugin", .api_version = "client.authentication.k8s.io/v1"};
  const auto cluster = Connect(connection);
  EXPECT_TRUE(ListJobs(*cluster).has_value());
  EXPECT_TRUE(ListJobs(*cluster).has_value());
  EXPECT_EQ(Read(folder_ + "/calls"), "\n");
  Write("token", AccountWithToken("fourth"));
  DeleteAccount("third");
  EXPECT_TRUE(
      Eventually([&] { return ListJobs(*cluster).has_value() && Read(folder_ + "/calls") == "\n\n"; }));
}

TEST_F(KubeFiles, AuthorityThatDidNotSignTheServer) {
  const std::string make =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other "
      "-keyout " +
      folder_ + "/key -out " + folder_ + "/other.crt 2>/dev/null";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread changes the environment
  ASSERT_EQ(std::system(make.c_str()), 0);
  Write("ca.crt", Read(folder_ + "/other.crt"));
  KubeConnection connection = Server()->Connection();
  const std::string right = connection.certificate_authority.path.empty()
                                ? connection.certificate_authority.text
                                : Read(connection.certificate_authority.path);
  connection.certificate_authority = {.path = folder_ + "/ca.crt"};
  KubeOptions options = Fast();
  options.call_deadline = seconds(2);
  const auto cluster = Connect(connection, options);
  const Result<Page> refused = ListJobs(*cluster);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("certificate"));
  // The authority is replaced while we run.
  Write("ca.crt", right);
  EXPECT_TRUE(Eventually([&] { return ListJobs(*cluster).has_value(); }));
}

// Too many requests, from the server itself: every call succeeds all the same.
TEST(KubeOverload, CallsWaitTheirTurn) {
  const Result<std::unique_ptr<Testbed>> started =
      Testbed::Start({"--only-api", "--apiserver-flags",
                      "--max-requests-inflight=1 --max-mutating-requests-inflight=1 "
                      "--feature-gates=APIPriorityAndFairness=false"});
  if (!started && started.error().code == ErrorCode::kNotFound) GTEST_SKIP() << started.error().message;
  ASSERT_TRUE(started.has_value()) << started.error().message;
  // The administrator always gets an answer.
  (*started)->Do({"user", "busy", "/CN=busy"});
  (*started)->Kubectl({"create", "clusterrolebinding", "busy", "--clusterrole=cluster-admin", "--user=busy"});
  EventLoop loop;
  std::map<int, int> statuses;
  KubeOptions options{.requests_per_second = 2000, .burst = 2000};
  options.call_deadline = std::chrono::minutes(2);
  options.on_request = [&](std::string_view, Kind, int status) { ++statuses[status]; };
  const auto cluster = ConnectToKubernetes((*started)->Connection("busy"), options, loop).value();
  int done = 0;
  for (int i = 0; i < 100; ++i) {
    cluster->Get({Kind::kNode, {"", "none"}}, [&](const Result<Object>& result) {
      EXPECT_EQ(result.error().code, ErrorCode::kNotFound) << result.error().message;
      ++done;
    });
  }
  EXPECT_TRUE(loop.RunUntil([&] { return done == 100; }, std::chrono::minutes(3)));
  EXPECT_THAT(statuses, Contains(Pair(429, testing::Gt(0))));
}

}  // namespace
}  // namespace adaptdl
