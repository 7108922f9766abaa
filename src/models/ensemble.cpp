#include "ignd/ensemble.hpp"

#include "ignd/error.hpp"
#include "models/mlp_batch.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ignd {
namespace {

template <class T>
using Layers = std::vector<typename MlpBatch<T>::Layer>;

// The layers of a network whose weights start at `offset`; without hidden layers, a linear model.
template <class T>
Layers<T> layers_of(std::span<const std::size_t> widths, std::size_t outputs, std::size_t offset) {
  Layers<T> layers;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t columns = l + 1 < widths.size() ? widths[l + 1] : outputs;
    layers.push_back({.rows = widths[l] + 1, .columns = columns, .weights = offset});
    offset += (widths[l] + 1) * columns;
  }
  return layers;
}

// Of one network; more than most_parameters if they are too many to count.
std::size_t weights_in(std::span<const std::size_t> widths, std::size_t outputs) {
  std::size_t sum = 0;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t columns = l + 1 < widths.size() ? widths[l + 1] : outputs;
    if (widths[l] >= most_parameters || columns >= most_parameters) return most_parameters + 1;
    sum += (widths[l] + 1) * columns;
    if (sum > most_parameters) return sum;
  }
  return sum;
}

std::size_t count_all(std::span<const std::size_t> widths, const EnsembleOptions& options) {
  if (widths.empty()) throw InvalidArgument("a network needs the number of its inputs");
  if (std::ranges::find(widths, std::size_t{0}) != widths.end()) throw InvalidArgument("a width of the network is 0");
  if (options.network.outputs == 0) throw InvalidArgument("a network needs an output");
  if (options.members == 0) throw InvalidArgument("an ensemble needs a network");
  const std::size_t each = weights_in(widths, options.network.outputs);
  const std::size_t linear = options.linear ? weights_in(widths.first(1), options.network.outputs) : 0;
  if (each > most_parameters || linear > most_parameters || options.members > most_parameters / each) {
    return most_parameters + 1;
  }
  return options.members * each + linear;
}

// The samples go through every network in turn.
template <class T>
class EnsembleBatch final : public Batch<T> {
 public:
  EnsembleBatch(const Model<T>& model, std::span<const std::size_t> widths, const EnsembleOptions& options,
                std::size_t size)
      : outputs_(options.network.outputs), sum_(size * outputs_) {
    const std::size_t each = weights_in(widths, outputs_);
    for (std::size_t k = 0; k < options.members; ++k) {
      parts_.push_back(std::make_unique<MlpBatch<T>>(model, layers_of<T>(widths, outputs_, k * each),
                                                     options.network.activation, room_for(size)));
    }
    if (options.linear) {
      parts_.push_back(std::make_unique<MlpBatch<T>>(model,
                                                     layers_of<T>(widths.first(1), outputs_, options.members * each),
                                                     Activation::identity, room_for(size)));
    }
  }

  std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) override {
    const std::array<Input<T>, 2> twice{x[0], x[0]};
    const std::span<const Input<T>> read = x.size() == 1 ? std::span<const Input<T>>(twice) : x;
    const std::size_t count = x.size() * outputs_;
    std::fill_n(sum_.begin(), count, T{0});
    for (const auto& part : parts_) {
      const std::span<const T> outputs = part->forward(read, reader);
      for (std::size_t k = 0; k < count; ++k) sum_[k] += outputs[k];
    }
    samples_ = x.size();
    return std::span(sum_).first(count);
  }

  const BatchSensitivity<T>& sensitivities() override {
    return joined(outputs_, [](MlpBatch<T>& part) -> const BatchSensitivity<T>& { return part.sensitivities(); });
  }

  const BatchSensitivity<T>& combined(std::span<const T> factors) override {
    if (samples_ == 1) {
      factors_.assign(factors.begin(), factors.end());
      factors_.insert(factors_.end(), factors.begin(), factors.end());
      factors = factors_;
    }
    return joined(1, [&](MlpBatch<T>& part) -> const BatchSensitivity<T>& { return part.combined(factors); });
  }

 private:
  // A product with a single column may have other bits than the same column among several, and a sample is to have the
  // same output alone as among others. So it is computed twice.
  static std::size_t room_for(std::size_t size) { return std::max<std::size_t>(size, 2); }

  template <class Of>
  const BatchSensitivity<T>& joined(std::size_t per_sample, const Of& of) {
    j_.samples = samples_;
    j_.per_sample = per_sample;
    j_.blocks.clear();
    for (const auto& part : parts_) {
      const BatchSensitivity<T>& one = of(*part);
      j_.blocks.insert(j_.blocks.end(), one.blocks.begin(), one.blocks.end());
    }
    return j_;
  }

  std::size_t outputs_;
  std::size_t samples_ = 0;
  std::vector<std::unique_ptr<MlpBatch<T>>> parts_;
  std::vector<T> sum_, factors_;
  BatchSensitivity<T> j_;
};

[[noreturn]] void refuse_single_samples() {
  throw InvalidArgument("only batches read and train an ensemble of networks");
}

// Copies the weights of a network, of which those of the last layer are multiplied by its share.
template <class T>
void copy_scaled(std::span<const T> from, std::size_t last_layer, double share, std::span<T> to) {
  const std::size_t first = from.size() - last_layer;
  std::copy(from.begin(), from.end(), to.begin());
  for (T& weight : to.subspan(first)) weight = static_cast<T>(share * static_cast<double>(weight));
}

template <class T>
const Mlp<T>& as_network(const Model<T>& model) {
  if (const auto* network = dynamic_cast<const Mlp<T>*>(&model)) return *network;
  throw InvalidArgument(fmt::format("'{}' cannot be a part of an ensemble; only an mlp can", model.spec()));
}

}  // namespace

template <class T>
Ensemble<T>::Ensemble(std::vector<std::size_t> widths, EnsembleOptions options)
    : Model<T>(count_all(widths, options)), widths_(std::move(widths)), options_(std::move(options)) {
  const std::size_t each = weights_in(widths_, outputs());
  for (std::size_t k = 0; k < options_.members; ++k) {
    MlpOptions member = options_.network;
    member.seed += k;
    const Mlp<T> network(widths_, member);
    std::ranges::copy(network.parameters(), this->parameters().subspan(k * each, each).begin());
  }
}

template <class T>
std::string Ensemble<T>::spec() const {
  return fmt::format("ensemble:members={},widths={},activation={},outputs={},linear={}", options_.members,
                     fmt::join(widths_, "x"), activation_name(options_.network.activation), outputs(),
                     options_.linear ? 1 : 0);
}

template <class T>
std::unique_ptr<Batch<T>> Ensemble<T>::make_batch(std::size_t size) const {
  return std::make_unique<EnsembleBatch<T>>(*this, widths_, options_, size);
}

template <class T>
void Ensemble<T>::check(const Input<T>& x) const {
  this->check_dense(x, widths_[0]);
}

template <class T>
void Ensemble<T>::prepare(Trace<T>& /*trace*/) const {
  refuse_single_samples();
}

template <class T>
double Ensemble<T>::forward(const Input<T>& /*x*/, Trace<T>& /*trace*/) const {
  refuse_single_samples();
}

template <class T>
void Ensemble<T>::sensitivity(const Input<T>& /*x*/, Trace<T>& /*trace*/) const {
  refuse_single_samples();
}

template <class T>
std::unique_ptr<Model<T>> blend(std::span<const std::unique_ptr<Model<T>>> networks, std::span<const double> shares,
                                const Model<T>* linear, double linear_share) {
  if (networks.empty() || shares.size() != networks.size()) {
    throw InvalidArgument(
        fmt::format("a blend needs networks, and a share of each: {} and {}", networks.size(), shares.size()));
  }
  const Mlp<T>& first = as_network(*networks[0]);
  auto made = std::make_unique<Ensemble<T>>(
      first.widths(), EnsembleOptions{.members = networks.size(),
                                      .linear = linear != nullptr,
                                      .network = {.activation = first.activation(), .outputs = first.outputs()}});
  const std::span<T> all = made->parameters();
  const std::size_t each = first.parameters().size();
  const std::size_t last_layer = (first.widths().back() + 1) * first.outputs();
  for (std::size_t k = 0; k < networks.size(); ++k) {
    if (as_network(*networks[k]).spec() != first.spec()) {
      throw InvalidArgument(fmt::format("'{}' and '{}' cannot be in one ensemble", first.spec(), networks[k]->spec()));
    }
    copy_scaled<T>(networks[k]->parameters(), last_layer, shares[k], all.subspan(k * each, each));
  }
  if (linear == nullptr) return made;
  const auto rest = all.subspan(networks.size() * each);
  if (linear->outputs() != first.outputs() || linear->parameters().size() != rest.size()) {
    throw InvalidArgument(fmt::format("'{}' does not read and give what '{}' does", linear->spec(), first.spec()));
  }
  copy_scaled<T>(linear->parameters(), rest.size(), linear_share, rest);
  return made;
}

template class Ensemble<float>;
template class Ensemble<double>;
template std::unique_ptr<Model<float>> blend(std::span<const std::unique_ptr<Model<float>>>, std::span<const double>,
                                             const Model<float>*, double);
template std::unique_ptr<Model<double>> blend(std::span<const std::unique_ptr<Model<double>>>, std::span<const double>,
                                              const Model<double>*, double);

}  // namespace ignd
