// watch_cpprest lines|pieces POOL PORT STREAMS EVENTS: the same watches with cpprestsdk. `lines` reads by its
// read_line; `pieces` takes what has arrived out of the stream's buffer and splits it here, which is cheaper.
// POOL is the number of threads in its pool, 0 for its default.
#include <cpprest/containerstream.h>
#include <cpprest/http_client.h>
#include <pplx/threadpool.h>

#include <string>
#include <vector>

#include "common.h"

namespace {

using Body = concurrency::streams::istream;

struct Watch {
  measure::EventLines lines;
  Body body;
  std::vector<uint8_t> piece;
};

pplx::task<void> ReadLines(Watch& w) {
  concurrency::streams::container_buffer<std::string> line;
  return w.body.read_line(line).then([&w, line](std::size_t n) {
    if (n == 0 && w.body.is_eof()) {
      return pplx::task_from_result();
    }
    w.lines.Check(line.collection());
    return ReadLines(w);
  });
}

pplx::task<void> ReadPieces(Watch& w) {
  // bumpc waits for one byte; whatever came with it is there without waiting.
  return w.body.streambuf().bumpc().then([&w](int first) {
    if (first == Body::traits::eof()) {
      return pplx::task_from_result();
    }
    const char c = static_cast<char>(first);
    w.lines.Feed({&c, 1});
    w.piece.resize(w.body.streambuf().in_avail());
    return w.body.streambuf().getn(w.piece.data(), w.piece.size()).then([&w](std::size_t n) {
      w.lines.Feed({reinterpret_cast<const char*>(w.piece.data()), n});
      return ReadPieces(w);
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 6) {
    return 2;
  }
  const bool by_line = std::string(argv[1]) == "lines";
  const int pool = std::atoi(argv[2]);
  if (pool > 0) {
    crossplat::threadpool::initialize_with_threads(static_cast<std::size_t>(pool));
  }
  web::http::client::http_client_config config;
  config.set_timeout(std::chrono::seconds(120));
  web::http::client::http_client client(std::string("http://127.0.0.1:") + argv[3], config);

  std::vector<Watch> watches(std::strtoul(argv[4], nullptr, 10));
  const int events = std::atoi(argv[5]);
  std::vector<pplx::task<void>> tasks;
  for (auto& w : watches) {
    tasks.push_back(client.request(web::http::methods::GET, "/api/v1/pods?watch=1")
                        .then([&w, by_line](const web::http::http_response& response) {
                          w.body = response.body();
                          return by_line ? ReadLines(w) : ReadPieces(w);
                        }));
  }
  int failed = 0;
  for (auto& t : tasks) {
    try {
      t.get();
    } catch (const std::exception& e) {
      if (failed++ == 0) {
        std::fprintf(stderr, "watch_cpprest: %s\n", e.what());
      }
    }
  }
  long complete = 0;
  for (const auto& w : watches) {
    complete += w.lines.Complete(events) ? 1 : 0;
  }
  const std::string name = std::string("cpprestsdk, ") + (by_line ? "read_line" : "pieces split by us") +
                           (pool > 0 ? ", pool of " + std::to_string(pool) : std::string(", default pool"));
  measure::Report(
      name, measure::Threads(),
      std::to_string(complete) + " of " + argv[4] + " streams complete, " + argv[5] + " events each");
  return complete == static_cast<long>(watches.size()) ? 0 : 1;
}
