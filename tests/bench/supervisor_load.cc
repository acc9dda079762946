// Load for tests/bench/supervisor_costs: the replicas of many jobs, on the cluster of $KUBECONFIG, and a
// thousand hostile connections beside them.
//   supervisor_load polls JOBS REPLICAS POLLS     so many polls of each job, held and then released
//   supervisor_load hints JOBS A_SECOND SECONDS   reports, of which one in fifty says something new
//   supervisor_load news JOBS A_SECOND SECONDS    reports that all do, with ten step times each
// $SUPERVISOR is "PORT METRICS_PORT PROCESS_ID KEY_FILE". Every replica calls from an address of its own.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <future>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "api/hints.h"
#include "api/replica_token.h"
#include "nlohmann/json.hpp"
#include "runtime/environment.h"
#include "tests/bench/bench_jobs.h"
#include "tests/bench/hostile_clients.h"
#include "tests/bench/http_clients.h"
#include "tests/bench/process_costs.h"
#include "tests/bench/socket_loop.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kHostile = 1000;         // Open at the same time,
constexpr std::size_t kHostileClients = 1080;  // as some have just been cut off.
constexpr std::size_t kConnectsATick = 10;     // What listens has a queue of some thousands.
constexpr std::size_t kReporters = 1000;

struct Supervised {
  std::uint16_t port = 0;
  std::uint16_t metrics_port = 0;
  pid_t process = 0;
  std::string key_file;
};

double Milliseconds(Steady::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

double Quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// As requests 2.31 of Python sends it.
std::string Request(const std::string& method, const std::string& target, const std::string& body = {}) {
  std::string out =
      method + " " + target +
      " HTTP/1.1\r\nHost: adaptdl-supervisor.adaptdl:8080\r\nUser-Agent: python-requests/2.31.0\r\n"
      "Accept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n";
  if (!body.empty()) {
    out += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return out + "\r\n" + body;
}

constexpr std::size_t kWays = 50;
constexpr std::size_t kScatter = 3;

// What a job reports that is so many fiftieths of its way along, and whose measurements scatter by up to half
// a per cent.
std::string HintsText(std::size_t way, std::size_t scatter, std::int64_t observations) {
  const double factor = 1 + 0.0025 * static_cast<double>(scatter);
  Hints hints;
  hints.init_batch_size = 256;
  hints.max_batch_size = 16384;
  hints.min_local_bsz = 32;
  hints.max_local_bsz = 512;
  hints.global_batch_size = 1024;
  hints.max_profiled_replicas = 16;
  hints.gradient_accumulation = true;
  hints.grad_params = {0.0141 * factor, 0.1832 * factor};
  hints.perf_params = {0.018 * factor,
                       0.00064 * factor,
                       0.052 * factor,
                       0.0011 * factor,
                       0.0085 * factor,
                       0.00045 * factor,
                       1.6};
  hints.total_progress = 1e6;
  hints.progress = 1e6 * static_cast<double>(way) / kWays;
  for (std::int64_t i = 0; i < observations; ++i) {
    hints.profile.push_back({1 + i / 4, 1 + i, 64, 0.0589 * factor, 0.0713 * factor});
  }
  return Encode(hints).dump();
}

class Load {
 public:
  explicit Load(const Supervised& supervised)
      : supervised_(supervised), keys_(ReadKeys(supervised.key_file)) {
    if (!jobs_.Await([&] { return hostile_.connected() >= kHostile; }, seconds(60))) {
      Die("the hostile clients do not come through");
    }
    const ProcessCosts before = CostsOf(supervised_.process);
    Pause(seconds(10));
    const ProcessCosts after = CostsOf(supervised_.process);
    std::printf("%zu hostile connections alone: %.2f CPU-s in 10 s, %.1f MB of memory\n",
                hostile_.connected(), after.cpu_seconds - before.cpu_seconds,
                static_cast<double>(after.resident_kb) / 1024);
  }
  ~Load() { sockets_.Stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void Polls(std::size_t jobs, std::size_t replicas, std::size_t polls_each) {
    const std::vector<BenchJob> made = jobs_.Create(jobs == 1 ? "wide" : "job", jobs);
    jobs_.CreatePods(made, replicas);
    const std::size_t polls = jobs * polls_each;
    std::vector<Steady::time_point> answered_at(polls);
    std::atomic<std::size_t> answers = 0;
    std::atomic<std::size_t> wrong = 0;
    HttpClients clients(
        sockets_, supervised_.port, [&](std::size_t client, int status, const std::string& body) {
          answered_at[client] = Steady::now();
          const bool complete =
              body.find(BenchJobs::AddressOf(client / polls_each, replicas - 1)) != std::string::npos;
          if (status != 200 || !complete) ++wrong;
          ++answers;
        });
    const ProcessCosts before = CostsOf(supervised_.process);
    std::size_t sent = 0;
    sockets_.Call([&] {
      sockets_.OnTick([&] {
        for (std::size_t i = 0; i < kConnectsATick && sent < polls; ++i, ++sent) {
          const std::string target = "/discover/bench/" + made[sent / polls_each].name + "/0?timeout=240";
          clients.Send(clients.Add(ReplicaAddress(sent)),
                       Request("GET", TokenPath(made[sent / polls_each]) + target));
        }
      });
    });
    const auto held = static_cast<double>(polls);
    bool all = false;
    for (int i = 0; i < 120 && !all; ++i) {
      Pause(milliseconds(500));
      all = Metric("adaptdl_supervisor_polls") >= held;
    }
    const ProcessCosts holding = CostsOf(supervised_.process);
    if (!all) Die("not all polls are held; " + std::to_string(answers) + " were answered");
    const std::size_t hostile = hostile_.connected();

    std::vector<Steady::time_point> completed_at(jobs);
    jobs_.CompletePods(made, replicas, [&](std::size_t job) { completed_at[job] = Steady::now(); });
    if (!jobs_.Await([&] { return answers == polls; }, seconds(120))) Die("some polls are not answered");
    const ProcessCosts after = CostsOf(supervised_.process);
    std::vector<double> waits;
    for (std::size_t i = 0; i < polls; ++i) {
      waits.push_back(Milliseconds(answered_at[i] - completed_at[i / polls_each]));
    }
    const double kb = static_cast<double>(holding.resident_kb - before.resident_kb);
    std::printf("%zu job%s x %zu polls, with %zu hostile connections:\n", jobs, jobs == 1 ? "" : "s",
                polls_each, hostile);
    std::printf("  memory: %.1f MB before, %.1f MB with all of them held, %.2f KB a poll\n",
                static_cast<double>(before.resident_kb) / 1024,
                static_cast<double>(holding.resident_kb) / 1024, kb / static_cast<double>(polls));
    std::printf(
        "  from the answer to the patch to that of the poll: p50 %.0f ms, p99 %.0f ms, last %.0f ms; wrong "
        "answers: %zu\n",
        Quantile(waits, 0.5), Quantile(waits, 0.99), Quantile(waits, 1), wrong.load());
    std::printf("  CPU-s: %.2f to take them, %.2f to release them\n",
                holding.cpu_seconds - before.cpu_seconds, after.cpu_seconds - holding.cpu_seconds);
    PrintThreads(before, after);
    if (wrong > 0) Die("some answers are wrong");
    sockets_.Stop();
  }

  // One in `news` reports of a job says something new.
  void Reports(std::size_t jobs, std::size_t a_second, std::size_t duration, std::size_t news) {
    const std::vector<BenchJob> made = jobs_.Create("job", jobs);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < kWays * kScatter; ++i)
      texts.push_back(HintsText(i / kScatter, i % kScatter, news == 1 ? 10 : 0));
    if (news > 1) jobs_.StoreHints(made, texts.front());
    std::vector<std::string> targets;
    targets.reserve(jobs);
    for (const BenchJob& job : made) targets.push_back(TokenPath(job) + "/hints/bench/" + job.name);
    const std::size_t reporters = std::min(jobs, kReporters);
    const std::size_t reports = a_second * duration;

    std::vector<std::deque<std::size_t>> due(
        reporters);  // Reports that wait for the answer to the one before.
    std::vector<Steady::time_point> sent_at(reporters);
    std::vector<double> waits;
    std::atomic<std::size_t> answers = 0;
    std::atomic<std::size_t> errors = 0;
    HttpClients* to_clients = nullptr;
    const auto send = [&](std::size_t reporter) {
      const std::size_t report = due[reporter].front();
      due[reporter].pop_front();
      const std::size_t job = report % jobs;
      const std::size_t turn = report / jobs;
      // Jobs do not all have their news at the same time.
      const std::size_t said = news == 1 ? turn + 1 : (turn + job % news) / news;
      sent_at[reporter] = Steady::now();
      to_clients->Send(reporter,
                       Request("PUT", targets[job], texts[said % kWays * kScatter + report % kScatter]));
    };
    HttpClients clients(sockets_, supervised_.port,
                        [&](std::size_t reporter, int status, const std::string&) {
                          waits.push_back(Milliseconds(Steady::now() - sent_at[reporter]));
                          if (status != 200) ++errors;
                          ++answers;
                          if (!due[reporter].empty()) send(reporter);
                        });
    to_clients = &clients;
    Pause(seconds(3));  // Until the supervisor has seen all jobs.

    const ProcessCosts before = CostsOf(supervised_.process);
    const double own_before = CostsOf(getpid()).cpu_seconds;
    const double patches_before = Patches();
    const double unchanged_before = Metric("adaptdl_supervisor_hints_total{result=\"unchanged\"}");
    const Steady::time_point begun = Steady::now();
    std::size_t started = 0;
    sockets_.Call([&] {
      for (std::size_t i = 0; i < reporters; ++i) clients.Add(ReplicaAddress(i));
      sockets_.OnTick([&] {
        const std::chrono::duration<double> passed(Steady::now() - begun);
        const auto now_due = static_cast<std::size_t>(passed.count() * static_cast<double>(a_second));
        for (; started < std::min(now_due, reports); ++started) {
          const std::size_t reporter = started % reporters;
          due[reporter].push_back(started);
          if (!clients.busy(reporter)) send(reporter);
        }
      });
    });
    double most = 0;
    double waiting = 0;
    double last = patches_before;
    Steady::time_point last_at = begun;
    for (std::size_t i = 0; i < duration; ++i) {
      Pause(seconds(1));
      const double patches = Patches();
      const Steady::time_point now = Steady::now();
      most = std::max(most, (patches - last) / (Milliseconds(now - last_at) / 1000));
      last = patches;
      last_at = now;
      waiting = std::max(waiting, Metric("adaptdl_supervisor_hints_waiting"));
    }
    const double took = Milliseconds(Steady::now() - begun) / 1000;
    const std::size_t in_time = answers;
    const double written = Patches() - patches_before;
    if (!jobs_.Await([&] { return answers == reports; }, seconds(60))) Die("some reports are not answered");
    const ProcessCosts after = CostsOf(supervised_.process);
    const double unchanged =
        Metric("adaptdl_supervisor_hints_total{result=\"unchanged\"}") - unchanged_before;
    const double cpu = after.cpu_seconds - before.cpu_seconds;
    std::printf(
        "%zu reports a second about %zu jobs for %zu s, %zu bytes each, %s new, with %zu hostile "
        "connections:\n",
        a_second, jobs, duration, texts.front().size(),
        news == 1 ? "all" : ("1 in " + std::to_string(news)).c_str(), hostile_.connected());
    std::printf("  answered: %.0f a second, p50 %.1f ms, p99 %.1f ms; errors: %zu; unchanged: %.0f %%\n",
                static_cast<double>(in_time) / took, Quantile(waits, 0.5), Quantile(waits, 0.99),
                errors.load(), 100 * unchanged / static_cast<double>(reports));
    std::printf("  patches: %.1f a second, most in one %.0f; jobs that waited for one: up to %.0f\n",
                written / took, most, waiting);
    std::printf("  memory: %.1f MB before, %.1f MB after\n", static_cast<double>(before.resident_kb) / 1024,
                static_cast<double>(after.resident_kb) / 1024);
    std::printf("  CPU-s: %.2f, %.3f a 1,000 reports; of those who report: %.2f\n", cpu,
                1000 * cpu / static_cast<double>(reports), CostsOf(getpid()).cpu_seconds - own_before);
    PrintThreads(before, after);
    sockets_.Stop();
    if (errors > 0) Die("some reports were refused");
  }

 private:
  static TokenKeys ReadKeys(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto keys = TokenKeys::Parse(text);
    if (!keys) Die(path + ": " + keys.error().message);
    return *std::move(keys);
  }

  std::string TokenPath(const BenchJob& job) const {
    return "/t/" + keys_.Seal({.name_space = BenchJobs::kNamespace, .job = job.name, .uid = job.uid});
  }

  void Pause(Steady::duration time) {
    const Steady::time_point end = Steady::now() + time;
    jobs_.Await([&] { return Steady::now() >= end; }, seconds(60));
  }

  // The sum of the samples whose line begins so.
  double Metric(const std::string& sample, std::string_view with = "") {
    std::promise<std::string> text;
    HttpClients client(sockets_, supervised_.metrics_port,
                       [&](std::size_t, int, const std::string& body) { text.set_value(body); });
    sockets_.Call([&] { client.Send(client.Add(ReplicaAddress(0)), Request("GET", "/metrics")); });
    auto answer = text.get_future();
    if (answer.wait_for(seconds(30)) != std::future_status::ready) Die("no metrics");
    sockets_.Call([&] { client.Close(); });
    std::istringstream lines(answer.get());
    double sum = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(sample) || line.find(with) == std::string::npos) continue;
      sum += std::stod(line.substr(line.rfind(' ') + 1));
    }
    return sum;
  }
  double Patches() { return Metric("adaptdl_api_requests_total{", "verb=\"patch\""); }

  void PrintThreads(const ProcessCosts& before, const ProcessCosts& after) const {
    std::vector<double> shares;
    for (std::size_t i = 0; i < std::min(before.threads.size(), after.threads.size()); ++i) {
      shares.push_back(after.threads[i] - before.threads[i]);
    }
    std::sort(shares.rbegin(), shares.rend());
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::printf("  threads: %zu; CPU-s of each:", after.threads.size());
    for (const double share : shares) std::printf(" %.2f", share);
    std::printf("; the first two: %.0f %%\n", all > 0 ? 100 * (shares[0] + shares[1]) / all : 0);
    std::printf("  hostile connections were cut off %zu times\n", hostile_.comebacks());
  }

  const Supervised supervised_;
  const TokenKeys keys_;
  BenchJobs jobs_;
  SocketLoop sockets_;
  HostileClients hostile_{sockets_, supervised_.port, kHostileClients};
};

int Main(const std::vector<std::string>& args) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 1; i < args.size(); ++i) {
    std::size_t number = 0;
    std::from_chars(args[i].data(), args[i].data() + args[i].size(), number);
    numbers.push_back(number);
  }
  Supervised supervised;
  std::istringstream words(ProcessEnvironment()("SUPERVISOR").value_or(""));
  words >> supervised.port >> supervised.metrics_port >> supervised.process >> supervised.key_file;
  if (numbers.size() != 3 || std::count(numbers.begin(), numbers.end(), 0) > 0 || !words) {
    std::fputs("usage: SUPERVISOR=... supervisor_load polls|hints|news NUMBER NUMBER NUMBER\n", stderr);
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  Load load(supervised);
  if (args[0] == "polls") load.Polls(numbers[0], numbers[1], numbers[2]);
  if (args[0] == "hints") load.Reports(numbers[0], numbers[1], numbers[2], 50);
  if (args[0] == "news") load.Reports(numbers[0], numbers[1], numbers[2], 1);
  return 0;
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Main({argv + 1, argv + argc}); }
