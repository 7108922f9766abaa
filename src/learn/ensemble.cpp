#include "learn/ensemble.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/ensemble.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/model_outputs.hpp"
#include "learn/rank_engine.hpp"
#include "learn/run_checks.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* members_entry = "ensemble.members";
constexpr const char* runs_entry = "ensemble.runs";  // only in an ensemble that was interrupted

std::string member_prefix(std::size_t k) { return fmt::format("member.{}.", k); }

// The entries of a run among those of its ensemble: what all runs share is written once.
void put_run(Checkpoint& ensemble, std::size_t k, const Checkpoint& run) {
  for (const auto& [name, value] : run.entries()) {
    const auto shared = ensemble.entries().find(name);
    if (shared != ensemble.entries().end() && shared->second == value) continue;
    std::visit(
        [&, &key = name](const auto& entry) {
          if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, std::string>) {
            ensemble.set(member_prefix(k) + key, entry);
          } else {
            ensemble.set(member_prefix(k) + key, std::span(entry));
          }
        },
        value);
  }
}

std::optional<Checkpoint> run_in(const Checkpoint& ensemble, std::size_t k) {
  const std::string prefix = member_prefix(k);
  Checkpoint run;
  bool any = false;
  for (const auto& [name, value] : ensemble.entries()) {
    const bool own = name.starts_with(prefix);
    if (!own && (name.starts_with("member.") || ensemble.has(prefix + name))) continue;
    any = any || own;
    std::visit(
        [&, key = own ? name.substr(prefix.size()) : name](const auto& entry) {
          if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, std::string>) {
            run.set(key, entry);
          } else {
            run.set(key, std::span(entry));
          }
        },
        value);
  }
  return any ? std::optional(std::move(run)) : std::nullopt;
}

// Any option of the model or of its steps: what it says holds for a single network, unless an ensemble is asked for.
bool says_how_to_train(const GivenKeys& given) {
  if (given.has("model") || given.has("log-steps")) return true;
  return std::ranges::any_of(run_keys(), [&](const RunKey& key) {
    return (key.group == "Training" || key.group == "Mini-batches") && key.name != "seed" && given.has(key.name);
  });
}

// A run of the ensemble, and what is left of it once it has ended.
class Member final : public RunObserver {
 public:
  // What happens to a member is told here, to one thread at a time.
  struct Owner {
    std::mutex mutex;
    bool keeps_states = false;  // after every epoch
    std::function<void()> progressed;
    std::function<void(const std::optional<EpochReport>& epoch)> looked;
    std::function<void(const Member& member)> ended;
  };

  Member(MemberReport report, TrainingOptions options, const Dataset& dataset, Owner& owner)
      : report_(std::move(report)), options_(std::move(options)), dataset_(dataset), owner_(owner) {}

  RunSlot slot() { return {.options = &options_, .observer = this, .dataset = &dataset_}; }
  const MemberReport& report() const { return report_; }
  const TrainingOptions& options() const { return options_; }
  const Dataset& dataset() const { return dataset_; }
  std::uint64_t learned() const { return learned_; }
  std::uint64_t to_learn() const { return options_.epochs * dataset_.split().train.size(); }
  double seconds() const { return seconds_; }
  const Model<float>* model() const { return model_.get(); }  // none if it has not begun
  bool has_learned() const { return model_ != nullptr && report_.kept_epoch > 0; }
  bool is_over() const { return report_.status != RunStatus::running; }
  const std::optional<Checkpoint>& state() const { return state_; }
  void resume(std::optional<Checkpoint> state) { saved_ = std::move(state); }

  void begin(RunView& run) override {
    if (saved_) run.restore(*saved_);
    learned_ = run.learned();
  }
  void look(RunView& run, const std::optional<EpochReport>& epoch) override {
    learned_ = run.learned();
    if (!epoch) return;
    const std::lock_guard lock(owner_.mutex);
    if (owner_.keeps_states && run.status() == RunStatus::running) note(run);
    report_.curve.push_back(*epoch);
    owner_.looked(epoch);
  }
  void progress(const RunView& run) override {
    learned_ = run.learned();
    const std::lock_guard lock(owner_.mutex);
    owner_.progressed();
  }
  void end(RunView& run) override {
    const std::lock_guard lock(owner_.mutex);
    note(run);
    if (is_over()) owner_.ended(*this);
  }

 private:
  void note(const RunView& run) {
    report_.status = run.status();
    report_.epochs = run.epoch();
    report_.kept_epoch = run.kept_epoch();
    learned_ = run.learned();
    seconds_ = run.learning_seconds();
    model_ = run.kept();
    state_.emplace();
    run.save(*state_);
    report_.loss = state_->array<double>("run.best-loss", 1)[0];
  }

  MemberReport report_;
  TrainingOptions options_;
  const Dataset& dataset_;
  Owner& owner_;
  std::optional<Checkpoint> saved_, state_;
  std::atomic<std::uint64_t> learned_ = 0;
  double seconds_ = 0;
  std::unique_ptr<Model<float>> model_;
};

// The whole, as its observer sees it.
class EnsembleTraining final : public RunView {
 public:
  EnsembleTraining(const Dataset& dataset, const EnsemblePlan& plan, EnsembleObserver& observer);

  void train(const Engine& engine, const std::atomic<bool>& stop);
  void serve(Communicator& ranks, unsigned jobs, const std::atomic<bool>& stop);

  RunStatus status() const override { return status_; }
  std::uint64_t epoch() const override;
  std::uint64_t learned() const override { return sum(&Member::learned); }
  std::uint64_t to_learn() const override { return sum(&Member::to_learn); }
  double learning_seconds() const override;
  std::unique_ptr<Model<float>> last() const override { return kept(); }
  std::unique_ptr<Model<float>> kept() const override;
  std::uint64_t kept_epoch() const override;
  std::optional<Scores> measure(Iterate iterate, std::span<const std::uint32_t> rows,
                                const std::atomic<bool>& stop) const override;
  std::optional<std::vector<double>> outputs(std::span<const std::uint32_t> rows,
                                             const std::atomic<bool>& stop) const override;
  std::span<const std::uint32_t> unseen() const override { return judges(); }
  void save(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  using Members = std::vector<std::unique_ptr<Member>>;

  void add_member(std::size_t k, bool linear, const TrainingOptions& options, const Dataset& dataset);
  Members& group_of(bool linear) { return linear ? linears_ : networks_; }
  std::uint64_t sum(std::uint64_t (Member::*count)() const) const;
  void train_group(const Engine& engine, Members& group, const std::atomic<bool>& stop);
  void finish();
  std::vector<double> unseen_outputs(const Members& group, std::span<const std::uint32_t> rows) const;
  std::span<const std::uint32_t> judges() const;
  bool blends_linear() const { return linear_share_ > 0; }

  const Dataset& dataset_;
  EnsemblePlan plan_;
  EnsembleObserver& observer_;
  Member::Owner owner_;
  std::vector<std::unique_ptr<Dataset>> folds_;
  std::map<std::uint32_t, std::size_t> fold_of_;  // of the rows that are in one
  std::vector<std::uint32_t> folded_;
  Members networks_, linears_;
  double linear_share_ = 0;
  double scale_ = 1;  // of the logits of classes
  RunStatus status_ = RunStatus::running;
};

EnsembleTraining::EnsembleTraining(const Dataset& dataset, const EnsemblePlan& plan, EnsembleObserver& observer)
    : dataset_(dataset), plan_(plan), observer_(observer) {
  owner_.keeps_states = plan.keep_states;
  owner_.progressed = [this] { observer_.progress(*this); };
  owner_.looked = [this](const std::optional<EpochReport>& epoch) { observer_.look(*this, epoch); };
  owner_.ended = [this](const Member& member) { observer_.member_ended(*this, member.report()); };
  const auto folds = fold_rows(dataset, plan.members, plan.network.seed);
  for (std::size_t f = 0; f < folds.size(); ++f) {
    Split split{.train = {}, .validation = folds[f], .test = dataset.split().test};
    for (std::size_t other = 0; other < folds.size(); ++other) {
      if (other != f) split.train.insert(split.train.end(), folds[other].begin(), folds[other].end());
    }
    std::ranges::sort(split.train);
    for (const std::uint32_t row : folds[f]) fold_of_[row] = f;
    folds_.push_back(dataset.with_split(std::move(split)));
  }
  for (const auto& [row, fold] : fold_of_) folded_.push_back(row);
  for (std::size_t k = 0; k < plan.members; ++k) {
    add_member(k, false, plan.network, folds_.empty() ? dataset : *folds_[k % folds_.size()]);
  }
  const std::size_t linears = judges().empty() ? 0 : std::max<std::size_t>(folds_.size(), 1);
  for (std::size_t k = 0; k < linears; ++k) add_member(k, true, plan.linear, folds_.empty() ? dataset : *folds_[k]);
}

void EnsembleTraining::add_member(std::size_t k, bool linear, const TrainingOptions& options, const Dataset& dataset) {
  TrainingOptions own = options;
  own.seed = seed_of_member(options.seed, k);
  if (own.batch) own.batch->size = std::min<std::size_t>(own.batch->size, dataset.split().train.size());
  group_of(linear).push_back(
      std::make_unique<Member>(MemberReport{.number = k + 1, .linear = linear}, std::move(own), dataset, owner_));
}

std::uint64_t EnsembleTraining::sum(std::uint64_t (Member::*count)() const) const {
  std::uint64_t all = 0;
  for (const auto& member : networks_) all += ((*member).*count)();
  for (const auto& member : linears_) all += ((*member).*count)();
  return all;
}

double EnsembleTraining::learning_seconds() const {
  double all = 0;
  for (const auto& member : networks_) all += member->seconds();
  for (const auto& member : linears_) all += member->seconds();
  return all;
}

std::uint64_t EnsembleTraining::epoch() const {
  std::uint64_t most = 0;
  for (const auto& member : networks_) most = std::max(most, member->report().epochs);
  return most;
}

std::uint64_t EnsembleTraining::kept_epoch() const {
  std::uint64_t most = 0;
  for (const auto& member : networks_) most = std::max(most, member->report().kept_epoch);
  return most;
}

// The rows whose predictions choose the share of the linear model.
std::span<const std::uint32_t> EnsembleTraining::judges() const {
  return folds_.empty() ? std::span(dataset_.split().validation) : std::span(folded_);
}

void EnsembleTraining::train_group(const Engine& engine, Members& group, const std::atomic<bool>& stop) {
  std::vector<RunSlot> slots;
  for (const auto& member : group) slots.push_back(member->slot());
  if (!slots.empty() && !stop) ignd::train_group(engine, slots, dataset_, stop);
}

void EnsembleTraining::train(const Engine& engine, const std::atomic<bool>& stop) {
  observer_.begin(*this);
  train_group(engine, networks_, stop);
  train_group(engine, linears_, stop);
  finish();
  observer_.end(*this);
}

void EnsembleTraining::serve(Communicator& ranks, unsigned jobs, const std::atomic<bool>& stop) {
  std::vector<RunSlot> slots;
  for (const Members* group : {&networks_, &linears_}) {
    for (const auto& member : *group) slots.push_back(member->slot());
  }
  serve_training(ranks, jobs, slots, dataset_,
                 plan_.keep_states ? RankStates::after_every_epoch : RankStates::at_the_end, stop);
}

void EnsembleTraining::finish() {
  const auto over = [](const auto& member) { return member->is_over(); };
  if (!std::ranges::all_of(networks_, over) || !std::ranges::all_of(linears_, over)) return;
  const auto sound = [](const auto& member) { return member->has_learned() || member->options().epochs == 0; };
  if (std::ranges::none_of(networks_, sound)) {
    status_ = RunStatus::diverged;
    return;
  }
  status_ = RunStatus::finished;
  if (linears_.empty() || !std::ranges::all_of(linears_, sound) || !std::ranges::all_of(networks_, sound)) return;
  std::vector<double> outputs = unseen_outputs(networks_, judges());
  const std::vector<double> linear = unseen_outputs(linears_, judges());
  const double share = best_share(dataset_, judges(), outputs, linear);
  // The share suits the predictions of single networks. Their mean is better, so that the linear model deserves less:
  // hardly anything where the share is small, and nearly all of it where it is large.
  linear_share_ = folds_.empty() ? share : share * share;
  if (!dataset_.target().is_class()) return;
  // Networks are too sure of classes, or not sure enough: their logits are scaled so that probabilities are right.
  constexpr double largest_scale = 1.5;
  const std::vector<double> nothing(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = largest_scale * (outputs[i] + linear_share_ * (linear[i] - outputs[i]));
  }
  const double scale = largest_scale * best_share(dataset_, judges(), nothing, outputs);
  if (scale > 0) scale_ = scale;
}

// What members say of rows that they have not learned from: of a row in a fold, the first network of that fold; of
// other rows, the mean of all.
std::vector<double> EnsembleTraining::unseen_outputs(const Members& group, std::span<const std::uint32_t> rows) const {
  const std::size_t count = dataset_.target().outputs();
  std::vector<double> outputs(rows.size() * count);
  for (std::size_t k = 0; k < group.size(); ++k) {
    std::vector<std::uint32_t> own;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto fold = fold_of_.find(rows[i]);
      if (fold != fold_of_.end() && fold->second != k) continue;
      own.push_back(rows[i]);
      places.push_back(i);
    }
    const std::vector<double> made = outputs_on(dataset_, own, *group[k]->model());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double share = fold_of_.contains(own[i]) ? 1 : 1 / static_cast<double>(group.size());
      for (std::size_t c = 0; c < count; ++c) outputs[places[i] * count + c] += share * made[i * count + c];
    }
  }
  return outputs;
}

std::unique_ptr<Model<float>> EnsembleTraining::kept() const {
  std::vector<std::unique_ptr<Model<float>>> models;
  for (const auto& member : networks_) {
    if (member->has_learned()) models.push_back(member->model()->clone());
  }
  if (models.empty()) {
    const TrainingOptions& options = networks_[0]->options();
    models.push_back(make_model<float>(dataset_.model_spec(options.model), options.seed));
  }
  const auto count = static_cast<double>(models.size());
  const std::vector<double> shares(models.size(), scale_ * (1 - linear_share_) / count);
  if (!blends_linear()) return blend<float>(models, shares);
  // The mean of linear models is one.
  const auto linear = linears_[0]->model()->clone();
  const std::span<float> mean = linear->parameters();
  std::vector<double> sums(mean.size());
  for (const auto& member : linears_) {
    const auto weights = member->model()->parameters();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(weights[i]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    mean[i] = static_cast<float>(sums[i] / static_cast<double>(linears_.size()));
  }
  return blend<float>(models, shares, linear.get(), scale_ * linear_share_);
}

std::optional<Scores> EnsembleTraining::measure(Iterate /*iterate*/, std::span<const std::uint32_t> rows,
                                                const std::atomic<bool>& stop) const {
  const auto made = outputs(rows, stop);
  return made ? std::optional(evaluate(dataset_, rows, *made)) : std::nullopt;
}

std::optional<std::vector<double>> EnsembleTraining::outputs(std::span<const std::uint32_t> rows,
                                                             const std::atomic<bool>& stop) const {
  const bool any_unseen = std::ranges::any_of(rows, [&](std::uint32_t row) { return fold_of_.contains(row); });
  std::vector<double> outputs;
  const auto usable = [](const auto& member) { return member->model() != nullptr; };
  if (any_unseen && std::ranges::all_of(networks_, usable)) {
    outputs = unseen_outputs(networks_, rows);
    if (blends_linear()) {
      const std::vector<double> linear = unseen_outputs(linears_, rows);
      for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] += linear_share_ * (linear[i] - outputs[i]);
    }
    for (double& output : outputs) output *= scale_;
  } else {
    outputs = outputs_on(dataset_, rows, *kept());
  }
  if (stop) return std::nullopt;
  return outputs;
}

void EnsembleTraining::save(Checkpoint& checkpoint) const {
  dataset_.save_reader(checkpoint);
  save_trained_model(checkpoint, dataset_.target(), dataset_.loss(), *kept());
  std::vector<std::uint64_t> epochs;
  std::vector<double> losses;
  for (const auto& member : networks_) {
    epochs.push_back(member->report().kept_epoch);
    losses.push_back(member->report().loss);
  }
  checkpoint.set(members_entry, std::uint64_t{networks_.size()});
  checkpoint.set("ensemble.kept-epochs", std::span<const std::uint64_t>(epochs));
  checkpoint.set("ensemble.losses", std::span<const double>(losses));
  checkpoint.set("ensemble.linear-share", std::span<const double>(&linear_share_, 1));
  checkpoint.set("ensemble.scale", std::span<const double>(&scale_, 1));
  if (status_ != RunStatus::running) return;
  checkpoint.set(runs_entry, std::uint64_t{networks_.size() + linears_.size()});
  for (std::size_t k = 0; k < networks_.size(); ++k) {
    if (networks_[k]->state()) put_run(checkpoint, k, *networks_[k]->state());
  }
  for (std::size_t k = 0; k < linears_.size(); ++k) {
    if (linears_[k]->state()) put_run(checkpoint, networks_.size() + k, *linears_[k]->state());
  }
}

void EnsembleTraining::restore(const Checkpoint& checkpoint) {
  check_saved_run(checkpoint, &plan_);
  if (checkpoint.number(runs_entry) != networks_.size() + linears_.size()) {
    throw FileError("the saved run had other options: its rows were split in another way");
  }
  for (std::size_t k = 0; k < networks_.size(); ++k) networks_[k]->resume(run_in(checkpoint, k));
  for (std::size_t k = 0; k < linears_.size(); ++k) linears_[k]->resume(run_in(checkpoint, networks_.size() + k));
}

}  // namespace

double rate_of_saved_ensemble(const Checkpoint& saved) {
  const std::uint64_t runs = saved.number(runs_entry);
  for (std::size_t k = 0; k < runs; ++k) {
    if (const auto run = run_in(saved, k)) return rate_of_saved(*run);
  }
  throw FileError("none of its networks has begun");
}

bool is_of_ensemble(const Checkpoint& saved) { return saved.has(members_entry); }

void check_saved_run(const Checkpoint& saved, const EnsemblePlan* plan) {
  const std::uint64_t members = saved.has(members_entry) ? saved.number(members_entry) : 1;
  const std::uint64_t wanted = plan != nullptr ? plan->members : 1;
  if (saved.has(members_entry) && !saved.has(runs_entry)) throw FileError("the ensemble is complete");
  if (members == wanted) return;
  throw FileError(fmt::format("the saved run had other options: it is of {} network{}, not of {}; add --ensemble {}{}",
                              members, members == 1 ? "" : "s", wanted, members,
                              members == 1 ? " or --fast" : " and what else it was begun with"));
}

std::vector<std::vector<std::uint32_t>> fold_rows(const Dataset& dataset, std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> rows = dataset.split().train;
  rows.insert(rows.end(), dataset.split().validation.begin(), dataset.split().validation.end());
  std::ranges::sort(rows);
  const std::size_t folds = std::min(count, rows.size() / 2);
  if (!dataset.rows_are_exchangeable() || folds < 2) return {};
  RandomStream(seed, "folds").shuffle(rows);
  if (dataset.target().is_class()) {
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return dataset.target_in_units(row); });
  }
  std::vector<std::vector<std::uint32_t>> made(folds);
  for (std::size_t i = 0; i < rows.size(); ++i) made[i % folds].push_back(rows[i]);
  for (auto& fold : made) std::ranges::sort(fold);
  return made;
}

double best_share(const Dataset& dataset, std::span<const std::uint32_t> rows, std::span<const double> first,
                  std::span<const double> second) {
  std::vector<double> blended(first.size());
  const auto loss_at = [&](double share) {
    for (std::size_t i = 0; i < blended.size(); ++i) blended[i] = first[i] + share * (second[i] - first[i]);
    return evaluate(dataset, rows, blended).loss;
  };
  // Golden sections of a convex function.
  const double golden = (std::sqrt(5.0) - 1) / 2;
  constexpr double precise = 1e-3;
  double low = 0, high = 1;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = loss_at(left), at_right = loss_at(right);
  while (high - low > precise) {
    if (at_left <= at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = loss_at(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = loss_at(right);
    }
  }
  const double middle = (low + high) / 2;
  double best = 0, lowest = loss_at(0);
  for (const double share : {middle, 1.0}) {
    if (const double loss = loss_at(share); loss < lowest) best = share, lowest = loss;
  }
  return best;
}

void choose_ensemble(RunSpec& spec, const GivenKeys& given, DataKind kind) {
  constexpr std::uint64_t usual_members = 8, usual_pieces = 32, usual_levels = 256;
  if (spec.fast && spec.ensemble.value_or(1) > 1) {
    throw InvalidArgument(fmt::format("{} trains a single network, and cannot be given with {}", given.shown("fast"),
                                      given.shown("ensemble")));
  }
  if (kind != DataKind::table) return;  // refused where it was asked for
  if (!spec.ensemble) spec.ensemble = spec.fast || says_how_to_train(given) ? 1 : usual_members;
  if (!spec.is_ensemble()) return;
  if (spec.model.empty()) spec.model = "mlp:128,128";
  if (!spec.model.starts_with("mlp:")) {
    throw InvalidArgument(fmt::format("an ensemble is one of networks such as mlp:128,128, not of {}; {} 1 trains one",
                                      in_quotes(spec.model), given.shown("ensemble")));
  }
  if (!spec.dataset.pieces) spec.dataset.pieces = usual_pieces;
  if (!spec.dataset.levels) spec.dataset.levels = usual_levels;
  const bool usual_steps = !given.has("optimizer") && !given.has("rule") && !given.has("transform") &&
                           !given.has("lr") && spec.batch.mode == BatchMode::average;
  if (usual_steps) spec.method.rate = "0.001";
}

std::uint64_t seed_of_member(std::uint64_t seed, std::size_t k) {
  constexpr unsigned high_bits = 32;  // so that the ensembles of neighbouring seeds have no network in common
  return seed + (std::uint64_t{k} << high_bits);
}

EnsemblePlan plan_ensemble(const RunSpec& spec, const Dataset& dataset) {
  constexpr std::size_t most_together = 64, least_together = 16, steps_of_a_short_epoch = 30;
  constexpr std::uint64_t steps = 10'000, most_epochs = 60, least_epochs = 12, samples_of_large_data = 4'000'000;
  const std::size_t rows = dataset.split().train.size() + dataset.split().validation.size();
  EnsemblePlan plan{.members = *spec.ensemble, .network = spec.training, .linear = {}};
  TrainingOptions& network = plan.network;
  if (!network.batch) {
    const std::size_t fitting = rows / steps_of_a_short_epoch / least_together * least_together;
    network.batch = spec.batch;
    network.batch->size = std::clamp(fitting, least_together, most_together);
  }
  if (!spec.epochs) {
    const std::uint64_t in_epoch = std::max<std::uint64_t>(rows / network.batch->size, 1);
    network.epochs = std::clamp(steps / in_epoch, least_epochs, most_epochs);
    network.epochs = std::clamp<std::uint64_t>(samples_of_large_data / rows, 3, network.epochs);
  }
  // Most of what a network gains comes late, where the steps of the schedule are small.
  if (!spec.patience) network.patience = std::max(network.patience, network.epochs / 2);
  constexpr double linear_rate = 0.003;
  plan.linear = network;
  plan.linear.model = "linear";
  plan.linear.optimizer = find_optimizer("adam");
  plan.linear.rate = linear_rate;
  plan.linear.batch->mode = BatchMode::average;
  plan.linear.batch->adaptive = false;
  return plan;
}

void train_ensemble(const Engine& engine, const Dataset& dataset, const EnsemblePlan& plan, EnsembleObserver& observer,
                    const std::atomic<bool>& stop) {
  EnsembleTraining(dataset, plan, observer).train(engine, stop);
}

void serve_ensemble(Communicator& ranks, unsigned jobs, const Dataset& dataset, const EnsemblePlan& plan,
                    const std::atomic<bool>& stop) {
  EnsembleObserver nobody;
  EnsembleTraining(dataset, plan, nobody).serve(ranks, jobs, stop);
}

}  // namespace ignd
