#include "tests/bench/bench_jobs.h"

#include <utility>

#include "api/replica.h"
#include "cluster/kube/kube_cluster.h"
#include "cluster/kube/kube_config.h"
#include "nlohmann/json.hpp"
#include "runtime/environment.h"
#include "tests/bench/socket_loop.h"

namespace adaptdl {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kAtOnce = 32;
constexpr std::chrono::minutes kLimit{10};

std::string PodName(const std::string& job, std::size_t rank) { return job + "-0-" + std::to_string(rank); }

json PodJson(const BenchJob& job, std::size_t rank, std::size_t replicas) {
  Replica replica;
  replica.rank = static_cast<std::int64_t>(rank);
  replica.replicas = static_cast<std::int64_t>(replicas);
  replica.node = "node-" + std::to_string(rank);
  const json owner = {{"apiVersion", "adaptdl.petuum.com/v1"},
                      {"kind", "AdaptDLJob"},
                      {"name", job.name},
                      {"uid", job.uid},
                      {"controller", true}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", PodName(job.name, rank)},
            {"namespace", BenchJobs::kNamespace},
            {"labels", ReplicaLabels(job.name)},
            {"annotations", ReplicaAnnotations(replica)},
            {"ownerReferences", {owner}}}},
          {"spec",
           {{"restartPolicy", "Never"},
            {"automountServiceAccountToken", false},
            {"containers", {{{"name", "main"}, {"image", "any"}}}}}}};
}

void Expect(const Result<Object>& result) {
  if (!result) Die(result.error().message);
}

}  // namespace

BenchJobs::BenchJobs() {
  KubeOptions options{.requests_per_second = 5000, .burst = 5000};
  options.call_deadline = std::chrono::minutes(1);
  const auto connection = FindConnection(ProcessEnvironment());
  if (!connection) Die(connection.error().message);
  auto cluster = ConnectToKubernetes(*connection, options, loop_);
  if (!cluster) Die(cluster.error().message);
  cluster_ = *std::move(cluster);
}

bool BenchJobs::Await(const std::function<bool()>& holds, std::chrono::seconds limit) {
  // So that it is asked now and then also where the cluster has nothing to say.
  Timer again;
  std::function<void()> tick = [&] { again = loop_.After(milliseconds(5), tick); };
  tick();
  return loop_.RunUntil(holds, limit);
}

void BenchJobs::ForAll(std::size_t count, const Call& call,
                       const std::function<void(std::size_t, const Result<Object>&)>& answered) {
  std::size_t next = 0;
  std::size_t done = 0;
  std::function<void()> start = [&] {
    if (next == count) return;
    const std::size_t number = next++;
    call(number, [&, number](const Result<Object>& result) {
      ++done;
      answered(number, result);
      start();
    });
  };
  for (std::size_t i = 0; i < kAtOnce; ++i) start();
  if (!loop_.RunUntil([&] { return done == count; }, kLimit)) Die("the API server is too slow");
}

std::vector<BenchJob> BenchJobs::Create(const std::string& name, std::size_t count) {
  std::vector<BenchJob> jobs(count);
  const auto create = [&](std::size_t i, Done<Object> done) {
    jobs[i].name = name + "-" + std::to_string(i);
    const json container = {{"name", "main"}, {"image", "any"}};
    const json job = {{"apiVersion", "adaptdl.petuum.com/v1"},
                      {"kind", "AdaptDLJob"},
                      {"metadata", {{"name", jobs[i].name}, {"namespace", kNamespace}}},
                      {"spec", {{"template", {{"spec", {{"containers", {container}}}}}}}}};
    const Ref ref{Kind::kJob, {kNamespace, jobs[i].name}};
    cluster_->Create(Kind::kJob, Document(job), [this, ref, done = std::move(done)](Result<Object> result) {
      const bool there = !result && result.error().code == ErrorCode::kAlreadyExists;
      there ? cluster_->Get(ref, done) : done(std::move(result));
    });
  };
  ForAll(count, create, [&](std::size_t i, const Result<Object>& result) {
    Expect(result);
    jobs[i].uid = MetadataOf(*result).uid;
  });
  return jobs;
}

void BenchJobs::CreatePods(const std::vector<BenchJob>& jobs, std::size_t replicas) {
  const auto create = [&](std::size_t i, Done<Object> done) {
    cluster_->Create(Kind::kPod, Document(PodJson(jobs[i / replicas], i % replicas, replicas)),
                     std::move(done));
  };
  const auto expect = [](std::size_t, const Result<Object>& result) { Expect(result); };
  ForAll(jobs.size() * replicas, create, expect);
  const std::size_t early = replicas - 1;
  const auto complete = [&](std::size_t i, Done<Object> done) {
    SetAddress(jobs[i / early], i / early, i % early, std::move(done));
  };
  if (early > 0) ForAll(jobs.size() * early, complete, expect);
}

void BenchJobs::CompletePods(const std::vector<BenchJob>& jobs, std::size_t replicas,
                             const std::function<void(std::size_t job)>& answered) {
  const auto complete = [&](std::size_t i, Done<Object> done) {
    SetAddress(jobs[i], i, replicas - 1, std::move(done));
  };
  ForAll(jobs.size(), complete, [&](std::size_t i, const Result<Object>& result) {
    answered(i);
    Expect(result);
  });
}

void BenchJobs::SetAddress(const BenchJob& job, std::size_t number, std::size_t rank, Done<Object> done) {
  const std::string address = AddressOf(number, rank);
  const json merge = {
      {"status", {{"phase", "Running"}, {"podIP", address}, {"podIPs", {{{"ip", address}}}}}}};
  cluster_->Apply({.ref = {Kind::kPod, {kNamespace, PodName(job.name, rank)}}, .merge = Document(merge)},
                  std::move(done));
}

void BenchJobs::StoreHints(const std::vector<BenchJob>& jobs, const std::string& hints) {
  const json merge = {{"status", {{"train", json::parse(hints)}}}};
  const auto store = [&](std::size_t i, Done<Object> done) {
    cluster_->Apply({.ref = {Kind::kJob, {kNamespace, jobs[i].name}}, .merge = Document(merge)},
                    std::move(done));
  };
  ForAll(jobs.size(), store, [](std::size_t, const Result<Object>& result) { Expect(result); });
}

std::string BenchJobs::AddressOf(std::size_t job, std::size_t rank) {
  const auto part = [](std::size_t number) { return std::to_string(number % 250 + 1); };
  return "10." + part(rank) + "." + part(job / 250) + "." + part(job);
}

}  // namespace adaptdl
