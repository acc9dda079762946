// Stands in for libFuzzer where the compiler has none: runs a target over its corpus and over mutations of
// it, the same ones every time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kMutations = 4000;
constexpr std::uint64_t kSeed = 1;

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

  std::string Next() {
    std::string text = Pick();
    for (std::size_t steps = 1 + Below(4); steps > 0; --steps) Change(&text);
    return text;
  }

 private:
  static constexpr std::string_view kTokens[] = {"null", "-1",   "0",  "1e999", "NaN", "9223372036854775808",
                                                 "1e-9", "\"\"", "{}", "[]",    "[",   "\"",
                                                 "Ei",   "\xff"};

  std::size_t Below(std::size_t limit) { return random_() % limit; }
  const std::string& Pick() { return corpus_[Below(corpus_.size())]; }

  void Change(std::string* text) {
    const std::size_t at = Below(text->size() + 1);
    const std::size_t length = Below(text->size() - at + 1);
    switch (Below(5)) {
      case 0:  // One bit.
        if (at < text->size()) (*text)[at] = static_cast<char>((*text)[at] ^ (1 << Below(8)));
        break;
      case 1:
        text->erase(at, length);
        break;
      case 2:
        text->insert(at, text->substr(at, length));
        break;
      case 3:
        text->replace(at, std::min<std::size_t>(length, 8), kTokens[Below(std::size(kTokens))]);
        break;
      default:  // The end of another one.
        const std::string& other = Pick();
        *text = text->substr(0, at) + other.substr(Below(other.size() + 1));
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_{kSeed};
};

void Run(std::string_view text) {
  // A copy without a byte to spare, so that a sanitizer sees a read past the end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    Run(corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus\n");
    return 1;
  }
  Mutator mutator(corpus);
  for (int i = 0; i < kMutations; ++i) Run(mutator.Next());
  std::printf("%zu files, %d mutations\n", corpus.size(), kMutations);
  return 0;
}
