#include "lab/download.hpp"

#include "data/archive.hpp"
#include "environment.hpp"
#include "http_server.hpp"
#include "ignd/error.hpp"
#include "make_archive.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/file.h>
#include <sys/resource.h>

// The real code against a server on this machine that misbehaves.
namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::Connection;
using testing::contains;
using testing::content_of;
using testing::HttpServer;
using testing::range_of;
using testing::ScratchFolder;
using testing::Variable;
using testing::well_behaved;
using testing::write_text;

std::string noise(std::size_t size) {
  std::mt19937 random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class Download : public ::testing::Test {
 protected:
  // Downloads to target(), and returns the message if that fails.
  std::string attempt(const std::string& url) {
    try {
      download(
          url, target(),
          [&](const fs::path& path) {
            ++checks_;
            if (content_of(path) != content_) throw FileError("other contents");
          },
          options_);
      EXPECT_EQ(content_of(target()), content_);
      EXPECT_FALSE(fs::exists(part()));
      return "";
    } catch (const FileError& fault) {
      std::string message = fault.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_NE(message, "");
      return message;
    }
  }

  fs::path target() const { return folder_ / "file"; }
  fs::path part() const { return folder_ / "file.part"; }
  // What the first transfer leaves when it broke off after `size` bytes.
  void leave_part(std::size_t size) const { write_text(part(), content_.substr(0, size)); }

  ScratchFolder folder_;
  const std::string content_ = noise(300'000);
  DownloadOptions options_;
  int checks_ = 0;

 private:
  Variable no_proxy_{"no_proxy", "127.0.0.1,localhost"};
};

TEST_F(Download, BringsTheFileAndSaysHowFarItIs) {
  const HttpServer server(well_behaved(content_));
  std::vector<std::uint64_t> seen;
  options_.on_progress = [&](std::uint64_t done) { seen.push_back(done); };
  EXPECT_EQ(attempt(server.url()), "");
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.back(), content_.size());
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_FALSE(contains(server.requests()[0], "Range:"));
  EXPECT_TRUE(contains(server.requests()[0], "User-Agent: ignd/"));
}

TEST_F(Download, MakesTheFolderAndReplacesAnOldFile) {
  const HttpServer server(well_behaved(content_));
  const fs::path deep = folder_ / "a/b/file";
  download(
      server.url(), deep, [](const fs::path&) {}, options_);
  EXPECT_EQ(content_of(deep), content_);
  write_text(target(), "old");
  EXPECT_EQ(attempt(server.url()), "");
}

TEST_F(Download, GoesOnWithAPart) {
  const HttpServer server(well_behaved(content_));
  leave_part(123'456);
  EXPECT_EQ(attempt(server.url()), "");
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(range_of(server.requests()[0]), 123'456U);
}

TEST_F(Download, ABrokenConnectionIsGoneOnWithNextTime) {
  const HttpServer server([&](const std::string& request, const Connection& connection) {
    if (range_of(request) > 0) return well_behaved(content_)(request, connection);
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + content_.substr(0, 100'000));
  });
  EXPECT_TRUE(contains(attempt(server.url()), "broke off; run the same command again to resume"));
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_EQ(checks_, 0);
  EXPECT_EQ(content_of(part()), content_.substr(0, 100'000));
  EXPECT_EQ(attempt(server.url()), "");
  EXPECT_EQ(range_of(server.requests()[1]), 100'000U);
}

TEST_F(Download, ABrokenChunkIsNotTheEnd) {
  const HttpServer server([&](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n" + content_.substr(0, 256) + "\r\n");
  });
  EXPECT_TRUE(contains(attempt(server.url()), "broke off"));
  EXPECT_EQ(checks_, 0);
}

TEST_F(Download, AServerThatIgnoresRangesIsAskedForAll) {
  const HttpServer server(
      [&](const std::string&, const Connection& connection) { well_behaved(content_)("", connection); });
  leave_part(1000);
  EXPECT_EQ(attempt(server.url()), "");
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(Download, ARangeThatNobodyAskedForIsNotAppended) {
  const HttpServer server([&](const std::string& request, const Connection& connection) {
    if (range_of(request) == 0) return well_behaved(content_)(request, connection);
    connection.send("HTTP/1.1 206 Partial\r\nContent-Range: bytes 7-299999/300000\r\nContent-Length: 299993\r\n\r\n" +
                    content_.substr(7));
  });
  leave_part(1000);
  EXPECT_EQ(attempt(server.url()), "");
}

TEST_F(Download, APartOfAnotherFileIsThrownAway) {
  const HttpServer server(well_behaved(content_));
  write_text(part(), std::string(1000, 'z'));
  EXPECT_EQ(attempt(server.url()), "");
  EXPECT_EQ(checks_, 2);
  EXPECT_EQ(server.requests().size(), 2U);
  write_text(part(), std::string(content_.size() + 1, 'z'));
  EXPECT_EQ(attempt(server.url()), "") << "a part that is longer than the file";
}

TEST_F(Download, ACompletePartNeedsNoMore) {
  const HttpServer server(well_behaved(content_));
  leave_part(content_.size());
  EXPECT_EQ(attempt(server.url()), "");
  EXPECT_EQ(server.requests().size(), 1U);
  const HttpServer without_ranges(
      [&](const std::string&, const Connection& connection) { well_behaved(content_)("", connection); });
  leave_part(content_.size());
  EXPECT_EQ(attempt(without_ranges.url()), "");
}

TEST_F(Download, WrongContentIsRemovedAndTheOldFileStays) {
  const HttpServer server(well_behaved("<html>Please log in</html>"));
  write_text(target(), "old");
  EXPECT_TRUE(contains(attempt(server.url()), "delivers the wrong file: other contents"));
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"file"});
  EXPECT_EQ(content_of(target()), "old");
  leave_part(10);
  EXPECT_TRUE(contains(attempt(server.url()), "delivers the wrong file")) << "also where a part was there";
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"file"});
}

TEST_F(Download, AShortFileWithoutALengthIsFoundByTheCheck) {
  const HttpServer server([&](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + content_.substr(0, 1000));
  });
  EXPECT_TRUE(contains(attempt(server.url()), "other contents"));
  EXPECT_EQ(folder_.files(), std::vector<std::string>{});
}

TEST_F(Download, ALengthThatIsTooShortIsFoundByTheCheck) {
  const HttpServer server([&](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n" + content_);
  });
  EXPECT_TRUE(contains(attempt(server.url()), "other contents"));
}

TEST_F(Download, AnHttpErrorIsNamedAndLeavesThePart) {
  for (const int status : {300, 304, 400, 401, 403, 404, 410, 416, 429, 500, 503}) {
    const HttpServer server([&](const std::string&, const Connection& connection) {
      connection.send("HTTP/1.1 " + std::to_string(status) +
                      " No\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsorry");
    });
    const std::string message = attempt(server.url());
    // A 304 has no content, which is found to be wrong.
    const std::string expected = status == 304 ? "other contents" : "HTTP status " + std::to_string(status);
    EXPECT_TRUE(contains(message, expected)) << message;
    EXPECT_EQ(folder_.files(), std::vector<std::string>{}) << status;
  }
  const HttpServer server([](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nsorry");
  });
  leave_part(1000);
  attempt(server.url());
  EXPECT_EQ(content_of(part()), content_.substr(0, 1000));
}

TEST_F(Download, EndlessDataIsCutOffAndRemoved) {
  for (const char* length : {"", "Content-Length: 4000000000000\r\n"}) {
    const HttpServer server([&](const std::string&, const Connection& connection) {
      connection.send("HTTP/1.1 200 OK\r\n" + std::string(length) + "\r\n");
      while (connection.send(content_)) {
      }
    });
    options_.most = 1'000'000;
    EXPECT_TRUE(contains(attempt(server.url()), "more than 1000000 bytes"));
    EXPECT_EQ(folder_.files(), std::vector<std::string>{});
  }
}

TEST_F(Download, AFileOfJustTheLimitPasses) {
  const HttpServer server(well_behaved(content_));
  options_.most = content_.size();
  EXPECT_EQ(attempt(server.url()), "");
  options_.most = content_.size() - 1;
  EXPECT_TRUE(contains(attempt(server.url()), "more than 299999 bytes"));
}

TEST_F(Download, AStalledConnectionIsGivenUp) {
  const HttpServer server([&](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + content_.substr(0, 1));
    connection.wait_for_end();
  });
  options_.stall_timeout = std::chrono::seconds(1);
  EXPECT_TRUE(contains(attempt(server.url()), "the transfer stalled"));
  EXPECT_EQ(content_of(part()), content_.substr(0, 1));
}

TEST_F(Download, AServerThatNeverAnswersIsGivenUp) {
  const HttpServer server([](const std::string&, const Connection& connection) { connection.wait_for_end(); });
  options_.stall_timeout = std::chrono::seconds(1);
  EXPECT_TRUE(contains(attempt(server.url()), "the transfer stalled"));
  EXPECT_EQ(folder_.files(), std::vector<std::string>{});
}

TEST_F(Download, RedirectsAreFollowedButNotForEver) {
  const HttpServer server([&](const std::string& request, const Connection& connection) {
    if (request.starts_with("GET /real ")) return well_behaved(content_)(request, connection);
    const std::string to = request.starts_with("GET /moved ") ? "/real" : "/again";
    connection.send("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere");
  });
  EXPECT_EQ(attempt(server.url("/moved")), "");
  leave_part(1000);
  EXPECT_EQ(attempt(server.url("/moved")), "") << "with a part";
  EXPECT_TRUE(contains(attempt(server.url("/again")), "redirects too often"));
  EXPECT_LT(server.requests().size(), 20U);
}

TEST_F(Download, ARedirectToAFileOfThisMachineIsNotFollowed) {
  write_text(folder_ / "secret", content_);
  const HttpServer server([&](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 302 Found\r\nLocation: file://" + (folder_ / "secret").string() +
                    "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  EXPECT_NE(attempt(server.url()), "");
  EXPECT_FALSE(fs::exists(target()));
}

TEST_F(Download, OnlyHttpIsSpoken) {
  write_text(folder_ / "secret", content_);
  for (const std::string& url :
       {"file://" + (folder_ / "secret").string(), std::string("ftp://127.0.0.1/x"), std::string("gopher://x"),
        std::string("http://"), std::string(), std::string("http://a b/\n"), std::string("\xff")}) {
    EXPECT_TRUE(contains(attempt(url), "cannot download")) << url;
  }
  EXPECT_TRUE(contains(attempt("ftp://127.0.0.1/x"), "starts with http:// or https://"));
}

TEST_F(Download, AnswersThatAreNoHttpAreRefused) {
  for (const std::string& answer : {std::string(), std::string("SSH-2.0-OpenSSH\r\n"), noise(1000),
                                    std::string("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc")}) {
    const HttpServer server([&](const std::string&, const Connection& connection) { connection.send(answer); });
    EXPECT_NE(attempt(server.url()), "");
    EXPECT_FALSE(fs::exists(target()));
  }
}

TEST_F(Download, WithoutANetworkItSaysSo) {
  std::string closed;
  {
    const HttpServer server(well_behaved(content_));
    closed = server.url();
  }
  leave_part(1000);
  EXPECT_TRUE(contains(attempt(closed), "is there a network?"));
  EXPECT_EQ(content_of(part()).size(), 1000U);
  EXPECT_TRUE(contains(attempt("http://no-such-host.invalid/x"), "name of the server is not known"));
}

// A TLS server whose certificate nobody has signed but itself.
class SelfSigned {
 public:
  SelfSigned() : context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
    constexpr long day = 86'400;
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -day);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), day);
    X509_set_pubkey(certificate.get(), key.get());
    const auto* host = reinterpret_cast<const unsigned char*>("127.0.0.1");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC, host, -1, -1, 0);
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
  }

  // Whether somebody has believed it.
  bool greet(const Connection& connection) const { return !exchange(connection, "").empty(); }

  // Answers a request, and returns it; empty if nobody believed.
  std::string exchange(const Connection& connection, const std::string& answer) const {
    const std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(context_.get()), &SSL_free);
    SSL_set_fd(session.get(), connection.fd());
    std::string request(4096, '\0');
    if (SSL_accept(session.get()) != 1) return "";
    const int size = SSL_read(session.get(), request.data(), static_cast<int>(request.size()));
    request.resize(static_cast<std::size_t>(std::max(size, 0)));
    if (!answer.empty()) SSL_write(session.get(), answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(session.get());
    return request;
  }

  // For those who are to believe it.
  void write_certificate(const fs::path& path) const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(path.c_str(), "w"), &BIO_free);
    PEM_write_bio_X509(file.get(), SSL_CTX_get0_certificate(context_.get()));
  }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

TEST_F(Download, WhoCannotProveToBeTheServerIsNotBelieved) {
  const SelfSigned stranger;
  std::atomic<bool> believed = false;
  const HttpServer server([&](const std::string&, const Connection& connection) {
    if (stranger.greet(connection)) believed = true;
  });
  const std::string message = attempt("https" + server.url().substr(4));
  EXPECT_TRUE(contains(message, "cannot prove to be that server: SSL certificate problem: self")) << message;
  EXPECT_FALSE(believed);
  const HttpServer plain(
      [&](const std::string&, const Connection& connection) { connection.send("HTTP/1.1 400\r\n\r\n"); });
  EXPECT_TRUE(contains(attempt("https" + plain.url().substr(4)), "cannot prove to be that server"));
}

TEST_F(Download, ARedirectDoesNotLeaveHttps) {
  const SelfSigned trusted;
  trusted.write_certificate(folder_ / "certificate");
  options_.authorities = folder_ / "certificate";
  const HttpServer plain(well_behaved(content_));
  std::string to;
  const HttpServer secure([&](const std::string&, const Connection& connection) {
    trusted.exchange(connection,
                     "HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  const std::string address = "https" + secure.url().substr(4);
  for (const std::string& first : {address, "HTTPS" + address.substr(5)}) {
    to = plain.url();
    const std::string message = attempt(first);
    EXPECT_TRUE(contains(message, "redirects to an address that does not start with https://")) << message;
    EXPECT_FALSE(fs::exists(target()));
    to = address;
    EXPECT_TRUE(contains(attempt(first), "redirects too often")) << "from https to https";
  }
  EXPECT_EQ(plain.requests().size(), 0U);
}

// As much as a file may grow, until the end of the scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  FileSizeLimit(FileSizeLimit&&) = delete;
  FileSizeLimit& operator=(FileSizeLimit&&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(Download, AFullDiskLosesNothing) {
  const HttpServer server(well_behaved(content_));
  std::string message;
  {
    const FileSizeLimit limit(100'000);
    message = attempt(server.url());
  }
  EXPECT_TRUE(contains(message, "cannot write")) << message;
  EXPECT_TRUE(contains(message, "free some space")) << message;
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_EQ(content_of(part()), content_.substr(0, 100'000));
  EXPECT_EQ(attempt(server.url()), "");
  EXPECT_EQ(range_of(server.requests()[1]), 100'000U);
}

TEST_F(Download, WhatCannotGetItsNameStays) {
  const HttpServer server(well_behaved(content_));
  fs::create_directory(target());
  for (const std::size_t before : {std::size_t{0}, std::size_t{1000}}) {
    if (before > 0) leave_part(before);
    const std::string message = attempt(server.url());
    EXPECT_TRUE(message.starts_with("cannot rename '" + part().string() + "' to '" + target().string())) << message;
    EXPECT_TRUE(contains(message, "run the same command again to resume")) << message;
    EXPECT_EQ(content_of(part()), content_);
  }
  fs::remove(target());
  EXPECT_EQ(attempt(server.url()), "");
}

TEST_F(Download, TwoDoNotWriteToOnePart) {
  const HttpServer server(well_behaved(content_));
  leave_part(1000);
  const int other = ::open(part().c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_TRUE(contains(attempt(server.url()), "another process is downloading"));
  EXPECT_EQ(content_of(part()).size(), 1000U);
  EXPECT_TRUE(server.requests().empty());
  ::close(other);
  EXPECT_EQ(attempt(server.url()), "");
}

TEST_F(Download, AFolderThatCannotBeWrittenToIsNamed) {
  const HttpServer server(well_behaved(content_));
  write_text(folder_ / "blocked", "");
  const auto to = [&](const fs::path& path) {
    download(
        server.url(), path, [](const fs::path&) {}, options_);
  };
  EXPECT_THROW(to(folder_ / "blocked/file"), FileError);
  fs::create_directory(folder_ / "file");
  EXPECT_THROW(to(folder_ / "file"), FileError) << "a folder of that name";
  EXPECT_TRUE(server.requests().size() <= 1);
}

// A data set that the server has.
class Fetch : public Download {
 protected:
  Fetch() {
    set_.name = "small";
    set_.files = {"small.bin"};
    set_.members = {"small.bin"};
    set_.count = 1;
    set_.size = content_.size();
    set_.checksum = sha256(sha256(content_) + "  small.bin\n");
  }

  std::string fault(const std::string& from) {
    try {
      fetch_data(set_, from, {});
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  }

  DataSet set_;
  Variable cache_{"XDG_CACHE_HOME", (folder_ / ".").string()};
  Variable data_{"IGND_DATA", std::nullopt};
};

TEST_F(Fetch, BringsADataSetOnce) {
  const HttpServer server(well_behaved(content_));
  set_.url = server.url();
  EXPECT_EQ(content_of(fetch_data(set_, "", {})), content_);
  EXPECT_EQ(look_for_data(set_).path, fetch_data(set_, "", {}));
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(Fetch, AnotherAddressMayBeGiven) {
  const HttpServer server(well_behaved(content_));
  EXPECT_TRUE(contains(fault(""), "no public address"));
  set_.url = "http://no-such-host.invalid/x";
  EXPECT_TRUE(contains(fault(""), "by hand: put http://no-such-host.invalid/x as small.bin into"));
  EXPECT_EQ(fault(server.url()), "");
}

TEST_F(Fetch, AWrongFileIsNotKeptAndAWrongOneIsReplaced) {
  const HttpServer wrong(well_behaved(content_ + "x"));
  const HttpServer endless([&](const std::string&, const Connection& connection) {
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.send(content_)) {
    }
  });
  EXPECT_TRUE(contains(fault(wrong.url()), "has other contents"));
  EXPECT_TRUE(contains(fault(endless.url()), "the server sends more than"));
  EXPECT_TRUE(fs::is_empty(cache_folder()));
  write_text(cache_folder() / "small.bin", "damaged");
  const HttpServer right(well_behaved(content_));
  EXPECT_EQ(fault(right.url()), "");
}

TEST_F(Fetch, ARepackedArchiveIsTheSameDataSet) {
  set_.files = {"small.tar.gz"};
  set_.members = {"d/*"};
  set_.checksum = sha256(sha256("1") + "  d/a\n");
  testing::make_archive(folder_ / "other.tar.gz", {{"more", "x"}, {"./d/a", "1"}});
  const HttpServer server(well_behaved(content_of(folder_ / "other.tar.gz")));
  EXPECT_EQ(fault(server.url()), "");
  EXPECT_TRUE(fs::exists(cache_folder() / "small.tar.gz"));
}

}  // namespace
}  // namespace ignd
