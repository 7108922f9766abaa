#include "ignd/network.hpp"

#include "base/text.hpp"
#include "ignd/batch.hpp"
#include "ignd/error.hpp"
#include "models/layer.hpp"
#include "models/network_text.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

void require_one_output(std::size_t outputs) {
  if (outputs == 1) return;
  throw InvalidArgument(fmt::format("the network has {} outputs; only batches read and train it", outputs));
}

// A batch of samples that pass through the layers of a network together.
template <class T>
class NetworkBatch final : public Batch<T> {
 public:
  NetworkBatch(const Model<T>& model, const Shape& input, std::vector<PlacedLayer<T>> layers, std::size_t size);

  std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) override;
  const BatchSensitivity<T>& sensitivities() override;
  const BatchSensitivity<T>& combined(std::span<const T> factors) override;

 private:
  std::size_t outputs() const { return values_.back().count; }
  std::span<const T> weights_of(const PlacedLayer<T>& place) const {
    return model_.parameters().subspan(place.weights, place.layer->weights());
  }
  const BatchSensitivity<T>& backward(std::size_t per_sample);

  const Model<T>& model_;
  std::vector<PlacedLayer<T>> layers_;
  std::vector<BatchValues<T>> values_;  // the samples, and what each layer gives
  std::vector<std::unique_ptr<BatchPass<T>>> passes_;
  std::size_t samples_ = 0;
  BatchSensitivity<T> j_;
};

template <class T>
NetworkBatch<T>::NetworkBatch(const Model<T>& model, const Shape& input, std::vector<PlacedLayer<T>> layers,
                              std::size_t size)
    : model_(model), layers_(std::move(layers)) {
  const std::size_t rows = size * model.outputs();
  values_.emplace_back(input.count(), size);
  for (const auto& place : layers_) {
    values_.emplace_back(place.layer->output().count(), size);
    values_.back().deltas.resize(values_.back().count * rows);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const BatchPlace<T> place{.samples = size,
                              .rows = rows,
                              .weights = layers_[i].weights,
                              .in = values_[i],
                              .out = values_[i + 1],
                              .blocks = j_.blocks};
    auto pass = layers_[i].layer->make_batch_pass(place);
    if (pass == nullptr) pass = std::make_unique<SampleBySample<T>>(*layers_[i].layer, place);
    passes_.push_back(std::move(pass));
  }
}

template <class T>
std::span<const T> NetworkBatch<T>::forward(std::span<const Input<T>> x, RowReader* reader) {
  samples_ = x.size();
  values_.front().x = x;
  for (std::size_t s = 0; s < x.size(); ++s) std::ranges::copy(x[s].values, values_.front().value(s));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    passes_[i]->forward(weights_of(layers_[i]), samples_, {reader, layers_[i].tables});
  }
  return std::span<const T>(values_.back().values).first(samples_ * outputs());
}

template <class T>
const BatchSensitivity<T>& NetworkBatch<T>::backward(std::size_t per_sample) {
  for (std::size_t i = layers_.size(); i-- > 0;) passes_[i]->backward(weights_of(layers_[i]), samples_, per_sample);
  j_.samples = samples_;
  j_.per_sample = per_sample;
  return j_;
}

template <class T>
const BatchSensitivity<T>& NetworkBatch<T>::sensitivities() {
  const std::size_t count = outputs();
  for (std::size_t k = 0; k < samples_ * count; ++k) {
    T* delta = values_.back().delta(k);
    std::fill_n(delta, count, T{0});
    delta[k % count] = 1;  // of an output with respect to itself
  }
  return backward(count);
}

template <class T>
const BatchSensitivity<T>& NetworkBatch<T>::combined(std::span<const T> factors) {
  std::ranges::copy(factors, values_.back().deltas.begin());
  return backward(1);
}

}  // namespace

template <class T>
struct Network<T>::Plan {
  explicit Plan(std::string_view text) {
    NetworkLayers<T> parsed = parse_network<T>(text);
    threads = parsed.threads;
    input = parsed.input;
    std::size_t tables = 0;
    for (auto& layer : parsed.layers) {
      const std::size_t own_weights = layer->weights(), own_tables = layer->row_tables().size();
      places.push_back({std::move(layer), weights, tables});
      weights += own_weights;
      tables += own_tables;
    }
  }

  std::span<const T> weights_of(const PlacedLayer<T>& place, std::span<const T> all) const {
    return all.subspan(place.weights, place.layer->weights());
  }

  Shape input;
  std::vector<PlacedLayer<T>> places;
  std::size_t weights = 0;
  unsigned threads = 1;
};

// The values between the layers, and a pass through each of them.
template <class T>
struct Network<T>::Passes final : TraceState {
  std::vector<std::unique_ptr<Pass<T>>> through;
  std::vector<AlignedVector<T>> values, deltas;  // what each layer gives, and the derivatives with respect to it
};

template <class T>
Network<T>::Network(std::string_view text, std::uint64_t seed) : Network(std::make_shared<const Plan>(text), seed) {}

template <class T>
Network<T>::Network(std::shared_ptr<const Plan> plan, std::uint64_t seed)
    : Model<T>(plan->weights), plan_(std::move(plan)) {
  RandomStream stream(seed, "initial weights");
  for (const auto& place : plan_->places) {
    place.layer->fill_initial(this->parameters().subspan(place.weights, place.layer->weights()), stream);
  }
}

template <class T>
std::string Network<T>::spec() const {
  std::string text = "network:";
  if (plan_->threads != 1) text += fmt::format("threads {}; ", plan_->threads);
  text += plan_->input.text();
  for (const auto& place : plan_->places) text += "; " + place.layer->text();
  return text;
}

template <class T>
void Network<T>::check(const Input<T>& x) const {
  if (plan_->input.kind != Shape::Kind::tokens) return this->check_dense(x, plan_->input.count());
  if (!x.values.empty()) throw BadSample("the sample has values, but the network reads tokens");
  const auto [steps, vocabulary, unused] = plan_->input.size;
  if (x.index.size() > steps) {
    throw BadSample(fmt::format("the sample has {} tokens, but the network reads at most {}", x.index.size(), steps));
  }
  for (const std::uint32_t token : x.index) {
    if (token >= vocabulary) {
      throw BadSample(fmt::format("the sample has token {}, but the network knows those below {}", token, vocabulary));
    }
  }
}

template <class T>
void Network<T>::prepare(Trace<T>& trace) const {
  require_one_output(outputs());
  auto passes = std::make_unique<Passes>();
  trace.j.clear();
  const auto& places = plan_->places;
  for (const auto& place : places) {
    const std::size_t count = place.layer->output().count();
    passes->values.emplace_back(count);
    passes->deltas.emplace_back(count);
    passes->through.push_back(place.layer->make_pass());
  }
  passes->deltas.back()[0] = 1;  // of f with respect to itself
  std::vector<std::size_t> first_block;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Pass<T>& pass = *passes->through[i];
    pass.out = passes->values[i].data();
    pass.out_delta = passes->deltas[i].data();
    if (i > 0) {
      pass.in = passes->values[i - 1].data();
      pass.in_delta = passes->deltas[i - 1].data();
    }
    first_block.push_back(trace.j.size());
    places[i].layer->add_blocks(places[i].weights, pass, trace.j);
  }
  first_block.push_back(trace.j.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    passes->through[i]->blocks = std::span(trace.j).subspan(first_block[i], first_block[i + 1] - first_block[i]);
  }
  trace.state = std::move(passes);
}

template <class T>
std::vector<RowTable> Network<T>::row_tables() const {
  std::vector<RowTable> tables;
  for (const auto& place : plan_->places) {
    for (RowTable table : place.layer->row_tables()) {
      table.offset += place.weights;
      tables.push_back(table);
    }
  }
  return tables;
}

template <class T>
double Network<T>::forward(const Input<T>& x, Trace<T>& trace) const {
  auto& passes = static_cast<Passes&>(*trace.state);
  passes.through.front()->in = x.values.data();
  passes.through.front()->tokens = x.index;
  std::size_t steps = 1;
  for (std::size_t i = 0; i < plan_->places.size(); ++i) {
    const auto& place = plan_->places[i];
    Pass<T>& pass = *passes.through[i];
    pass.in_steps = steps;
    place.layer->forward(plan_->weights_of(place, this->parameters()), pass, {trace.reader, place.tables});
    steps = pass.out_steps;
  }
  return passes.values.back()[0];
}

template <class T>
void Network<T>::sensitivity(const Input<T>& /*x*/, Trace<T>& trace) const {
  auto& passes = static_cast<Passes&>(*trace.state);
  for (std::size_t i = plan_->places.size(); i-- > 0;) {
    const auto& place = plan_->places[i];
    place.layer->backward(plan_->weights_of(place, this->parameters()), *passes.through[i]);
  }
}

template <class T>
std::size_t Network<T>::outputs() const {
  return plan_->places.back().layer->output().count();
}

template <class T>
std::unique_ptr<Batch<T>> Network<T>::make_batch(std::size_t size) const {
  return std::make_unique<NetworkBatch<T>>(*this, plan_->input, plan_->places, size);
}

void check_network(std::string_view text, std::optional<std::size_t> wanted) {
  constexpr std::string_view prefix = "network:";
  // In double: in float, oneDNN would compile every image layer.
  const auto parsed = parse_network<double>(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
  const std::size_t outputs = parsed.layers.back()->output().count();
  if (!wanted || outputs == *wanted) return;
  throw InvalidArgument(fmt::format("the network has {} output{}, but the target needs {}: end it with dense {}",
                                    outputs, outputs == 1 ? "" : "s", *wanted, *wanted));
}

template class Network<float>;
template class Network<double>;

}  // namespace ignd
