// poll_client PORT POLLS ROUNDS: that many long polls at the same time, each asked again when it is answered.
// Silent when every answer was right.
#include <string>
#include <vector>

#include "common.h"
#include "curl_loop.h"

namespace {

struct Poll {
  std::string body;
  std::size_t rounds_left = 0;
};

std::size_t OnData(char* data, std::size_t size, std::size_t count, void* poll) {
  static_cast<Poll*>(poll)->body.append(data, size * count);
  return size * count;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 4) {
    return 2;
  }
  const std::string url = std::string("http://127.0.0.1:") + argv[1] + "/discover/default/job/0?timeout=30";
  const std::size_t rounds = std::strtoul(argv[3], nullptr, 10);
  std::vector<Poll> polls(std::strtoul(argv[2], nullptr, 10));
  curl_global_init(CURL_GLOBAL_ALL);
  measure::CurlLoop loop;
  for (auto& p : polls) {
    p.rounds_left = rounds;
    CURL* easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnData);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &p);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &p);
    loop.Add(easy);
  }

  std::size_t right = 0;
  std::string failure;
  loop.RunEpoll([&](CURL* easy, CURLcode code) {
    Poll* p = nullptr;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &p);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status == 200 && p->body == R"(["10.0.0.1","10.0.0.2"])") {
      ++right;
    } else {
      failure = curl_easy_strerror(code);
    }
    p->body.clear();
    if (code == CURLE_OK && --p->rounds_left > 0) {
      loop.Add(easy);
    } else {
      curl_easy_cleanup(easy);
    }
  });
  if (right != polls.size() * rounds) {
    std::fprintf(stderr, "poll_client: %zu of %zu answers right; last failure: %s\n", right,
                 polls.size() * rounds, failure.c_str());
    return 1;
  }
  return 0;
}
