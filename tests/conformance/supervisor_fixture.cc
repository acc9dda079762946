#include <gtest/gtest.h>

#include <algorithm>

#include "api/json.h"
#include "api/replica.h"
#include "nlohmann/json.hpp"
#include "supervisor/rest/rest.h"
#include "tests/conformance/supervisor_conformance.h"

namespace adaptdl {

using nlohmann::json;

namespace {

TokenKeys Keys() { return TokenKeys::Parse(std::string(40, 'k')).value(); }

}  // namespace

void SupervisorTable::SetUp() {
  Conformance::SetUp();
  if (!IsSkipped()) StartSupervisor();
}

void SupervisorTable::TearDown() { LoseSupervisor(); }

void SupervisorTable::StartSupervisor(AuthMode auth) {
  LoseSupervisor();
  SupervisorOptions options;
  options.name_space = name_space();
  options.auth = auth;
  options.keys = Keys();
  supervisor_ = std::make_unique<Supervisor>(clock(), cluster(), options,
                                             Logger("supervisor", {.level = LogLevel::kError}));
  handler_ = RestHandler(clock(), *supervisor_);
  ASSERT_TRUE(RunUntil([&] { return supervisor_->ready(); }));
}

void SupervisorTable::LoseSupervisor() {
  handler_ = nullptr;
  supervisor_.reset();
}

SupervisorTable::ExchangePtr SupervisorTable::Send(const std::string& method, const std::string& target,
                                                   const std::string& body, const HttpHeaders& headers) {
  auto exchange = std::make_shared<Exchange>();
  const auto parsed = ParseTarget(target);
  EXPECT_TRUE(parsed) << target;
  if (!parsed) return exchange;
  HttpRequest request{.method = method,
                      .path = parsed->path,
                      .query = parsed->query,
                      .headers = headers,
                      .body = body,
                      .peer = "10.0.0.1"};
  handler_(std::move(request),
           Responder([exchange](HttpResponse response) { exchange->answer = std::move(response); },
                     [exchange](std::function<void()> gone) { exchange->gone = std::move(gone); }));
  return exchange;
}

HttpResponse SupervisorTable::Ask(const std::string& method, const std::string& target,
                                  const std::string& body) {
  const ExchangePtr exchange = Send(method, target, body);
  EXPECT_TRUE(RunUntil([&] { return exchange->answer.has_value(); })) << target;
  return exchange->answer.value_or(HttpResponse{});
}

std::string SupervisorTable::TokenPath(const std::string& job, std::int64_t group) const {
  const auto uid = uids_.find(job);
  return "/t/" + Keys().Seal({name_space(), job, uid == uids_.end() ? "not-made-yet" : uid->second, group});
}

SupervisorTable::ExchangePtr SupervisorTable::Discover(const std::string& job, std::int64_t group,
                                                       const std::string& timeout) {
  return Send("GET", TokenPath(job, group) + "/discover/" + name_space() + "/" + job + "/" +
                         std::to_string(group) + (timeout.empty() ? "" : "?timeout=" + timeout));
}

HttpResponse SupervisorTable::Report(const std::string& job, std::int64_t group, const std::string& hints) {
  return Ask("PUT", TokenPath(job, group) + "/hints/" + name_space() + "/" + job, hints);
}

std::string SupervisorTable::MakeJob(const std::string& name, std::int64_t group) {
  const auto made = Create(Kind::kJob, JobJson(name));
  EXPECT_TRUE(made) << made.error().message;
  uids_[name] = MetadataOf(*made).uid;
  SetStatus(name, R"({"phase": "Starting", "group": )" + std::to_string(group) + "}");
  return uids_[name];
}

void SupervisorTable::SetStatus(const std::string& job, const std::string& status) {
  const auto changed = Apply(StatusPatch(job, status));
  EXPECT_TRUE(changed) << changed.error().message;
}

std::string SupervisorTable::PodName(const std::string& job, std::int64_t group, int rank) const {
  return job + "-" + std::to_string(group) + "-" + std::to_string(rank);
}

void SupervisorTable::MakePod(const std::string& job, std::int64_t group, int rank, int replicas,
                              const std::string& address, const std::string& suffix) {
  Replica replica;
  replica.group = group;
  replica.rank = rank;
  replica.replicas = replicas;
  replica.node = "n0";
  const std::string name = PodName(job, group, rank) + suffix;
  json pod = ParseJson(PodJson(name, "", R"("no/such": "node")")).value();
  pod["metadata"]["labels"] = ReplicaLabels(job);
  pod["metadata"]["annotations"] = ReplicaAnnotations(replica);
  pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "adaptdl.petuum.com/v1"},
                                                     {"kind", "AdaptDLJob"},
                                                     {"name", job},
                                                     {"uid", uids_.at(job)},
                                                     {"controller", true}}});
  const auto made = Create(Kind::kPod, ToText(pod));
  EXPECT_TRUE(made) << made.error().message;
  if (address.empty()) return;
  const auto changed =
      Apply({.ref = PodRef(name), .merge = Document(json{{"status", {{"podIP", address}}}})});
  EXPECT_TRUE(changed) << changed.error().message;
}

void SupervisorTable::SetAddress(const std::string& job, std::int64_t group, int rank,
                                 const std::string& address) {
  const auto changed = Apply(
      {.ref = PodRef(PodName(job, group, rank)), .merge = Document(json{{"status", {{"podIP", address}}}})});
  EXPECT_TRUE(changed) << changed.error().message;
}

void SupervisorTable::RemovePod(const std::string& job, std::int64_t group, int rank,
                                const std::string& suffix) {
  const Ref ref = PodRef(PodName(job, group, rank) + suffix);
  EXPECT_TRUE(Delete({.ref = ref, .grace = std::chrono::seconds(0)}));
  EXPECT_TRUE(RunUntilGone(ref));
}

Job SupervisorTable::Read(const std::string& job) {
  const auto read = Get(JobRef(job));
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::get<Job>(*read) : Job{};
}

void SupervisorTable::CatchUp() {
  const std::string name = "mark-" + std::to_string(marks_++);
  MakeJob(name, 0);
  MakePod(name, 0, 0, 1);
  EXPECT_TRUE(RunUntil([&] {
    return supervisor_->jobs().Find({name_space(), name}) != nullptr &&
           supervisor_->pods().Find({name_space(), PodName(name, 0, 0)}) != nullptr;
  }));
}

}  // namespace adaptdl
