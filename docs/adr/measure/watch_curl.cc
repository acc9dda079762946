// watch_curl epoll|poll|threads PORT STREAMS EVENTS: reads that many watches at the same time with libcurl.
// `threads` blocks one thread and one easy handle in each watch, which is how kubernetes-client/c calls
// libcurl.
#include <string>
#include <thread>
#include <vector>

#include "common.h"
#include "curl_loop.h"

namespace {

std::size_t OnData(char* data, std::size_t size, std::size_t count, void* lines) {
  static_cast<measure::EventLines*>(lines)->Feed({data, size * count});
  return size * count;
}

CURL* NewWatch(const std::string& url, measure::EventLines& lines) {
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnData);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &lines);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  return easy;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 5) {
    return 2;
  }
  const std::string mode = argv[1];
  const std::string url = std::string("http://127.0.0.1:") + argv[2] + "/api/v1/pods?watch=1";
  std::vector<measure::EventLines> lines(std::strtoul(argv[3], nullptr, 10));
  const int events = std::atoi(argv[4]);
  curl_global_init(CURL_GLOBAL_ALL);

  int threads = 1;
  if (mode == "threads") {
    std::vector<std::thread> workers;
    for (auto& l : lines) {
      workers.emplace_back([&url, &l] {
        CURL* easy = NewWatch(url, l);
        curl_easy_perform(easy);
        curl_easy_cleanup(easy);
      });
    }
    threads = measure::Threads();
    for (auto& w : workers) {
      w.join();
    }
  } else {
    measure::CurlLoop loop;
    for (auto& l : lines) {
      loop.Add(NewWatch(url, l));
    }
    const auto done = [](CURL* easy, CURLcode) { curl_easy_cleanup(easy); };
    mode == "epoll" ? loop.RunEpoll(done) : loop.RunPoll(done);
    threads = measure::Threads();
  }

  long complete = 0;
  for (const auto& l : lines) {
    complete += l.Complete(events) ? 1 : 0;
  }
  const char* name = mode == "epoll"  ? "libcurl multi, epoll"
                     : mode == "poll" ? "libcurl multi, curl_multi_poll"
                                      : "libcurl easy, a thread for each watch";
  measure::Report(
      name, threads,
      std::to_string(complete) + " of " + argv[3] + " streams complete, " + argv[4] + " events each");
  return complete == static_cast<long>(lines.size()) ? 0 : 1;
}
