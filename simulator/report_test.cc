#include "simulator/report.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "simulator/report_page.h"

namespace adaptdl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kImage = "<img src=x onerror=document.title='pwned'>";

SimulatedJob Job(std::string name, double submitted) {
  SimulatedJob job;
  job.name = std::move(name);
  job.application = "cifar10";
  job.submitted = submitted;
  job.started = submitted + 60;
  job.finished = submitted + 1000;
  job.restarts = 1;
  job.gpu_seconds = 3600;
  job.alone_seconds = 500;
  job.spans = {{submitted, submitted + 60, {}, false},
               {submitted + 60, submitted + 90, {2}, true},
               {submitted + 90, submitted + 500, {2}, false},
               {submitted + 500, submitted + 530, {4, 4, 2}, true},
               {submitted + 530, submitted + 1000, {4, 4, 2}, false}};
  return job;
}

SimResult Outcome(std::string workload, std::string policy, std::vector<SimulatedJob> jobs,
                  double average = 1000) {
  SimResult result;
  result.workload = std::move(workload);
  result.policy = std::move(policy);
  result.samples = {
      {0, 4, 16, 0, 0, 1}, {60, 4, 16, 2, 1, 0}, {500, 4, 16, 10, 1, 0}, {1000, 4, 16, 0, 0, 0}};
  result.restarts = static_cast<std::int64_t>(jobs.size());
  result.jobs = std::move(jobs);
  result.average_jct = average;
  result.p50_jct = result.p99_jct = result.makespan = 1000;
  result.gpu_hours = result.node_hours = 1;
  result.worst_slowdown = result.mean_slowdown = 2;
  result.rounds = 10;
  result.policy_cpu_seconds = 0.5;
  return result;
}

// What stands in the page where its script looks for it.
std::string DataText(const std::string& page) {
  constexpr std::string_view kOpen = R"(<script type="application/json" id="data">)";
  const std::size_t start = page.find(kOpen) + kOpen.size();
  return page.substr(start, page.find("</script>", start) - start);
}

nlohmann::json DataOf(const std::vector<SimResult>& results) {
  return nlohmann::json::parse(DataText(HtmlReport(results)));
}

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

TEST(Report, LoadsNothing) {
  const std::string page = HtmlReport({Outcome("w", "p", {Job("a", 0)})});
  for (const char* part : {"http:", "https:", "//cdn", " src=", "@import", "<link", "url(\"", "data:"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
  EXPECT_EQ(Count(page, "url("), Count(page, "url(#hatch)"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"));
  EXPECT_EQ(page.substr(0, 15), "<!DOCTYPE html>");
}

TEST(Report, EveryPartIsPutInOnce) {
  EXPECT_EQ(Count(ReportPage(), kReportData), 1);
  const std::string page = HtmlReport({});
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_EQ(Count(page, "<script"), Count(page, "</script>"));
  EXPECT_EQ(Count(page, "</html>"), 1);
}

TEST(Report, DataSaysWhatTheResultsSay) {
  const nlohmann::json data = DataOf({Outcome("busy", "tiresias", {Job("a", 10)})});
  EXPECT_EQ(data["workloads"], nlohmann::json({"busy"}));
  EXPECT_EQ(data["policies"], nlohmann::json({"tiresias"}));
  EXPECT_EQ(data["placements"], nlohmann::json::parse("[[], [2], [4, 4, 2]]"));
  const nlohmann::json& result = data["results"][0];
  EXPECT_EQ(result["average"], 1000);
  EXPECT_EQ(result["worst_slowdown"], 2);
  EXPECT_EQ(result["jobs"], nlohmann::json::parse(R"([["a", 0, 100, 10100, 1, 1.0, 2.0,
      [100, 600, 0,  0, 300, 3,  0, 4100, 2,  0, 300, 5,  0, 4700, 4]]])"));
  EXPECT_EQ(result["samples"], nlohmann::json::parse("[0, 4, 16, 0, 0, 1,  600, 4, 16, 2, 1, 0,"
                                                     " 4400, 4, 16, 10, 1, 0,  5000, 4, 16, 0, 0, 0]"));
}

TEST(Report, WhatDoesNotDifferIsMerged) {
  SimulatedJob job = Job("a", 0);
  job.spans = {{0, 0, {}, false},
               {0, 10, {1}, false},
               {10, 20, {1}, false},
               {20, 20.01, {2}, false},
               {20, 30, {1}, true}};
  SimResult result = Outcome("w", "p", {job});
  result.samples = {{0, 1, 4, 1, 1, 0}, {60, 1, 4, 1, 1, 0}, {120, 1, 4, 2, 1, 0}};
  const nlohmann::json data = DataOf({result});
  const auto kinds = [&](std::size_t i) {
    return data["placements"][data["results"][0]["jobs"][0][7][i].get<std::size_t>() / 2];
  };
  EXPECT_EQ(data["results"][0]["jobs"][0][7].size(), 6);
  EXPECT_EQ(kinds(2), nlohmann::json({1}));
  EXPECT_EQ(data["results"][0]["jobs"][0][7][1], 200);
  EXPECT_EQ(data["results"][0]["samples"], nlohmann::json({0, 1, 4, 1, 1, 0, 1200, 1, 4, 2, 1, 0}));
}

TEST(Report, PoliciesAreToldApartByObjectiveAndRun) {
  SimResult fair = Outcome("w", "genetic", {});
  fair.objective = "fairness";
  const SimResult plain = Outcome("w", "genetic", {});
  const nlohmann::json data = DataOf({plain, fair, fair, Outcome("v", "genetic", {})});
  EXPECT_THAT(data["policies"].get<std::vector<std::string>>(),
              ElementsAre("genetic", "genetic / fairness", "genetic / fairness (2)"));
  EXPECT_EQ(data["results"][3]["policy"], 0);
  EXPECT_EQ(data["results"][3]["workload"], 1);
}

TEST(Report, NamesFromOutsideStayText) {
  const std::vector<std::string> hostile = {"</script><script>alert(1)</script>",
                                            "<!--<script>",
                                            "]]>",
                                            std::string(kImage),
                                            "\xE2\x80\xA8\xE2\x80\xA9",
                                            "\"'\\\n\t&amp;",
                                            std::string("nul\0", 4),
                                            "{{data}} {{report.js}}",
                                            "\xF0\x9F\x98\x80"};
  for (const std::string& name : hostile) {
    SimulatedJob job = Job(name, 0);
    job.application = name;
    SimResult result = Outcome(name, name, {job});
    result.objective = name;
    const std::string text = DataText(HtmlReport({result}));
    EXPECT_EQ(text.find_first_of("<\n"), std::string::npos) << text;
    for (const char c : text) ASSERT_TRUE(c >= ' ' && c <= '~') << text;
    const nlohmann::json data = nlohmann::json::parse(text);
    EXPECT_EQ(data["workloads"][0], name);
    EXPECT_EQ(data["policies"][0], name + " / " + name);
    EXPECT_EQ(data["applications"][0], name);
    EXPECT_EQ(data["results"][0]["jobs"][0][0], name);
  }
}

TEST(Report, NamesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(DataOf({Outcome("a\xFF", "p\xC3", {Job("\xE2\x80", 0)})})["workloads"][0], "a\xEF\xBF\xBD");
}

TEST(Report, NumbersThatAreNoneBecomeNull) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SimulatedJob job = Job("a", 0);
  job.finished = kInfinity;
  job.gpu_seconds = kNan;
  job.spans = {{0, kInfinity, {1}, false}, {kNan, kNan, {1}, false}};
  SimResult result = Outcome("w", "p", {job}, kNan);
  result.makespan = kInfinity;
  result.worst_slowdown = 0;
  const nlohmann::json data = DataOf({result});
  EXPECT_TRUE(data["results"][0]["average"].is_null());
  EXPECT_TRUE(data["results"][0]["makespan"].is_null());
  EXPECT_TRUE(data["results"][0]["worst_slowdown"].is_null());
}

// What the test of real reports would show: 30 results with 320 jobs each stay far below what a browser
// minds.
TEST(Report, IsSmallForManyJobs) {
  std::vector<SimResult> results;
  for (int workload = 0; workload < 6; ++workload) {
    for (int policy = 0; policy < 5; ++policy) {
      std::vector<SimulatedJob> jobs;
      for (int i = 0; i < 320; ++i) {
        jobs.push_back(Job("application-" + std::to_string(i), i * 90.123456));
        for (int span = 0; span < 20; ++span) {
          const double start = jobs.back().finished + 100.987654 * span;
          jobs.back().spans.push_back(
              {start, start + 100.987654, std::vector<int>(1 + span % 4, 4), span % 2 == 0});
        }
      }
      results.push_back(
          Outcome("w" + std::to_string(workload), "p" + std::to_string(policy), std::move(jobs)));
    }
  }
  EXPECT_LT(HtmlReport(results).size(), 4'000'000);
}

// A directory that is gone afterwards.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "report_test.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::optional<std::string> Browser() {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread.
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const std::string program = folder + "/" + name;
      if (access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return std::nullopt;
}

// The document as a browser has it once the page's script and `extra` have run.
std::string DomOf(const std::string& browser, std::string page, const std::string& extra = "") {
  const TemporaryDirectory directory;
  const std::string folder = directory.path().string();
  page.insert(page.rfind("</body>"), "<script>" + extra + "</script>");
  std::ofstream(folder + "/report.html") << page;
  const std::string command =
      "HOME='" + folder + "' XDG_CONFIG_HOME='" + folder + "' XDG_CACHE_HOME='" + folder +
      "' timeout -k 5 60 '" + browser +
      "' --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run"
      " --window-size=1280,1000 --virtual-time-budget=5000 --user-data-dir='" +
      folder + "/profile' --dump-dom 'file://" + folder + "/report.html' 2>'" + folder + "/log'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot start the browser";
  std::string dom;
  std::array<char, 65536> buffer;
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    dom.append(buffer.data(), n);
  if (const int status = pclose(pipe); status != 0) {
    std::ostringstream log;
    log << "the browser ended with " << WEXITSTATUS(status) << ": " << std::ifstream(folder + "/log").rdbuf();
    return log.str();
  }
  return dom;
}

class ReportInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    browser_ = Browser();
    if (!browser_) GTEST_SKIP() << "there is no Chromium on this machine";
  }
  static void ExpectNoError(const std::string& dom) {
    EXPECT_THAT(dom, HasSubstr("data-state=\"ready\"")) << dom.substr(0, 2000);
    EXPECT_THAT(dom, HasSubstr("<p id=\"error\" role=\"alert\" hidden=\"\"></p>")) << "a script failed";
  }
  std::optional<std::string> browser_;
};

// From an element's opening to the next part of the page.
std::string_view Section(std::string_view dom, const std::string& id) {
  const std::size_t start = dom.find("<section id=\"" + id + "\"");
  if (start == std::string_view::npos) return {};
  return dom.substr(start, dom.find("</section>", start) - start);
}

TEST_F(ReportInBrowser, ShowsTablesAndCharts) {
  std::vector<SimResult> results;
  for (const char* workload : {"one", "two"}) {
    results.push_back(Outcome(workload, "tiresias", {Job("a", 0), Job(std::string(kImage), 100)}, 2000));
    results.push_back(Outcome(workload, "genetic", {Job("a", 0), Job(std::string(kImage), 100)}, 1000));
  }
  const std::string dom = DomOf(*browser_, HtmlReport(results));
  ExpectNoError(dom);
  const std::string_view summary = Section(dom, "summary");
  EXPECT_EQ(Count(summary, "<tr class=\"group\">"), 2 * 3) << "two workloads and their mean, in two tables";
  EXPECT_EQ(Count(summary, "<tr class=\"result\">"), 2 * 6);
  EXPECT_THAT(std::string(summary), HasSubstr("<td class=\"best\">16.7 <span class=\"ratio\">0.50"));
  EXPECT_THAT(dom, HasSubstr("Over 2 workloads, jobs take least time under genetic: 16.7 min on average"));
  EXPECT_EQ(Count(Section(dom, "completion"), "class=\"line c0\""), 2) << "in the chart and its legend";
  EXPECT_EQ(Count(Section(dom, "completion"), "class=\"line c1\""), 2);
  EXPECT_EQ(Count(Section(dom, "cluster"), "<svg class=\"plot\""), 2);
  EXPECT_EQ(Count(Section(dom, "cluster"), "class=\"jobs\""), 2);
  const std::string_view allocation = Section(dom, "allocation");
  EXPECT_EQ(Count(allocation, "<svg class=\"plot\""), 2);
  EXPECT_EQ(Count(allocation, "class=\"restarting\" d="), 2);
  EXPECT_EQ(Count(allocation, "data-spans=\"4\""), 2) << "two restarts of two jobs, under each policy";
  EXPECT_GT(Count(Section(dom, "restarts"), "class=\"area c1\""), 2);
}

TEST_F(ReportInBrowser, NamesFromOutsideShowAsText) {
  SimulatedJob job = Job(std::string(kImage), 0);
  job.application = "</script><script>document.title='pwned'</script>";
  const std::string image(kImage);
  SimResult first = Outcome(image, image, {job}, 2000);
  const std::string dom =
      DomOf(*browser_, HtmlReport({first, Outcome(image, "</select><b>", {job})}),
            "const colour = document.getElementById('colour'); colour.value = 'application';"
            "colour.dispatchEvent(new Event('change'));");
  ExpectNoError(dom);
  EXPECT_EQ(Count(dom, "<img"), 0);
  EXPECT_EQ(Count(dom, "<title>Scheduling report</title>"), 1);
  EXPECT_THAT(std::string(Section(dom, "summary")),
              HasSubstr("&lt;img src=x onerror=document.title='pwned'&gt;</span>"));
  EXPECT_THAT(std::string(Section(dom, "allocation")), HasSubstr(">&lt;img src=x"));
  EXPECT_THAT(std::string(Section(dom, "allocation")), HasSubstr("&lt;/script&gt;&lt;script&gt;"));
}

TEST_F(ReportInBrowser, FollowsItsControls) {
  SimResult only = Outcome("two", "optimus", {Job("a", 0), Job("b", 0), Job("c", 0)});
  const std::vector<SimResult> results = {Outcome("one", "tiresias", {Job("a", 0)}),
                                          Outcome("one", "genetic", {Job("a", 0)}), only};
  const std::string dom = DomOf(*browser_, HtmlReport(results), R"(
    const set = (id, value) => {
      document.getElementById(id).value = value;
      document.getElementById(id).dispatchEvent(new Event('change'));
    };
    document.querySelector('#policies input').click();
    set('allocation-policy', '0');
    set('order', 'time');
    set('workload', '1');
    set('from', '5');
    for (const plot of document.querySelectorAll('svg.plot')) {
      const {left, top} = plot.getBoundingClientRect();
      for (const y of [5, 40, 60]) plot.dispatchEvent(new PointerEvent('pointermove', {clientX: left + 300, clientY: top + y}));
    })");
  ExpectNoError(dom);
  EXPECT_EQ(Count(Section(dom, "cluster"), "<svg class=\"plot\""), 1) << "one policy ran the other workload";
  EXPECT_THAT(std::string(Section(dom, "allocation")), HasSubstr("Allocation of 3 jobs under optimus"));
  EXPECT_EQ(Count(dom, "<button id=\"whole\" type=\"button\">"), 1) << "a part of the time is shown";
}

TEST_F(ReportInBrowser, ShowsWhatIsMissing) {
  EXPECT_THAT(DomOf(*browser_, HtmlReport({})), HasSubstr("There are no results."));
  SimResult empty;
  SimulatedJob unfinished;
  unfinished.submitted = 10;
  SimResult stuck = Outcome("", "", {unfinished}, std::numeric_limits<double>::quiet_NaN());
  stuck.samples.clear();
  ExpectNoError(DomOf(*browser_, HtmlReport({empty, stuck})));
}

TEST_F(ReportInBrowser, TellsWhenItsScriptFails) {
  EXPECT_THAT(DomOf(*browser_, HtmlReport({}), "throw new Error('for the test')"),
              HasSubstr("Error: for the test</p>"));
}

}  // namespace
}  // namespace adaptdl
