// Many libcurl transfers on one thread: driven by epoll, or by libcurl's own curl_multi_poll.
#pragma once

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <functional>

namespace measure {

class CurlLoop {
 public:
  CurlLoop() : multi_(curl_multi_init()), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 8192L);
  }
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;
  ~CurlLoop() {
    curl_multi_cleanup(multi_);
    close(epoll_);
  }

  void Add(CURL* easy) {
    curl_multi_add_handle(multi_, easy);
    ++running_;
  }

  // Until every transfer has ended; `done` may add the next one.
  void RunEpoll(const std::function<void(CURL*, CURLcode)>& done) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlLoop::OnSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlLoop::OnTimer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    int active = 0;
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &active);
    std::array<epoll_event, 256> events{};
    while (running_ > 0) {
      const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms_);
      if (n == 0) {
        curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &active);
      }
      for (int i = 0; i < n; ++i) {
        const auto& e = events[static_cast<std::size_t>(i)];
        const int mask = ((e.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) ? CURL_CSELECT_IN : 0) |
                         ((e.events & EPOLLOUT) ? CURL_CSELECT_OUT : 0);
        curl_multi_socket_action(multi_, e.data.fd, mask, &active);
      }
      Collect(done);
    }
  }

  void RunPoll(const std::function<void(CURL*, CURLcode)>& done) {
    int active = 0;
    while (running_ > 0) {
      curl_multi_perform(multi_, &active);
      Collect(done);
      if (running_ > 0) {
        curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
      }
    }
  }

 private:
  void Collect(const std::function<void(CURL*, CURLcode)>& done) {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) {
        CURL* easy = message->easy_handle;
        const CURLcode code = message->data.result;
        curl_multi_remove_handle(multi_, easy);
        --running_;
        done(easy, code);
      }
    }
  }

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
    auto* loop = static_cast<CurlLoop*>(self);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(loop->epoll_, EPOLL_CTL_DEL, fd, nullptr);
      return 0;
    }
    epoll_event e{};
    e.events = ((what & CURL_POLL_IN) ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0U);
    e.data.fd = fd;
    epoll_ctl(loop->epoll_, known != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e);
    curl_multi_assign(loop->multi_, fd, loop);
    return 0;
  }
  static int OnTimer(CURLM*, long timeout_ms, void* self) {
    static_cast<CurlLoop*>(self)->timeout_ms_ = static_cast<int>(timeout_ms);
    return 0;
  }

  CURLM* multi_;
  int epoll_;
  int timeout_ms_ = 0;
  int running_ = 0;
};

}  // namespace measure
