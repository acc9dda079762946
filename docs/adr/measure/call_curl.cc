// call_curl fresh|kept PORT CA CALLS: short HTTPS calls one after the other. `fresh` makes a new easy handle
// for each, which is what kubernetes-client/c does, and so a new connection; `kept` uses one handle again.
#include <curl/curl.h>

#include <string>

#include "common.h"

namespace {

std::size_t OnData(char* data, std::size_t size, std::size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 5) {
    return 2;
  }
  const bool fresh = std::string(argv[1]) == "fresh";
  const std::string url = std::string("https://127.0.0.1:") + argv[2] + "/api/v1/pods/x";
  const int calls = std::atoi(argv[4]);
  curl_global_init(CURL_GLOBAL_ALL);
  const std::string expected = measure::MakeEvent(0);
  CURL* easy = nullptr;
  long right = 0, connections = 0;
  const double before = measure::CpuSeconds();
  for (int i = 0; i < calls; ++i) {
    std::string body;
    if (easy == nullptr) {
      easy = curl_easy_init();
      curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
      curl_easy_setopt(easy, CURLOPT_CAINFO, argv[3]);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnData);
    }
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    const CURLcode code = curl_easy_perform(easy);
    long opened = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &opened);
    connections += opened;
    right += code == CURLE_OK && body == expected ? 1 : 0;
    if (fresh) {
      curl_easy_cleanup(easy);
      easy = nullptr;
    }
  }
  const double ms = 1000 * (measure::CpuSeconds() - before) / calls;
  curl_easy_cleanup(easy);
  std::printf("| %s | %.2f | %ld | %ld of %d right |\n",
              fresh ? "libcurl, a new easy handle for each call" : "libcurl, the handle used again", ms,
              connections, right, calls);
  return right == calls ? 0 : 1;
}
