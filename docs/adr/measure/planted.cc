// planted BUG: a program with one known mistake, to see which build stops at it. Ends with 0 if none did.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  const char* bug = argc > 1 ? argv[1] : "";
  volatile int zero = argc - 2;  // 0, but not for the compiler.
  int seen = 0;
  if (std::strcmp(bug, "index") == 0) {  // Outside of a vector.
    const std::vector<int> v(8, 1);
    seen = v[static_cast<std::size_t>(8 + zero)];
  } else if (std::strcmp(bug, "freed") == 0) {  // A pointer into a vector that has grown.
    std::vector<int> v(8, 1);
    const int* first = v.data();
    v.resize(static_cast<std::size_t>(1000 + zero));
    seen = *first;
  } else if (std::strcmp(bug, "overflow") == 0) {  // Signed overflow.
    seen = INT_MAX - zero;
    seen += 1 + zero;
  } else if (std::strcmp(bug, "leak") == 0) {  // Memory that nobody frees.
    void* volatile lost = std::malloc(static_cast<std::size_t>(100 + zero));
    lost = nullptr;
    seen = lost == nullptr ? 1 : 0;
  } else if (std::strcmp(bug, "race") == 0) {  // Two threads write without a lock.
    std::thread other([&seen] { seen = 1; });
    seen = 2;
    other.join();
  } else {
    return 2;
  }
  std::printf("%d\n", seen);
  return 0;
}
