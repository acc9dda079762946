// How it begins and ends.
#include <gmock/gmock.h>

#include "runtime/tls_testing.h"
#include "supervisor/rpc/rpc_testing.h"

namespace adaptdl {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RpcServerLifeTest : public testing::RpcFixture {};

TEST_F(RpcServerLifeTest, StopsWithAWordForEverybody) {
  Serve();
  const Poll poll = Discover();
  WaitForPolls(1);
  const auto watcher = Watched();
  bool stopped = false;
  bool drained = false;
  server_->Stop([&] { stopped = true; });
  server_->Stop([] { ADD_FAILURE() << "only the first one counts"; });
  EXPECT_EQ(Done(watcher)->status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(watcher->reasons, IsEmpty());
  EXPECT_FALSE(poll->done);
  supervisor_->Drain([&] { drained = true; });
  EXPECT_EQ(Done(poll)->status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(poll->status.error_message(), HasSubstr("about to end"));
  Wait([&] { return stopped && drained; });
  EXPECT_EQ(Done(Discover())->status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Done(Watch(Token()))->status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(RpcServerLifeTest, WhoIsNotAnsweredWhileItStopsIsSentAway) {
  Serve({.drain = milliseconds(0)});
  const Poll poll = Discover();
  WaitForPolls(1);
  bool stopped = false;
  server_->Stop([&] {
    server_.reset();
    stopped = true;
  });
  EXPECT_EQ(Done(poll)->status.error_code(), StatusCode::UNAVAILABLE);
  WaitForPolls(0);
  Wait([&] { return stopped; });
}

TEST_F(RpcServerLifeTest, ItsEndCutsOffWhatIsLeft) {
  Serve();
  const Poll poll = Discover();
  WaitForPolls(1);
  const auto watcher = Watched();
  const Poll unserved = Discover();
  server_.reset();
  WaitForPolls(0);
  EXPECT_FALSE(Done(poll)->status.ok());
  EXPECT_FALSE(Done(unserved)->status.ok());
  EXPECT_FALSE(Done(watcher)->status.ok());
}

TEST_F(RpcServerLifeTest, ItsEndWhileItStops) {
  Serve();
  const Poll poll = Discover();
  WaitForPolls(1);
  server_->Stop([] { ADD_FAILURE() << "nobody is there to be told"; });
  server_.reset();
  EXPECT_EQ(Done(poll)->status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(RpcServerLifeTest, SpeaksTls) {
  const TlsIdentity identity = MakeIdentity("localhost");
  Serve({.tls = identity});
  SetAddress(1);
  EXPECT_FALSE(Done(Discover())->status.ok());  // In the clear.
  Connect(grpc::SslCredentials({.pem_root_certs = identity.certificates}));
  const Poll poll = Done(Discover());
  EXPECT_TRUE(poll->status.ok()) << poll->status.error_message();
}

TEST_F(RpcServerLifeTest, DoesNotStartWhereItCannotServe) {
  Serve();
  const auto start = [&](const RpcServerOptions& options) {
    const auto server = RpcServer::Start(loop_, *supervisor_, options);
    EXPECT_FALSE(server);
    return server ? Error() : server.error();
  };
  const Error taken = start({.address = "127.0.0.1", .port = server_->port()});
  EXPECT_EQ(taken.code, ErrorCode::kUnavailable);
  EXPECT_THAT(taken.message,
              HasSubstr("127.0.0.1 port " + std::to_string(server_->port()) + ": Address already in use"));
  EXPECT_THAT(start({.address = "localhost"}).message, HasSubstr("address: localhost is not numeric"));
  const TlsIdentity mixed{.certificates = MakeIdentity("a").certificates, .key = MakeIdentity("b").key};
  EXPECT_THAT(start({.address = "127.0.0.1", .tls = mixed}).message, HasSubstr("TLS key: "));
}

}  // namespace
}  // namespace adaptdl
