#include "ignd/gradient_check.hpp"

#include "core/finite_differences.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

template <class T>
Accuracy model_accuracy(const DerivativeOptions& options) {
  constexpr bool is_float = sizeof(T) == sizeof(float);
  return accuracy(is_float ? 4e-3 : 1e-5, std::numeric_limits<T>::epsilon(), is_float ? 5e-3 : 1e-5, options);
}

// One row of the Jacobian, and how it was stored.
struct Row {
  std::vector<double> j;  // written out
  double squared_norm = 0;
};

double squared_norm_of(std::span<const double> j) { return std::inner_product(j.begin(), j.end(), j.begin(), 0.0); }

// Looks for rows that steps would leave out. Returns what is wrong, or "".
template <class T>
std::string active_fault(const Outer<T>& block) {
  std::size_t next = 0;
  for (const std::uint32_t row : block.active) {
    if (row >= block.u.size()) return "an active row of a block is behind its last row";
    if (row < next) return "the active rows of a block are not in increasing order";
    next = row + 1;
  }
  for (std::size_t r = 0; r < block.u.size(); ++r) {
    if (block.u[r] != 0 && !std::ranges::binary_search(block.active, static_cast<std::uint32_t>(r))) {
      return fmt::format("row {} of a block is not zero, but not active either: steps would leave it out", r);
    }
  }
  return "";
}

// What makes a block unusable, or "".
template <class T>
std::string block_fault(const Outer<T>& block, std::size_t parameters) {
  const bool fits = block.u.size() * block.v.size() <= parameters - block.offset;
  return fits ? "" : "a block ends behind the last parameter";
}

template <class T>
std::string block_fault(const Dense<T>& block, std::size_t parameters) {
  return block.j.size() > parameters - block.offset ? "a block ends behind the last parameter" : "";
}

template <class T>
std::string block_fault(const SparseRows<T>& block, std::size_t parameters) {
  if (block.rows.size() != block.index.size() * block.width) return "a block of rows has not `width` numbers per row";
  if (!block.index.empty() && (block.index.back() + std::size_t{1}) * block.width > parameters - block.offset) {
    return "a block ends behind the last parameter";
  }
  for (std::size_t i = 1; i < block.index.size(); ++i) {
    if (block.index[i] <= block.index[i - 1]) return "the rows of a block are not in increasing order";
  }
  return "";
}

template <class T>
std::string blocks_fault(const Sensitivity<T>& j, std::size_t parameters) {
  for (const Block<T>& any : j) {
    const auto fault_of = [&](const auto& block) {
      return block.offset > parameters ? "a block starts behind the last parameter" : block_fault(block, parameters);
    };
    const std::string fault = std::visit(fault_of, any);
    if (!fault.empty()) return fault;
  }
  return "";
}

// Row k of a batch's Jacobian as blocks of one sample. The columns of dense layers are copied to `store`.
template <class T>
Sensitivity<T> row_of(const BatchSensitivity<T>& batch, std::size_t k, std::vector<std::vector<T>>& store) {
  const std::size_t sample = k / batch.per_sample;
  const auto column = [&](const T* matrix, std::size_t stride, std::size_t rows, std::size_t which) {
    std::vector<T>& values = store.emplace_back(rows);
    for (std::size_t r = 0; r < rows; ++r) values[r] = matrix[r * stride + which];
    return std::span<const T>(values);
  };
  Sensitivity<T> j;
  for (const BatchBlock<T>& any : batch.blocks) {
    if (const auto* outer = std::get_if<OuterBatch<T>>(&any)) {
      std::vector<T>& u = store.emplace_back(outer->inputs);
      for (std::size_t i = 0; i < outer->u_rows(); ++i) u[outer->row(i)] = outer->u[i * outer->u_stride + sample];
      j.push_back(Outer<T>{
          .offset = outer->offset, .u = u, .v = column(outer->v, outer->v_stride, outer->units, k), .active = {}});
    } else if (const auto* dense = std::get_if<DenseBatch<T>>(&any)) {
      j.push_back(Dense<T>{dense->offset, dense->rows.at(k)});
    } else {
      j.push_back(std::get<RowsBatch<T>>(any).rows.at(k));
    }
  }
  return j;
}

template <class T>
Row written_out(const Sensitivity<T>& j, std::size_t parameters) {
  std::vector<T> values(parameters);
  write_dense<T>(j, values);
  return {std::vector<double>(values.begin(), values.end()), squared_norm(j)};
}

// Notes which rows a model announces.
class AnnouncedRows final : public RowReader {
 public:
  explicit AnnouncedRows(std::size_t tables) : rows(tables) {}

  void about_to_read(std::size_t table, std::span<const std::uint32_t> announced) override {
    if (table < rows.size()) {
      rows[table].assign(announced.begin(), announced.end());
    } else {
      unknown_table = true;
    }
  }

  std::vector<std::vector<std::uint32_t>> rows;
  bool unknown_table = false;
};

template <class T>
class ModelCheck {
 public:
  ModelCheck(const Model<T>& model, std::span<const Input<T>> inputs, const DerivativeOptions& options)
      : model_(model),
        inputs_(inputs),
        accuracy_(model_accuracy<T>(options)),
        findings_(accuracy_.tolerance),
        size_(model.parameters().size()) {
    if (inputs.empty()) throw InvalidArgument("a model is checked at one input at least");
    if (size_ == 0) throw InvalidArgument("a model without parameters has no sensitivity");
    for (const Input<T>& x : inputs) model.check(x);
    choose_parameters(options);
  }

  DerivativeReport run() {
    const bool single = model_.reads_single_samples();
    check_clone();
    if (!findings_.faulty() && single) check_samples();
    if (!findings_.faulty()) check_batch();
    if (!findings_.faulty()) check_differences();
    return findings_.report(single ? "sensitivity()" : "the batch's sensitivity",
                            fmt::format("{} of {} parameters at {} samples", chosen_.size(), size_, inputs_.size()));
  }

 private:
  void choose_parameters(const DerivativeOptions& options) {
    if (size_ <= options.most_parameters) {
      chosen_.resize(size_);
      std::iota(chosen_.begin(), chosen_.end(), std::size_t{0});
      return;
    }
    RandomStream stream(options.seed, "parameters");
    while (chosen_.size() < options.most_parameters) chosen_.push_back(stream.below(static_cast<std::uint32_t>(size_)));
    std::ranges::sort(chosen_);
    chosen_.erase(std::unique(chosen_.begin(), chosen_.end()), chosen_.end());
  }

  std::string sample(std::size_t s) const { return fmt::format("sample {}", s); }

  // Two ways to compute one number must agree, but for rounding.
  bool same(double a, double b, double size) const {
    return std::abs(a - b) <= accuracy_.rounding * terms * (size + std::abs(a) + std::abs(b)) || a == b;
  }

  // All outputs of all samples.
  std::vector<double> outputs_of(const Model<T>& model) const {
    std::vector<double> outputs;
    if (model.reads_single_samples()) {
      for (const Input<T>& x : inputs_) outputs.push_back(model.predict(x));
      return outputs;
    }
    const auto batch = model.make_batch(inputs_.size());
    const auto values = batch->forward(inputs_, nullptr);
    return {values.begin(), values.end()};
  }

  void check_clone() {
    const auto copy = model_.clone();
    if (copy == nullptr) return findings_.add_fault("clone()", "it returns nothing");
    if (copy->spec() != model_.spec()) return findings_.add_fault("clone()", "the copy has another spec()");
    if (!std::ranges::equal(copy->parameters(), model_.parameters())) {
      return findings_.add_fault("clone()", "the copy has other parameters");
    }
    const auto before = outputs_of(model_);
    const auto of_copy = outputs_of(*copy);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!std::isfinite(before[i])) {
        return findings_.add_fault(sample(i / model_.outputs()), "the output is not finite");
      }
      if (!same(of_copy[i], before[i], 1)) return findings_.add_fault("clone()", "the copy predicts something else");
    }
    for (T& w : copy->parameters()) w += T{1};
    if (outputs_of(model_) != before || std::ranges::equal(copy->parameters(), model_.parameters())) {
      findings_.add_fault("clone()", "a change of the copy changes the original");
    }
  }

  // Evaluates every sample with a trace of its own, and again with one that has seen others.
  void check_samples() {
    Trace<T> used(model_);
    for (std::size_t s = 0; s < inputs_.size() && !findings_.faulty(); ++s) {
      const Input<T>& x = inputs_[s];
      Trace<T> trace(model_);
      AnnouncedRows announced(model_.row_tables().size());
      trace.reader = &announced;
      const double f = model_.predict(x, trace);
      // Between forward() and sensitivity() of one trace, another one is at work.
      const Input<T>& other = inputs_[(s + 1) % inputs_.size()];
      Trace<T> second(model_);
      model_.predict(other, second);
      model_.sensitivity(x, trace);
      check_blocks(trace.j, sample(s));
      if (findings_.faulty()) return;
      check_rows(trace.j, announced, s);
      rows_.push_back(written_out(trace.j, size_));
      check_norms(rows_.back(), trace.squared_norm, s);

      model_.predict(other, used);
      model_.sensitivity(other, used);
      const double again = model_.predict(x, used);
      model_.sensitivity(x, used);
      if (!same(again, f, 1)) findings_.add_fault(sample(s), "a trace that was used before gives another output");
      check_same(written_out(used.j, size_), rows_.back(), s,
                 "a trace that was used before, or beside another one, gives another sensitivity");
    }
  }

  void check_same(const Row& a, const Row& b, std::size_t s, std::string_view what) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!same(a.j[i], b.j[i], std::sqrt(squared_norm_of(b.j)))) {
        return findings_.add_fault(fmt::format("parameter {} of {}", i, sample(s)), what);
      }
    }
  }

  void check_norms(const Row& row, double of_trace, std::size_t s) {
    const double written = squared_norm_of(row.j);
    if (!std::isfinite(written)) return findings_.add_fault(sample(s), "the sensitivity is not finite");
    if (!same(row.squared_norm, written, 0)) {
      findings_.add_fault(sample(s),
                          fmt::format("||j||^2 is {:g} of the blocks and {:g} written out: do blocks overlap?",
                                      row.squared_norm, written));
    }
    if (of_trace >= 0 && !same(of_trace, written, 0)) {
      findings_.add_fault(sample(s),
                          fmt::format("the trace has a squared_norm of {:g}, but ||j||^2 is {:g}", of_trace, written));
    }
  }

  void check_blocks(const Sensitivity<T>& j, const std::string& where) {
    const std::string fault = blocks_fault(j, size_);
    if (!fault.empty()) return findings_.add_fault(where, fault);
    for (const Block<T>& any : j) {
      const auto* outer = std::get_if<Outer<T>>(&any);
      const std::string inactive = outer == nullptr ? "" : active_fault(*outer);
      if (!inactive.empty()) return findings_.add_fault(where, inactive);
    }
  }

  void check_rows(const Sensitivity<T>& j, const AnnouncedRows& announced, std::size_t s) {
    const auto tables = model_.row_tables();
    if (announced.unknown_table) {
      return findings_.add_fault(sample(s), "forward() announces rows of a table that row_tables() does not have");
    }
    for (const Block<T>& any : j) {
      const auto* block = std::get_if<SparseRows<T>>(&any);
      if (block == nullptr) continue;
      const auto table = std::ranges::find(tables, block->offset, &RowTable::offset);
      if (table == tables.end()) {
        return findings_.add_fault(sample(s), "row_tables() lacks the table of a block of rows");
      }
      if (!std::ranges::equal(announced.rows[static_cast<std::size_t>(table - tables.begin())], block->index)) {
        return findings_.add_fault(sample(s), "forward() does not announce the rows of the sensitivity's block");
      }
    }
  }

  // The batch must give what single samples give. Of a model with several outputs it gives the rows to compare.
  void check_batch() {
    const auto batch = model_.make_batch(inputs_.size());
    const std::size_t per_sample = model_.outputs();
    const auto values = batch->forward(inputs_, nullptr);
    const std::vector<double> outputs(values.begin(), values.end());
    if (outputs.size() != inputs_.size() * per_sample) {
      return findings_.add_fault("make_batch()", "forward() does not return outputs() numbers for each sample");
    }
    const BatchSensitivity<T>& j = batch->sensitivities();
    if (j.per_sample != per_sample || j.samples != inputs_.size()) {
      return findings_.add_fault("make_batch()", "sensitivities() has not one row for each output of each sample");
    }
    for (std::size_t k = 0; k < j.rows() && !findings_.faulty(); ++k) {
      std::vector<std::vector<T>> store;
      const Sensitivity<T> blocks = row_of(j, k, store);
      const std::string fault = blocks_fault(blocks, size_);
      if (!fault.empty()) return findings_.add_fault("make_batch()", fault);
      const Row row = written_out(blocks, size_);
      if (model_.reads_single_samples()) {
        if (!same(outputs[k], model_.predict(inputs_[k]), 1))
          findings_.add_fault(sample(k), "a batch gives another output");
        check_same(row, rows_[k], k, "a batch gives another sensitivity");
      } else {
        rows_.push_back(row);
      }
    }
    if (!model_.reads_single_samples()) check_combined(*batch);
  }

  void check_combined(Batch<T>& batch) {
    const std::size_t per_sample = model_.outputs();
    std::vector<T> factors(rows_.size());
    for (std::size_t k = 0; k < factors.size(); ++k) factors[k] = static_cast<T>(k % 5) - T{1.5};
    batch.forward(inputs_, nullptr);
    const BatchSensitivity<T>& j = batch.combined(factors);
    if (j.per_sample != 1 || j.samples != inputs_.size()) {
      return findings_.add_fault("make_batch()", "combined() has not one row for each sample");
    }
    for (std::size_t s = 0; s < inputs_.size(); ++s) {
      Row sum{std::vector<double>(size_), 0};
      for (std::size_t k = s * per_sample; k < (s + 1) * per_sample; ++k) {
        for (std::size_t i = 0; i < size_; ++i) sum.j[i] += static_cast<double>(factors[k]) * rows_[k].j[i];
      }
      std::vector<std::vector<T>> store;
      check_same(written_out(row_of(j, s, store), size_), sum, s, "combined() is not the sum of the outputs' rows");
    }
  }

  // Slopes of all outputs of all samples in one parameter.
  std::vector<Slopes> slopes_in(Model<T>& probe, std::size_t i, std::span<const double> here) const {
    T& w = probe.parameters()[i];
    const T kept = w;
    const T step = static_cast<T>(accuracy_.step * std::max(1.0, std::abs(static_cast<double>(kept))));
    const T low = kept - step, high = kept + step;
    w = high;
    const auto above = outputs_of(probe);
    w = low;
    const auto below = outputs_of(probe);
    w = kept;
    std::vector<Slopes> slopes(here.size());
    for (std::size_t k = 0; k < here.size(); ++k) {
      slopes[k] = {(here[k] - below[k]) / (static_cast<double>(kept) - static_cast<double>(low)),
                   (above[k] - here[k]) / (static_cast<double>(high) - static_cast<double>(kept))};
    }
    return slopes;
  }

  void check_differences() {
    constexpr double small = 1e-3;  // entries that are this much smaller than the largest are compared with that
    const auto probe = model_.clone();
    const auto outputs = outputs_of(model_);
    std::vector<std::vector<Slopes>> slopes;
    for (const std::size_t i : chosen_) slopes.push_back(slopes_in(*probe, i, outputs));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const auto& j = rows_[k].j;
      double largest = 0;
      for (std::size_t c = 0; c < chosen_.size(); ++c) {
        largest = std::max({largest, std::abs(j[chosen_[c]]), std::abs(slopes[c][k].central())});
      }
      for (std::size_t c = 0; c < chosen_.size() && !findings_.faulty(); ++c) {
        const double is = j[chosen_[c]];
        const Slopes& should = slopes[c][k];
        const auto where = [&] { return place(chosen_[c], k); };
        const auto what = [&] { return fmt::format("it is {:.6g}, but differences say {:.6g}", is, should.central()); };
        const double scale = std::max({std::abs(is), std::abs(should.central()), small * largest}) +
                             accuracy_.noise(std::abs(outputs[k]));
        const double error = relative_error(is, should, scale, accuracy_.tolerance);
        findings_.add(error, where, what);
      }
    }
  }

  std::string place(std::size_t parameter, std::size_t row) const {
    const std::size_t outputs = model_.outputs();
    const std::string of_sample = fmt::format("parameter {} of sample {}", parameter, row / outputs);
    return outputs == 1 ? of_sample : fmt::format("{}, output {}", of_sample, row % outputs);
  }

  const Model<T>& model_;
  std::span<const Input<T>> inputs_;
  Accuracy accuracy_;
  Findings findings_;
  std::size_t size_;
  std::vector<std::size_t> chosen_;  // parameters
  std::vector<Row> rows_;            // one for each output of each sample
};

}  // namespace

template <class T>
DerivativeReport check_model(const Model<T>& model, std::span<const Input<T>> inputs,
                             const DerivativeOptions& options) {
  return ModelCheck<T>(model, inputs, options).run();
}

template <class T>
DerivativeReport check_model(const Model<T>& model, std::size_t features, const DerivativeOptions& options) {
  RandomStream stream(options.seed, "inputs");
  std::vector<std::vector<T>> values(options.samples, std::vector<T>(features));
  std::vector<Input<T>> inputs;
  for (auto& x : values) {
    for (T& value : x) value = static_cast<T>(stream.normal());
    inputs.push_back({.values = x});
  }
  return check_model<T>(model, inputs, options);
}

template DerivativeReport check_model(const Model<float>&, std::span<const Input<float>>, const DerivativeOptions&);
template DerivativeReport check_model(const Model<double>&, std::span<const Input<double>>, const DerivativeOptions&);
template DerivativeReport check_model(const Model<float>&, std::size_t, const DerivativeOptions&);
template DerivativeReport check_model(const Model<double>&, std::size_t, const DerivativeOptions&);

}  // namespace ignd
