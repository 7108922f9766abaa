#pragma once

// Declared here and not by <omp.h>, which clang lacks without a library of its own.
extern "C" {
int omp_get_max_threads(void);    // NOLINT(modernize-redundant-void-arg): C
void omp_set_num_threads(int n);  // of the calling thread alone
}

namespace ignd {

// While one of these lives, what the calling thread runs through OpenMP runs on so many threads.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(unsigned count) : before_(omp_get_max_threads()) {
    omp_set_num_threads(static_cast<int>(count));
  }
  ~OpenMpThreads() { omp_set_num_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;
  OpenMpThreads(OpenMpThreads&&) = delete;
  OpenMpThreads& operator=(OpenMpThreads&&) = delete;

 private:
  int before_;
};

}  // namespace ignd
