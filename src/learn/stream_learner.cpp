#include "learn/stream_learner.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "core/importance.hpp"
#include "core/saved_run.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t most_held = 1000;
constexpr const char* learner_kind = "stream, version 2";
constexpr const char* first_kind = "stream, version 1";

// The fault of an example, in terms of the file.
std::string fault_of(const ExampleBlock& block, std::size_t i, const BadSample& fault) {
  const auto values = block.values(i);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (std::isfinite(values[k])) continue;
    return fmt::format("feature {} has the value {}; values must be finite", block.indices(i)[k], values[k]);
  }
  return fault.what();
}

Link link_of(const std::string& loss) { return make_vector_loss(loss)->link(); }
bool is_logistic(const std::string& loss) { return link_of(loss) == Link::logit; }
bool is_softmax(const std::string& loss) { return link_of(loss) == Link::softmax; }

PreconditionerKind parse_metric(const std::string& text) {
  if (const auto kind = parse_preconditioner(text)) return *kind;
  throw InvalidArgument(fmt::format("unknown preconditioner {}", in_quotes(text)));
}

// Squares of smaller numbers are finite, and so is any sum of them.
constexpr double largest_square_root = 1e150;

void check_size(double y) {
  if (std::abs(y) <= largest_square_root || !std::isfinite(y)) return;
  throw BadSample(
      fmt::format("the label is {}: it is too large, since squares of errors would not be numbers; give the "
                  "target in a larger unit",
                  y));
}

void check_finite(const StreamPrediction& made) {
  if (!std::isfinite(made.prediction)) throw BadSample("the prediction is not finite: its values are too large");
}

}  // namespace

BadRow::BadRow(std::uint64_t line, const std::string& fault)
    : BadSample(fmt::format("line {}: {}", line, fault)), line_(line), fault_(fault) {}

StreamLearner::StreamLearner(StreamOptions options)
    : options_(std::move(options)),
      model_(std::make_unique<HashedLinear<float>>(options_.bits)),
      centring_(std::size_t{1} << options_.bits) {
  options_.loss = tidy_spec(options_.loss);
  options_.optimizer = {tidy_spec(options_.optimizer.rule), tidy_spec(options_.optimizer.transform)};
  if (!options_.loss.empty() && is_softmax(options_.loss)) {
    start_softmax();
    decision_ = "softmax loss, as given";
  } else if (options_.loss.empty() || is_logistic(options_.loss)) {
    // None of this depends on the loss: report faults before the first example.
    const Trainer<float> trial(*model_, trainer_options("squared"));
  } else {
    start(options_.loss);
    decision_ = trainer_->options().loss->spec() + " loss, as given";
  }
}

StreamLearner::~StreamLearner() = default;
StreamLearner::StreamLearner(StreamLearner&&) noexcept = default;
StreamLearner& StreamLearner::operator=(StreamLearner&&) noexcept = default;

// docs/defaults.md says how these numbers were chosen.
TrainerOptions StreamLearner::trainer_options(const std::string& loss) const {
  // A rule with options is the user's own choice of damping; the default leaves it to the learner.
  const bool is_plain_ignd = options_.optimizer.rule == Optimizer().rule && options_.optimizer.has_plain_transform();
  const Link link = link_of(loss);
  TrainerOptions chosen{
      .loss = link == Link::softmax ? nullptr : make_loss(loss), .optimizer = options_.optimizer, .l2 = options_.l2};
  const bool fades = is_plain_ignd && options_.l2 == 0;
  chosen.preconditioner = options_.preconditioner.value_or(fades ? PreconditionerKind::fading_second_moment
                                                                 : PreconditionerKind::second_moment);
  const bool by_count = chosen.preconditioner == PreconditionerKind::fading_second_moment;
  if (is_plain_ignd) {
    const bool softmax = link == Link::softmax;
    const char* const eps_c = softmax ? "0.2" : link == Link::logit ? "0.1" : "auto";
    const char* const eps_lm = !by_count ? "1e-5" : softmax ? "1" : "2";
    chosen.optimizer.rule = fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm);
  } else if (!options_.schedule) {
    throw InvalidArgument(
        fmt::format("the optimizer '{}' with '{}' needs a schedule: only gauss-newton with plain has "
                    "a rate that fits every stream",
                    options_.optimizer.rule, options_.optimizer.transform));
  }
  const Schedule usual = by_count ? Schedule::constant(1) : Schedule::robbins_monro(0.5, 100, 0.5);
  chosen.schedule = options_.schedule.value_or(usual.with_warmup(first_look));
  return chosen;
}

void StreamLearner::start(const std::string& loss) {
  trainer_ = std::make_unique<Trainer<float>>(*model_, trainer_options(loss));
  const Loss& chosen = *trainer_->options().loss;
  classifies_ = chosen.link() == Link::logit;
  range_.moves = chosen.link() == Link::identity;
  range_.stretches = chosen.is_squared_error();
}

HashedSoftmax StreamLearner::make_softmax() const {
  const std::string fault = HashedSoftmax::fault(options_.optimizer, options_.l2);
  if (!fault.empty()) throw InvalidArgument(fault);
  const TrainerOptions chosen = trainer_options(softmax_loss);
  return {options_.bits, {chosen.optimizer.rule, chosen.schedule, chosen.preconditioner}};
}

void StreamLearner::start_softmax() {
  softmax_ = std::make_unique<HashedSoftmax>(make_softmax());
  classifies_ = true;
  range_ = {};
}

void StreamLearner::set_label_names(LabelName name) {
  const std::string& loss = options_.loss;
  if (!loss.empty() && !is_logistic(loss) && !is_softmax(loss)) {
    throw InvalidArgument(fmt::format("the target holds texts; the loss {} needs numbers", loss));
  }
  label_name_ = std::move(name);
  seen_classes_.sort(label_name_);
}

std::string StreamLearner::loss() const {
  if (softmax_) return softmax_loss;
  return trainer_ ? trainer_->options().loss->spec() : "";
}

std::string StreamLearner::model_spec() const { return softmax_ ? softmax_->spec() : model_->spec(); }

std::size_t StreamLearner::weights() const { return softmax_ ? softmax_->weight_count() : model_->parameters().size(); }

std::vector<double> StreamLearner::class_labels() const {
  if (softmax_) {
    std::vector<double> labels;
    for (const std::size_t number : seen_classes_.in_order()) labels.push_back(seen_classes_.labels()[number]);
    return labels;
  }
  std::vector<double> labels =
      decision_.empty() ? held_.labels().distinct() : std::vector{classes_.negative(), classes_.positive()};
  std::erase_if(labels, [](double label) { return std::isnan(label); });
  return labels;
}

std::optional<double> StreamLearner::only_label() const {
  if (std::isnan(only_label_)) return std::nullopt;
  return only_label_;
}

std::size_t StreamLearner::weights_not_zero() const {
  if (softmax_) return softmax_->weights_not_zero();
  const std::span<const float> weights = model_->parameters();
  return weights.size() - static_cast<std::size_t>(std::ranges::count(weights, 0.0F));
}

bool StreamLearner::has_seen_enough() const {
  const std::size_t telling = options_.loss.empty() && !label_name_ ? 3 : 2;
  return held_.labels().distinct().size() >= telling || held_.size() >= most_held;
}

void StreamLearner::decide() {
  const LabelSurvey& survey = held_.labels();
  const std::string labels = fmt::format("the first {} labels are {}", survey.labels(), survey.text(label_name_));
  if (!options_.loss.empty()) {
    start(options_.loss);
    decision_ = fmt::format("logistic loss, as given; {}", labels);
  } else {
    start(survey.distinct().size() == 2 || label_name_ ? "logistic" : "squared");
    decision_ = fmt::format("{} loss, because {}", trainer_->options().loss->spec(), labels);
  }
  if (classifies_) classes_ = Classes(survey.distinct(), label_name_);
}

void StreamLearner::learn(const ExampleBlock& block, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (holds_back(block.target[i])) {
      held_.add(block, i);
      if (has_seen_enough()) finish();
    } else {
      learn_row(block, i);
    }
  }
}

// Examples before the first label need not wait: there is nothing to choose a loss by.
bool StreamLearner::holds_back(double label) const {
  return decision_.empty() && (held_.size() > 0 || !std::isnan(label));
}

void StreamLearner::finish() {
  if (!decision_.empty() || held_.size() == 0) return;
  decide();
  const ExampleBlock held = held_.take();
  for (std::size_t i = 0; i < held.size(); ++i) learn_row(held, i);
}

Input<float> StreamLearner::input_of(const ExampleBlock& block, std::size_t i, CentringScratch& scratch) const {
  const Input<float> x{block.values(i), block.indices(i)};
  return options_.centre ? centring_.centred(x, scratch) : x;
}

void StreamLearner::learn_row(const ExampleBlock& block, std::size_t i) {
  ++statistics_.rows;
  try {
    if (std::isnan(block.target[i])) {
      predict_row(block, i);
    } else {
      learn_labelled(block, i);
    }
  } catch (const BadSample& fault) {
    if (!options_.skip_bad_rows) throw BadRow(block.line[i], fault_of(block, i, fault));
    ++statistics_.skipped;
    return;
  }
  const bool doubled = std::has_single_bit(statistics_.examples) && !std::isnan(block.target[i]);
  if (!doubled) return;
  if (events_.report) events_.report(statistics_);
  statistics_.recent_weight = statistics_.recent_loss = 0;
}

// A step of weight zero is a prediction.
void StreamLearner::predict_row(const ExampleBlock& block, std::size_t i) {
  StreamPrediction made;
  if (softmax_) {
    const HashedSoftmax::Step step = softmax_->step(input_of(block, i, scratch_), 0, 0);
    end_unless_finite(step.status, block.line[i]);
    made = prediction_from(step.outputs, statistics_.rows, block.line[i]);
  } else {
    double f = 0;
    if (trainer_) {
      const StepInfo info = trainer_->step({input_of(block, i, scratch_), 0, 0});
      end_unless_finite(info.status, block.line[i]);
      f = info.prediction;
    }
    made = prediction_from(f, statistics_.rows, block.line[i]);
  }
  check_finite(made);
  if (events_.prediction) events_.prediction(made);
}

// What the loss takes for a label. Fills a class that was still open.
double StreamLearner::learned_number(double label, Classes& classes) const {
  const double y = classifies_ ? classes.number_of(label, label_name_) : label;
  if (trainer_) trainer_->options().loss->check_target(y);
  check_size(y);
  return y;
}

void StreamLearner::check(double label, double weight) const {
  if (softmax_) {
    seen_classes_.check(label);
  } else if (!is_third_class(label)) {
    Classes classes = classes_;
    learned_number(label, classes);
  }
  if (!(weight >= 0 && weight <= largest_weight)) refuse_weight(weight);
}

// Texts that no loss was given for: they may turn out to be more than two classes at any time.
bool StreamLearner::is_third_class(double label) const {
  return classifies_ && !softmax_ && label_name_ && options_.loss.empty() && classes_.complete() &&
         label != classes_.negative() && label != classes_.positive() && std::isfinite(label) &&
         HashedSoftmax::fault(options_.optimizer, options_.l2).empty();
}

// Goes on with the same predictions.
void StreamLearner::become_softmax(double third) {
  Checkpoint two_classes;
  trainer_->save(two_classes);
  start_softmax();
  softmax_->take_over(two_classes);
  trainer_.reset();
  seen_classes_.add(classes_.negative(), label_name_);
  seen_classes_.add(classes_.positive(), label_name_);
  decision_ = fmt::format("softmax loss, because row {} has a third class, {}", statistics_.rows,
                          Classes::shown(third, label_name_));
  if (events_.decision) events_.decision(decision_);
}

void StreamLearner::learn_labelled(const ExampleBlock& block, std::size_t i) {
  if (softmax_ || is_third_class(block.target[i])) {
    learn_class(block, i);
    return;
  }
  Classes classes = classes_;
  const double y = learned_number(block.target[i], classes);
  const TargetRange range = range_.with(y);
  const Input<float> x = input_of(block, i, scratch_);
  remember_weights(x);
  const StepInfo info = trainer_->step({x, range.to_model(y), block.weight[i]});
  end_unless_finite(info.status, block.line[i]);
  if (put_weights_back_unless_finite(x)) end_unless_finite(StepStatus::coefficient_not_finite, block.line[i]);
  classes_ = classes;
  const StreamPrediction made = prediction_from(info.prediction, statistics_.rows, block.line[i]);
  range_ = range;
  if (info.status == StepStatus::learned && options_.centre) {
    const bool finite = centring_.observe(scratch_, model_->parameters());
    end_unless_finite(finite ? info.status : StepStatus::output_not_finite, block.line[i]);
  }
  const bool correct = classifies_ && (made.output > 0) == (y == 1);
  finish_example(block, i, made, made.output - y, loss_of(y, made), correct);
}

// A class that has not been seen before had the probability 1 / (n + 2) after n examples: the rule of succession.
void StreamLearner::learn_class(const ExampleBlock& block, std::size_t i) {
  const double label = block.target[i], weight = block.weight[i];
  check(label, weight);
  const auto values = block.values(i);
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) throw BadSample("a value is not finite");
  if (!softmax_) become_softmax(label);
  const Input<float> x = input_of(block, i, scratch_);
  const std::optional<std::size_t> known = seen_classes_.find(label);
  const double surprise = 1 / (static_cast<double>(statistics_.examples) + 2);
  const std::size_t number = known.value_or(seen_classes_.size());
  if (!known) {
    softmax_->add_class(x, surprise);
    seen_classes_.add(label, label_name_);
  }
  const HashedSoftmax::Step step = softmax_->step(x, number, weight);
  if (step.status != StepStatus::learned && step.status != StepStatus::zero_weight && !known) {
    softmax_->drop_last_class();
    seen_classes_.drop_last();
  }
  end_unless_finite(step.status, block.line[i]);
  const auto logits = known ? step.outputs : step.outputs.first(number);
  const StreamPrediction made = prediction_from(logits, statistics_.rows, block.line[i]);
  if (step.status == StepStatus::learned && options_.centre) {
    const bool finite = centring_.observe(scratch_, softmax_->weights(), softmax_->width());
    end_unless_finite(finite ? step.status : StepStatus::output_not_finite, block.line[i]);
  }
  const double loss = known ? cross_entropy(number, logits) : -std::log(surprise);
  finish_example(block, i, made, -std::expm1(-loss), loss, known && most_probable(logits) == number);
}

// Counts an example that was learned, or had no weight; `error` is f - y.
void StreamLearner::finish_example(const ExampleBlock& block, std::size_t i, const StreamPrediction& made, double error,
                                   double loss, bool correct) {
  if (statistics_.examples == 0) only_label_ = block.target[i];
  if (only_label_ != block.target[i]) only_label_ = std::numeric_limits<double>::quiet_NaN();
  count_example(statistics_, error, loss, block.weight[i], correct);
  if (events_.prediction) events_.prediction(made);
}

// The weight of the k-th feature; behind the last one, the bias.
float& StreamLearner::weight_of(const Input<float>& x, std::size_t k) {
  const auto weights = model_->parameters();
  const std::size_t mask = weights.size() - 2;
  return k < x.index.size() ? weights[x.index[k] & mask] : weights.back();
}

void StreamLearner::remember_weights(const Input<float>& x) {
  remembered_.resize(x.index.size() + 1);
  for (std::size_t k = 0; k < remembered_.size(); ++k) remembered_[k] = weight_of(x, k);
}

// A finite coefficient times the inverse of a tiny input can be too large for a weight.
bool StreamLearner::put_weights_back_unless_finite(const Input<float>& x) {
  bool finite = true;
  for (std::size_t k = 0; k < remembered_.size(); ++k) finite = finite && std::isfinite(weight_of(x, k));
  if (finite) return false;
  for (std::size_t k = 0; k < remembered_.size(); ++k) weight_of(x, k) = remembered_[k];
  return true;
}

void StreamLearner::end_unless_finite(StepStatus status, std::uint64_t line) {
  if (status == StepStatus::learned || status == StepStatus::zero_weight) return;
  throw LearningEnded(
      fmt::format("line {}: {}; learning has ended, and what was learned before can be saved: look at "
                  "the values of this line, or give a schedule with a lower rate",
                  line, to_string(status)));
}

StreamPrediction StreamLearner::prediction_from(double f, std::uint64_t row, std::uint64_t line) const {
  StreamPrediction made{.row = row, .line = line, .output = range_.from_model(f)};
  made.prediction = made.output;
  if (classifies_) {
    made.probability = sigmoid(f);
    made.prediction = classes_.label_of(f > 0);
  } else if (trainer_ && trainer_->options().loss->link() == Link::log) {
    made.prediction = std::exp(f);
  }
  return made;
}

// Before the first class there is nothing to predict.
StreamPrediction StreamLearner::prediction_from(std::span<const double> logits, std::uint64_t row,
                                                std::uint64_t line) const {
  StreamPrediction made{.row = row, .line = line, .logits = {logits.begin(), logits.end()}};
  if (logits.empty()) return made;
  const std::size_t best = most_probable(logits);
  made.output = logits[best];
  made.prediction = seen_classes_.labels()[best];
  made.probability = std::exp(-cross_entropy(best, logits));
  return made;
}

double StreamLearner::loss_of(double y, const StreamPrediction& made) const {
  if (softmax_) return cross_entropy(static_cast<std::size_t>(y), made.logits);
  const double error = made.output - y;
  return squares_errors() || !trainer_ ? error * error : trainer_->options().loss->at(y, made.output).value;
}

void StreamLearner::predict(const ExampleBlock& block, std::vector<StreamPrediction>& predictions) const {
  // Plain steps leave no row behind: the model itself can be read, without a copy.
  const bool up_to_date = !trainer_ || (options_.optimizer.has_plain_transform() && options_.l2 == 0);
  const std::unique_ptr<const Model<float>> copy = up_to_date ? nullptr : trainer_->snapshot();
  const Model<float>& model = up_to_date ? *model_ : *copy;
  Trace<float> trace(model);
  CentringScratch scratch;
  std::vector<double> logits;
  predictions.clear();
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Input<float> x = input_of(block, i, scratch);
    if (softmax_) {
      softmax_->predict(x, trace, logits);
      predictions.push_back(prediction_from(logits, i + 1, block.line[i]));
    } else {
      predictions.push_back(prediction_from(model.predict(x, trace), i + 1, block.line[i]));
    }
    try {
      check_finite(predictions.back());
    } catch (const BadSample& fault) {
      throw BadRow(block.line[i], fault_of(block, i, fault));
    }
  }
}

void StreamLearner::save(Checkpoint& checkpoint) const {
  checkpoint.set("learner", std::string(learner_kind));
  checkpoint.set("learner.bits", std::uint64_t{options_.bits});
  checkpoint.set("learner.loss", options_.loss);
  checkpoint.set("learner.rule", options_.optimizer.rule);
  checkpoint.set("learner.transform", options_.optimizer.transform);
  checkpoint.set("learner.schedule", options_.schedule ? options_.schedule->spec() : std::string());
  checkpoint.set("learner.l2", format_number(options_.l2));
  checkpoint.set("learner.metric", std::string(options_.preconditioner ? to_string(*options_.preconditioner) : ""));
  checkpoint.set("learner.centre", std::uint64_t{options_.centre});

  checkpoint.set("learner.decision", decision_);
  checkpoint.set("learner.only-label", std::span<const double>(&only_label_, 1));
  classes_.save(checkpoint);
  range_.save(checkpoint);
  save_statistics(statistics_, checkpoint);
  centring_.save(checkpoint);
  held_.save(checkpoint);
  if (trainer_) trainer_->save(checkpoint);
  if (!softmax_) return;
  seen_classes_.save(checkpoint);
  softmax_->save(checkpoint);
}

StreamLearner StreamLearner::restore(const Checkpoint& checkpoint, bool skip_bad_rows) try {
  const std::string kind = checkpoint.has("learner") ? checkpoint.text("learner") : "";
  if (kind != learner_kind && kind != first_kind) {
    throw FileError("the checkpoint does not hold a learner of streams");
  }
  StreamOptions options{.loss = checkpoint.text("learner.loss"),
                        .optimizer = {checkpoint.text("learner.rule"), checkpoint.text("learner.transform")},
                        .l2 = parse_number(checkpoint.text("learner.l2"), "l2"),
                        .centre = checkpoint.number("learner.centre") != 0,
                        .skip_bad_rows = skip_bad_rows};
  options.bits = static_cast<unsigned>(std::min<std::uint64_t>(checkpoint.number("learner.bits"), 64));
  if (const auto& text = checkpoint.text("learner.schedule"); !text.empty()) options.schedule = Schedule::parse(text);
  if (const auto& text = checkpoint.text("learner.metric"); !text.empty()) options.preconditioner = parse_metric(text);

  StreamLearner learner(std::move(options));
  learner.decision_ = checkpoint.text("learner.decision");
  if (!learner.decision_.empty() && is_softmax(checkpoint.text("loss"))) {
    if (!learner.softmax_) learner.start_softmax();
    learner.softmax_->restore(checkpoint);
    learner.seen_classes_ = SeenClasses::load(checkpoint);
    if (learner.softmax_->classes() != learner.seen_classes_.size()) throw FileError("its classes do not fit together");
  } else if (!learner.decision_.empty()) {
    if (!learner.trainer_) learner.start(checkpoint.text("loss"));
    learner.trainer_->restore(checkpoint);
    const std::span<const float> weights = learner.model_->parameters();
    if (!std::ranges::all_of(weights, [](auto weight) { return std::isfinite(weight); })) {
      throw FileError("its weights are not all finite");
    }
  }
  if (kind == first_kind) {
    learner.restore_state(named_state(checkpoint));
  } else {
    learner.restore_state(checkpoint);
  }
  learner.centring_.restore(checkpoint);
  learner.held_.restore(checkpoint);
  return learner;
} catch (const InvalidArgument& fault) {
  throw FileError(fmt::format("the checkpoint's options cannot be used: {}", fault.what()));
}

void StreamLearner::restore_state(const Checkpoint& checkpoint) {
  only_label_ = checkpoint.array<double>("learner.only-label", 1)[0];
  classes_ = Classes::load(checkpoint);
  range_.restore(checkpoint);
  statistics_ = load_statistics(checkpoint);
}

}  // namespace ignd
