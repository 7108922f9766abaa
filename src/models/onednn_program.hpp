#pragma once

#include "ignd/aligned.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

// Declared here because clang has no <omp.h> without a separate package.
extern "C" {
int omp_get_max_threads(void);    // NOLINT(modernize-redundant-void-arg): C
void omp_set_num_threads(int n);  // of the calling thread alone
}

namespace ignd {

// Sets the number of OpenMP threads of the calling thread for as long as it lives.
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

// The owner of a buffer: the run itself, or the caller, who lends it.
enum class Home { run, in, out, out_delta, in_delta, weights, sensitivity };

// oneDNN primitives in execution order, and the buffers they work on. Made once and shared by any number of runs, which
// hold the numbers.
class OnednnProgram {
 public:
  using Desc = dnnl::memory::desc;
  using Buffer = std::size_t;
  using Arguments = std::vector<std::pair<int, Buffer>>;
  struct Operation {
    dnnl::primitive primitive;
    Arguments arguments;
  };
  using Operations = std::vector<Operation>;

  OnednnProgram() : engine_(dnnl::engine::kind::cpu, 0) {}

  const dnnl::engine& engine() const { return engine_; }
  static dnnl::primitive_attr attributes();  // which every primitive needs

  // `offset` counts numbers from the first that is lent.
  Buffer add_buffer(const Desc& desc, Home home = Home::run, std::size_t offset = 0);
  Desc desc(Buffer buffer) const { return places_[buffer].desc; }
  Home home(Buffer buffer) const { return places_[buffer].home; }

  void add(Operations& operations, const dnnl::primitive_desc_base& primitive, Arguments arguments);

  // The numbers of `buffer` in another layout: itself where it has that one already.
  Buffer in_layout(Operations& operations, Buffer buffer, const Desc& wanted);

  // Delivers `buffer`, owned by the run so far, to `home` in that layout.
  void deliver(Operations& operations, Buffer buffer, const Desc& wanted, Home home, std::size_t offset = 0);

  Operations forward;
  Operations backward;
  std::size_t backward_to_weights = 0;  // how many of them the weights' sensitivities need

 private:
  friend class OnednnRun;
  struct Place {
    Desc desc;
    Home home = Home::run;
    std::size_t offset = 0;
  };

  dnnl::engine engine_;
  std::vector<Place> places_;
  std::size_t scratchpad_size_ = 0;
};

// A program with its buffers, for one thread at a time. The program must not move.
class OnednnRun {
 public:
  explicit OnednnRun(const OnednnProgram& program);

  // Null as long as no operation reads or writes there.
  void lend(Home home, const float* numbers);

  // Neither allocates, but oneDNN itself does a little.
  void forward() { execute(forward_, forward_.size()); }
  void backward(bool to_weights_only) {
    execute(backward_, to_weights_only ? program_->backward_to_weights : backward_.size());
  }

 private:
  struct Call {
    dnnl_primitive_t primitive = nullptr;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  Call bind(const OnednnProgram::Operation& operation) const;
  void execute(const std::vector<Call>& calls, std::size_t count);

  const OnednnProgram* program_;
  dnnl::stream stream_;
  std::vector<AlignedVector<std::byte>> numbers_;
  std::vector<dnnl::memory> memories_;
  dnnl::memory scratchpad_;
  std::vector<Call> forward_;
  std::vector<Call> backward_;
};

}  // namespace ignd
