#include "lab/download.hpp"

#include "base/atomic_file.hpp"
#include "base/pinned.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/version.hpp"

#include <cerrno>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

std::string message_of(int error) { return std::generic_category().message(error); }

// The file that a download is written to. Locked as long as it is open.
class PartFile : Pinned {
 public:
  explicit PartFile(const fs::path& target) : target_(target), path_(target) {
    path_ += ".part";
    std::error_code fault;
    fs::create_directories(path_.parent_path(), fault);
    do {
      file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
      if (!file_.is_open()) fail("create", errno);
      if (::flock(*file_, LOCK_EX | LOCK_NB) != 0) {
        const int error = errno;
        if (error != EWOULDBLOCK) fail("lock", error);
        throw FileError(fmt::format("another process is downloading {}; wait for it to end", quoted_path(target)));
      }
      // The process that held the lock before may have renamed or removed the file.
    } while (!file_.is_at(path_));
    struct stat status {};
    if (::fstat(*file_, &status) != 0) fail("read", errno);
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~PartFile() {
    if (size_ == 0) remove();
  }

  const fs::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  // Returns the error, or 0.
  int append(std::string_view bytes) {
    const std::size_t wanted = bytes.size();
    const int error = file_.write(bytes);
    size_ += wanted - bytes.size();
    return error;
  }

  void empty() {
    if (::ftruncate(*file_, 0) != 0) fail("empty", errno);
    size_ = 0;
  }

  void remove() {
    if (file_.is_at(path_)) ::unlink(path_.c_str());
  }

  // Becomes the target.
  void finish() {
    // Before the rename: otherwise a crash could leave the new name with half of the content.
    if (::fsync(*file_) != 0) fail("sync", errno);
    if (::rename(path_.c_str(), target_.c_str()) == 0) return;
    const int error = errno;
    throw FileError(fmt::format("cannot rename {} to {}: {}; free the name, and run the same command again to resume",
                                quoted_path(path_), quoted_path(target_), message_of(error)));
  }

 private:
  [[noreturn]] void fail(std::string_view what, int error) const {
    throw FileError(fmt::format("cannot {} {}: {}", what, quoted_path(path_), message_of(error)));
  }

  fs::path target_, path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

struct FreeCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

// One request and its result.
class Transfer {
 public:
  Transfer(const std::string& url, PartFile& part, const DownloadOptions& options)
      : url_(url), part_(part), options_(options) {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    handle_.reset(ready == CURLE_OK ? curl_easy_init() : nullptr);
    if (!handle_) throw std::bad_alloc();
    constexpr long most_redirects = 10;
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    // A download that starts encrypted must stay encrypted.
    set(CURLOPT_REDIR_PROTOCOLS_STR, is_https() ? "https" : "http,https");
    if (!options.authorities.empty()) set(CURLOPT_CAINFO, options.authorities.c_str());
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, most_redirects);
    set(CURLOPT_FAILONERROR, 1L);
    set(CURLOPT_USERAGENT, (std::string("ignd/") + version()).c_str());
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count()));
    set(CURLOPT_ERRORBUFFER, static_cast<char*>(details_));
    set(CURLOPT_WRITEFUNCTION, &Transfer::receive);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(part.size()));
  }

  // False: the server cannot resume in the middle of the file.
  bool run() {
    const bool resumed = part_.size() > 0;
    const CURLcode code = curl_easy_perform(handle_.get());
    // Nothing follows the part: it may be the whole file.
    constexpr long beyond_the_end = 416;
    if (code == CURLE_OK || (resumed && status() == beyond_the_end)) return true;
    if (code == CURLE_RANGE_ERROR) return false;
    if (too_much_) part_.remove();
    fail(code);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    // For example, a library built without https fails here.
    if (const CURLcode code = curl_easy_setopt(handle_.get(), option, value); code != CURLE_OK) fail(code);
  }

  static std::size_t receive(char* bytes, std::size_t one, std::size_t count, void* transfer) {
    return static_cast<Transfer*>(transfer)->take({bytes, one * count}) ? one * count : 0;
  }

  bool is_https() const {
    constexpr std::string_view start = "https:";
    return url_.size() >= start.size() && curl_strnequal(url_.c_str(), start.data(), start.size()) != 0;
  }

  // False stops the transfer.
  bool take(std::string_view bytes) {
    constexpr long whole = 200, part = 206;
    if (const long answer = status(); answer != whole && answer != part) return false;
    too_much_ = part_.size() + bytes.size() > options_.most;
    if (too_much_) return false;
    write_error_ = part_.append(bytes);
    if (write_error_ != 0) return false;
    if (options_.on_progress) options_.on_progress(part_.size());
    return true;
  }

  long status() const {
    long answer = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &answer);
    return answer;
  }

  // What went wrong, and what the user can do.
  std::string reason(CURLcode code) const {
    switch (code) {
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
        return "the server's name cannot be resolved; is there a network?";
      case CURLE_COULDNT_CONNECT:
        return "the server does not answer; is there a network?";
      case CURLE_OPERATION_TIMEDOUT:
        return "the transfer stalled; run the same command again to resume";
      case CURLE_HTTP_RETURNED_ERROR:
        return fmt::format("the server answers with HTTP status {}", status());
      case CURLE_PARTIAL_FILE:
      case CURLE_RECV_ERROR:
      case CURLE_GOT_NOTHING:
        return "the connection broke off; run the same command again to resume";
      case CURLE_TOO_MANY_REDIRECTS:
        return "the server redirects too often";
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_URL_MALFORMAT:
        if (status() / 100 == 3) {
          return fmt::format("the server redirects to an address that does not start with {}",
                             is_https() ? "https://" : "http:// or https://");
        }
        return "the address does not start with http:// or https://";
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
      case CURLE_SSL_CONNECT_ERROR:
        return fmt::format(
            "the server's certificate is not valid: {}; is ca-certificates installed, and the clock right?",
            details(code));
      case CURLE_WRITE_ERROR:
        return stopped();
      default:
        return details(code);
    }
  }

  std::string stopped() const {
    if (too_much_) return fmt::format("the server sends more than {} bytes", options_.most);
    if (write_error_ != 0) {
      return fmt::format("cannot write {}: {}; free some space, and run the same command again to resume",
                         quoted_path(part_.path()), message_of(write_error_));
    }
    return fmt::format("the server answers with HTTP status {}", status());
  }

  std::string details(CURLcode code) const {
    return printable(details_[0] != '\0' ? details_ : curl_easy_strerror(code), 200);
  }

  [[noreturn]] void fail(CURLcode code) const {
    throw FileError(fmt::format("cannot download {}: {}", printable(url_, 300), reason(code)));
  }

  const std::string& url_;
  PartFile& part_;
  const DownloadOptions& options_;
  std::unique_ptr<CURL, FreeCurl> handle_;
  char details_[CURL_ERROR_SIZE] = {};
  int write_error_ = 0;
  bool too_much_ = false;
};

}  // namespace

void download(const std::string& url, const fs::path& target, const std::function<void(const fs::path&)>& check,
              const DownloadOptions& options) {
  PartFile part(target);
  for (;;) {
    const bool resumed = part.size() > 0;
    bool good = Transfer(url, part, options).run();
    try {
      if (good) check(part.path());
    } catch (const FileError& fault) {
      if (!resumed) {
        part.remove();
        throw FileError(fmt::format("{} delivers the wrong file: {}", printable(url, 300), fault.what()));
      }
      good = false;
    }
    if (good) {
      part.finish();
      return;
    }
    // The part belonged to another file, or the server cannot resume in the middle of one.
    part.empty();
  }
}

std::filesystem::path fetch_data(const DataSet& set, const std::string& from,
                                 const std::function<void(std::uint64_t done)>& on_progress) {
  if (const DataPlace place = look_for_data(set); !place.path.empty()) return place.path;
  const std::string url = from.empty() ? address_of(set) : from;
  if (url.empty())
    throw FileError(fmt::format("{} has no public address to download from; {}", set.name, by_hand(set)));

  std::filesystem::path target = cache_folder() / set.files.front();
  DownloadOptions options;
  options.on_progress = on_progress;
  // Another archive of the same files may be compressed less.
  constexpr std::uint64_t slack = std::uint64_t{1} << 20;
  options.most = 4 * set.size + slack;
  try {
    download(
        url, target, [&](const std::filesystem::path& part) { check_data(set, part, set.files.front()); }, options);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{}; {}", fault.what(), by_hand(set)));
  }
  return target;
}

}  // namespace ignd
