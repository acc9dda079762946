// What the supervisor does not take, and with what words. No cluster is there: it could be asked for nothing
// but patience anyway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/eventually.h"
#include "tests/e2e/supervisor_fixture.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SupervisorLimits : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(supervisor_->End(SIGTERM), 0);
    if (HasFailure()) std::cerr << supervisor_->process().output();
  }

  const SupervisorProgram& Start(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"--auth", "off"});
    supervisor_ = std::make_unique<SupervisorProgram>(loop_, UnreachableCluster(), std::move(flags));
    return *supervisor_;
  }

  // A poll that waits, once that is known; perhaps from another address of this machine.
  std::unique_ptr<TestClient> Hold(const std::string& job, const char* from = nullptr) {
    auto client = std::make_unique<TestClient>(supervisor_->port(), 0, from);
    client->Send("GET /discover/ns/" + job + "/0 HTTP/1.1\r\nHost: x\r\n\r\n");
    ++held_;
    EXPECT_TRUE(Eventually(loop_, [&] { return supervisor_->Metric("adaptdl_supervisor_polls") == held_; }));
    return client;
  }

  EventLoop loop_;
  std::unique_ptr<SupervisorProgram> supervisor_;
  int held_ = 0;
};

TEST_F(SupervisorLimits, OfARequest) {
  const SupervisorProgram& supervisor = Start();
  const TestReply body = Request(supervisor, "PUT", "/hints/ns/job", "", std::string(65'537, ' '));
  EXPECT_EQ(body.status, 413);
  EXPECT_EQ(ErrorIn(body), "body too long");
  const TestReply header =
      Request(supervisor, "GET", "/discover/ns/job/0", "X: " + std::string(8'192, 'x') + "\r\n");
  EXPECT_EQ(header.status, 431);
  EXPECT_EQ(ErrorIn(header), "header too long");
  const TestReply target = Request(supervisor, "GET", "/discover/ns/job/0?" + std::string(1'024, 'x'));
  EXPECT_EQ(target.status, 414);
  EXPECT_EQ(ErrorIn(target), "target too long");
}

TEST_F(SupervisorLimits, NamesTheFieldThatIsMalformed) {
  const SupervisorProgram& supervisor = Start();
  struct Case {
    const char* method;
    const char* target;
    const char* names;
  };
  const std::vector<Case> cases = {
      {"GET", "/discover/Ns/job/0", "namespace: 'Ns' "},
      {"GET", "/discover/n.s/job/0", "namespace: 'n.s' "},
      {"GET", "/discover/ns/job_0/0", "job: 'job_0' "},
      {"PUT", "/hints/ns/-job", "job: '-job' "},
      {"PUT", "/hints/-ns/job", "namespace: '-ns' "},
      {"GET", "/discover/ns/job/one", "group: 'one' "},
      {"GET", "/discover/ns/job/-1", "group: '-1' "},
      {"GET", "/discover/ns/job/01", "group: '01' "},
      {"GET", "/discover/ns/job/99999999999999999999", "group: '99999999999999999999' "},
      {"PUT", "/hints/ns/job?group=", "group: '' "},
      {"GET", "/discover/ns/job/0?timeout=soon", "timeout: 'soon' "},
      {"GET", "/discover/ns/job/0?timeout=-1", "timeout: '-1' "},
      {"GET", "/discover/ns/job/0?timeout=nan", "timeout: 'nan' "},
      {"GET", "/discover/ns/job/0?timeout=inf", "timeout: 'inf' "},
      {"GET", "/discover/ns/job/0?timeout=", "timeout: '' "},
  };
  for (const Case& one : cases) {
    const TestReply reply = Request(supervisor, one.method, one.target);
    EXPECT_EQ(reply.status, 400) << one.target;
    EXPECT_THAT(ErrorIn(reply), HasSubstr(one.names)) << one.target;
  }
  for (const char* target : {"/discover/ns%2Fjob/0/0", "/discover/ns/job/%", "/a?b=1&b=2"}) {
    const TestReply reply = Request(supervisor, "GET", target);
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_THAT(ErrorIn(reply), Not(IsEmpty())) << target;
  }
}

TEST_F(SupervisorLimits, OfPathsAndMethods) {
  const SupervisorProgram& supervisor = Start();
  const std::pair<const char*, const char*> paths[] = {
      {"/discover/ns/job/0", "GET"}, {"/hints/ns/job", "PUT"}, {"/t/token/hints/ns/job", "PUT"}};
  for (const auto& [path, allowed] : paths) {
    for (const std::string method : {"HEAD", "POST", "DELETE"}) {
      const TestReply reply = Request(supervisor, method, path);
      EXPECT_EQ(reply.status, 405) << method << " " << path;
      EXPECT_THAT(reply.head, HasSubstr(std::string("Allow: ") + allowed + "\r\n"));
      EXPECT_THAT(ErrorIn(reply), HasSubstr(method == "HEAD" ? "" : allowed));
    }
  }
  for (const char* path : {"/", "/discover/ns/job", "/hints/ns", "/t", "/t/token", "/metrics"}) {
    const TestReply reply = Request(supervisor, "GET", path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_THAT(ErrorIn(reply), HasSubstr("/discover/{namespace}/{job}/{group}"));
  }
  EXPECT_EQ(Request(supervisor, "GET", "/healthz").status, 200);
}

TEST_F(SupervisorLimits, OfConnections) {
  const SupervisorProgram& supervisor = Start({"--limits.connections", "2"});
  const auto first = Hold("one");
  auto second = Hold("two", "127.0.0.2");
  const TestReply refused = Request(supervisor, "GET", "/healthz");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorIn(refused), "too many connections");
  // Another one may have the place of one that leaves.
  second->Close();
  EXPECT_TRUE(Eventually(loop_, [&] { return Request(supervisor, "GET", "/healthz").status == 200; }));
}

TEST_F(SupervisorLimits, OfConnectionsOfOneClient) {
  const SupervisorProgram& supervisor = Start({"--limits.connections-per-client", "1"});
  const auto held = Hold("one");
  const TestReply refused = Request(supervisor, "GET", "/healthz");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorIn(refused), "too many connections");
  EXPECT_EQ(TestClient(supervisor.port(), 0, "127.0.0.2").Get("/healthz").status, 200);
}

TEST_F(SupervisorLimits, OfThoseWhoWaitForOneJob) {
  const SupervisorProgram& supervisor = Start({"--limits.waiting-per-job", "2"});
  auto first = Hold("one");
  const auto second = Hold("one");
  const TestReply refused = Request(supervisor, "GET", "/discover/ns/one/1");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(ErrorIn(refused), "too many replicas of this job wait already");
  EXPECT_EQ(Request(supervisor, "GET", "/discover/ns/other/0?timeout=0").status, 408);
  // Those who have left do not wait.
  first->Close();
  EXPECT_TRUE(Eventually(
      loop_, [&] { return Request(supervisor, "GET", "/discover/ns/one/1?timeout=0").status == 408; }));
}

TEST_F(SupervisorLimits, OfRequestsOfOneClientAndAboutOneJob) {
  const SupervisorProgram& supervisor = Start({"--limits.client-rate", "0.1", "--limits.client-burst", "3",
                                               "--limits.job-rate", "0.1", "--limits.job-burst", "2"});
  const auto ask = [&](const std::string& job, const char* from) {
    return TestClient(supervisor.port(), 0, from).Get("/discover/ns/" + job + "/0?timeout=0");
  };
  EXPECT_EQ(ask("one", "127.0.0.1").status, 408);
  EXPECT_EQ(ask("one", "127.0.0.1").status, 408);
  const TestReply about_job = ask("one", "127.0.0.2");
  EXPECT_EQ(about_job.status, 429);
  EXPECT_THAT(about_job.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(ErrorIn(about_job), "too many requests about this job");
  EXPECT_EQ(ask("two", "127.0.0.1").status, 408);
  const TestReply of_client = ask("three", "127.0.0.1");
  EXPECT_EQ(of_client.status, 429);
  EXPECT_THAT(of_client.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(ErrorIn(of_client), "too many requests of this client");
  EXPECT_EQ(ask("three", "127.0.0.2").status, 408);
}

}  // namespace
}  // namespace adaptdl
