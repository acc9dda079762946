// Nobody learns or reports anything about another's job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/replica_token.h"
#include "tests/e2e/supervisor_fixture.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string Bearer(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class SupervisorTokens : public SupervisorTest {
 protected:
  // Both are asked at once: whether it is told its peers, and whether its report is heard.
  struct Statuses {
    int discover = 0;
    int hints = 0;

    friend bool operator==(const Statuses&, const Statuses&) = default;
    friend void PrintTo(const Statuses& statuses, std::ostream* out) {
      *out << statuses.discover << " and " << statuses.hints;
    }
  };

  Statuses Ask(const SupervisorProgram& supervisor, const std::string& job, const std::string& group,
               const std::string& token) const {
    const std::string id = "/" + name_space_ + "/" + job;
    const TestReply discover =
        Request(supervisor, "GET", "/discover" + id + "/" + group + "?timeout=0", token);
    const TestReply hints =
        Request(supervisor, "PUT", "/hints" + id + "?group=" + group,
                token + "Content-Type: application/json\r\n", TestTrainer::RecordedHints());
    for (const TestReply& reply : {discover, hints}) {
      if (reply.status == 200) continue;
      EXPECT_THAT(ErrorIn(reply), Not(IsEmpty())) << reply.head << reply.body;
      EXPECT_EQ(reply.status == 401, reply.head.find("WWW-Authenticate: Bearer\r\n") != std::string::npos);
    }
    return {discover.status, hints.status};
  }

  std::string TokenOf(const std::string& job) const { return TokenIn(EnvironmentsOf(job).at(0)); }
};

TEST_F(SupervisorTokens, AreOfOneGroupOfOneJob) {
  const SupervisorProgram& required = StartSupervisor();
  const SupervisorProgram& optional = StartSupervisor({"--auth", "optional"});
  const SupervisorProgram& off = StartSupervisor({"--auth", "off"});
  StartOperatorWith(required.url());
  Run("ann", {"played-0"});
  Run("bob", {"played-1"});
  const std::string ann = TokenOf("ann");
  std::string broken = ann;
  broken.back() = broken.back() == 'A' ? 'B' : 'A';

  struct Case {
    const char* what;
    const char* job;
    const char* group;
    std::string header;
    Statuses required, optional, off;
  };
  const Statuses taken{200, 200};
  const Statuses wrong{403, 403};
  const std::vector<Case> cases = {
      {"its own", "ann", "0", Bearer(ann), taken, taken, taken},
      {"another job's", "bob", "0", Bearer(ann), wrong, wrong, taken},
      {"another group's", "ann", "1", Bearer(ann), wrong, wrong, {408, 200}},
      {"none", "ann", "0", "", {401, 401}, taken, taken},
      {"of no job", "nobody", "0", Bearer(ann), wrong, wrong, {408, 404}},
      {"broken", "ann", "0", Bearer(broken), wrong, wrong, taken},
      {"rubbish", "ann", "0", Bearer("rubbish"), wrong, wrong, taken},
      {"another scheme", "ann", "0", "Authorization: Basic YTpi\r\n", {401, 401}, taken, taken},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Ask(required, one.job, one.group, one.header), one.required) << one.what;
    EXPECT_EQ(Ask(optional, one.job, one.group, one.header), one.optional) << one.what;
    EXPECT_EQ(Ask(off, one.job, one.group, one.header), one.off) << one.what;
  }
  // One in the path counts, whatever the header says.
  const std::string path = "/t/" + ann + "/discover/" + name_space_ + "/ann/0?timeout=0";
  EXPECT_EQ(Request(required, "GET", path, Bearer("rubbish")).status, 200);
}

TEST_F(SupervisorTokens, KeysChangeWhileAllGoesOn) {
  const std::string first = "the-first-key-of-three-for-replica-tokens\n";
  const std::string second = "another-key-that-comes-after-the-first-one\n";
  WriteKeys(first);
  SupervisorProgram& supervisor = StartSupervisor();
  ChildProgram& operator_program = StartOperatorWith(supervisor.url());
  const auto both_write = [&](const std::string& text, std::size_t times) {
    return Eventually([&] {
      return Count(supervisor.process().output(), text) == times &&
             Count(operator_program.output(), text) == times;
    });
  };
  const Statuses taken{200, 200};
  Run("old", {"played-0"});
  const std::string old = Bearer(TokenOf("old"));
  EXPECT_EQ(Ask(supervisor, "old", "0", old), taken);

  WriteKeys(second + first);
  ASSERT_TRUE(both_write("token keys renewed", 1));
  Run("new", {"played-1"});
  const std::string token = TokenOf("new");
  EXPECT_TRUE(TokenKeys::Parse(second)->Open(token, name_space_, "new"));
  EXPECT_EQ(Ask(supervisor, "new", "0", Bearer(token)), taken);
  EXPECT_EQ(Ask(supervisor, "old", "0", old), taken);

  WriteKeys("too-short\n");
  ASSERT_TRUE(both_write("token keys not renewed", 1));
  EXPECT_EQ(Ask(supervisor, "old", "0", old), taken);

  WriteKeys(second);
  ASSERT_TRUE(both_write("token keys renewed", 2));
  EXPECT_EQ(Ask(supervisor, "new", "0", Bearer(token)), taken);
  EXPECT_EQ(Ask(supervisor, "old", "0", old), (Statuses{403, 403}));
  for (const std::string& key : {first, second}) {
    EXPECT_THAT(supervisor.process().output() + operator_program.output(),
                Not(HasSubstr(key.substr(0, key.size() - 1))));
  }
}

}  // namespace
}  // namespace adaptdl
