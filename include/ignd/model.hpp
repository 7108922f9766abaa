#pragma once

#include "ignd/aligned.hpp"
#include "ignd/api.hpp"
#include "ignd/batch.hpp"
#include "ignd/sensitivity.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// One sample's features. Dense models read `values`; sparse ones read values[k] at feature index[k]; models of texts
// read the tokens in `index` and no values.
template <class T>
struct Input {
  std::span<const T> values;
  std::span<const std::uint32_t> index = {};
};

// Told which rows of a model's tables are about to be read, and brings them up to date.
class IGND_API RowReader {
 public:
  virtual ~RowReader() = default;
  // `rows` stays valid until the same trace is used again.
  virtual void about_to_read(std::size_t table, std::span<const std::uint32_t> rows) = 0;
};

template <class T>
class Model;

// What a model keeps in a trace besides plain numbers.
struct IGND_API TraceState {
  TraceState() = default;
  TraceState(const TraceState&) = delete;
  TraceState& operator=(const TraceState&) = delete;
  TraceState(TraceState&&) = delete;
  TraceState& operator=(TraceState&&) = delete;
  virtual ~TraceState() = default;
};

// What one evaluation leaves behind for the sensitivity: owned by the caller, so that a const model can be used from
// any number of threads, each with a trace of its own.
template <class T>
struct Trace {
  explicit Trace(const Model<T>& model);
  Trace(const Trace&) = delete;  // the blocks are views into the arrays
  Trace& operator=(const Trace&) = delete;
  Trace(Trace&&) noexcept = default;
  Trace& operator=(Trace&&) noexcept = default;
  ~Trace() = default;

  // These four are the model's own.
  AlignedVector<T> scratch;
  std::vector<std::uint32_t> index;
  std::vector<std::uint64_t> order;
  std::unique_ptr<TraceState> state;

  Sensitivity<T> j;
  double squared_norm = -1;     // ||j||^2 if forward gets it for free; negative: compute it from the blocks
  RowReader* reader = nullptr;  // the trainer, if there is one

  void about_to_read(std::size_t table, std::span<const std::uint32_t> rows) const {
    if (reader != nullptr) reader->about_to_read(table, rows);
  }
};

// A part of the parameters of which a sample reads only a few rows. The other rows are brought up to date later, so
// that a step costs only what it touches.
struct RowTable {
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t width = 1;
  bool sparse = false;  // too many rows to update all of them at every step
};

// The largest number of parameters that a model may have.
inline constexpr std::size_t most_parameters = 0xffff'ffff;

// A scalar output f(w, x) and its sensitivity. All parameters are one flat array. Some models may have several outputs;
// those are read and trained in batches only (see BatchTrainer).
//
// Threads: const members may be called from any number of threads at once, each with its own Trace, as long as no
// thread changes the parameters meanwhile.
template <class T>
class IGND_API Model {
 public:
  virtual ~Model() = default;

  std::span<T> parameters() { return w_; }
  std::span<const T> parameters() const { return w_; }

  // The text that names the architecture in a checkpoint, such as "mlp:widths=8x32,activation=relu".
  virtual std::string spec() const = 0;
  virtual std::unique_ptr<Model> clone() const = 0;

  virtual std::size_t outputs() const { return 1; }

  // Whether it can be used with a trace, one sample at a time; otherwise only batches read and train it.
  virtual bool reads_single_samples() const { return outputs() == 1; }

  // How many samples a batch should have to predict them fast, with the same bits as alone.
  virtual std::size_t predicted_together() const { return 1; }

  // Throws BadSample unless x has the form this model reads.
  virtual void check(const Input<T>& x) const = 0;

  // Sizes the trace's arrays and lays out its blocks: once, so that the calls below allocate nothing.
  virtual void prepare(Trace<T>& trace) const = 0;

  // The tables whose rows forward() announces by trace.about_to_read() before it reads them, in the order of their
  // offsets. Announced rows are distinct and in increasing order, and are those of the sensitivity's blocks.
  virtual std::vector<RowTable> row_tables() const { return {}; }

  // Computes f. From here on, blocks of trace.j marked on_input hold their inputs.
  virtual double forward(const Input<T>& x, Trace<T>& trace) const = 0;

  // Fills trace.j with grad_w f (seeded with 1, never the gradient of a loss) after forward on the same x.
  virtual void sensitivity(const Input<T>& x, Trace<T>& trace) const = 0;

  // A batch for up to `size` samples (at least one), which must not outlive the model. The default takes the samples
  // one by one and supports one output only.
  virtual std::unique_ptr<Batch<T>> make_batch(std::size_t size) const;

  // f(x), checked. The second form allocates a trace for the one call.
  double predict(const Input<T>& x, Trace<T>& trace) const;
  double predict(const Input<T>& x) const;

 protected:
  // All parameters start at zero. Throws InvalidArgument if there are more than most_parameters, or than fit in memory.
  explicit Model(std::size_t parameter_count);
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;
  Model(Model&&) noexcept = default;
  Model& operator=(Model&&) noexcept = default;

  // Throws BadSample unless x has exactly `expected` dense values.
  static void check_dense(const Input<T>& x, std::size_t expected);

 private:
  AlignedVector<T> w_;
};

template <class T>
Trace<T>::Trace(const Model<T>& model) {
  model.prepare(*this);
}

// A built-in model from the text its spec() gives. Weights are initial ones, drawn with `seed` where they are random.
template <class T>
IGND_API std::unique_ptr<Model<T>> make_model(std::string_view spec, std::uint64_t seed = 0);

}  // namespace ignd
