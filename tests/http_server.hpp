#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ignd::testing {

// Somebody who asks, and whom to answer.
class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  // False once nobody listens any more.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  int fd() const { return fd_; }

  // Leaves what does not start like one, such as a greeting of TLS, to whoever answers.
  std::string read_request() const {
    std::string request;
    char byte = 0;
    if (::recv(fd_, &byte, 1, MSG_PEEK) != 1 || byte != 'G') return "";
    while (!request.ends_with("\r\n\r\n") && ::recv(fd_, &byte, 1, 0) == 1) request += byte;
    return request;
  }

  // Until the other side has closed.
  void wait_for_end() const {
    char byte = 0;
    while (::recv(fd_, &byte, 1, 0) == 1) {
    }
  }

 private:
  int fd_;
};

// An HTTP server on this machine that behaves as a test wants it to, one connection after another.
class HttpServer {
 public:
  using Answer = std::function<void(const std::string& request, const Connection& connection)>;

  explicit HttpServer(Answer answer) : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* general = reinterpret_cast<sockaddr*>(&address);
    constexpr int waiting = 16;
    if (listener_ < 0 || ::bind(listener_, general, size) != 0 || ::listen(listener_, waiting) != 0 ||
        ::getsockname(listener_, general, &size) != 0) {
      throw std::runtime_error("cannot start a server for the test");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  HttpServer(HttpServer&&) = delete;
  HttpServer& operator=(HttpServer&&) = delete;

  std::string url(const std::string& path = "/file") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (;;) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const Connection connection(fd);
      const std::string request = connection.read_request();
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      answer_(request, connection);
    }
  }

  Answer answer_;
  int listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

// The first byte that a request asks for: 0 unless it has a range.
inline std::size_t range_of(const std::string& request) {
  const std::string key = "Range: bytes=";
  const std::size_t at = request.find(key);
  return at == std::string::npos ? 0 : std::stoul(request.substr(at + key.size()));
}

// How a server answers that does nothing wrong.
inline HttpServer::Answer well_behaved(const std::string& content) {
  return [content](const std::string& request, const Connection& connection) {
    const std::size_t from = range_of(request);
    const std::string size = std::to_string(content.size());
    if (from > 0 && from >= content.size()) {
      connection.send("HTTP/1.1 416 No\r\nContent-Range: bytes */" + size +
                      "\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsorry");
      return;
    }
    const std::string rest = content.substr(from);
    const std::string status = from == 0 ? "200 OK"
                                         : "206 Partial Content\r\nContent-Range: bytes " + std::to_string(from) + "-" +
                                               std::to_string(content.size() - 1) + "/" + size;
    connection.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(rest.size()) +
                    "\r\nConnection: close\r\n\r\n" + rest);
  };
}

}  // namespace ignd::testing
