#include "base/communicator.hpp"
#include "base/text.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/train.hpp"
#include "cli/use_model.hpp"
#include "ignd/error.hpp"
#include "ignd/version.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <set>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace {

using namespace ignd::cli;

constexpr const char* shard_help =
    "Make a part of the runs, such as 3/8, in a folder of its own; `ignd merge` joins the parts";

void add_reproduce(CLI::App& app, ReproduceOptions& options, std::string& folder, ignd::Communicator& ranks,
                   int& code) {
  CLI::App* command = app.add_subcommand("reproduce", "Make the figures and tables of experiments");
  command->add_option("names", options.names,
                      "Experiments, or paths of experiment files (default: all that come with ignd)");
  command->add_flag("--quick", options.quick, "A coarse preview: fewer seeds and rates, over their full range");
  check_count(command->add_option("--seeds", options.seeds, "Number of seeds, instead of the file's"), 1, 1000000);
  check_count(
      command->add_option("--jobs", options.jobs, "Runs at a time, on each rank (default: as many as it has cores)"), 1,
      1024);
  command->add_option("--out", options.out, "Folder for results and report (default: results, or results-preview)");
  command->add_flag("--all", options.all,
                    "Also the experiments that take long: all that this machine has the data for");
  command->add_flag("--offline", options.offline, "Do not download small data sets that experiments need");
  command->add_option("--shard", options.shard, shard_help);
  command->add_flag("--list", options.list, "List the experiments, and run nothing");
  command->final_callback([&] { code = reproduce(options, ranks); });

  CLI::App* reporting = app.add_subcommand("report", "Write the report of a folder of results, finished or not");
  reporting->add_option("folder", folder, "Folder that `reproduce` wrote to")->capture_default_str();
  reporting->final_callback([&] { code = make_report(folder); });
}

constexpr const char* any_data =
    "Table, gzip or not (- is the standard input); or a folder or archive of images or texts";

constexpr std::uint64_t most_save_every = 1'000'000'000'000;  // examples of a stream

void add_train(CLI::App& app, TrainOptions& options, ignd::Communicator& ranks, int& code) {
  CLI::App* command =
      app.add_subcommand("train", "Train a model on a table, on images or texts, or online on a stream");
  command->add_option("data", options.spec.data.path, any_data);
  add_run_options(command, options.spec, [](const ignd::RunKey&) { return true; });
  check_count(command->add_option("--folds", options.folds,
                                  "Cross-validate a table instead: train on all folds but one, for each of them"),
              2, 100)
      ->group("Data");
  command->add_option("--budget", options.budget, "Time limit, kept by training for fewer epochs: 90s, 10m, 2h")
      ->group("Training");
  const char* streams = "Streams";
  command->add_flag("--stream", options.stream, "Learn a linear model online, in one pass and constant memory")
      ->group(streams);
  check_count(command->add_option("--bits", options.bits, "2^bits weights for hashed features"), 1, 31)
      ->capture_default_str()
      ->group(streams);
  check_count(command->add_option("--threads", options.threads, "Parser threads; the model does not depend on them"), 1,
              64)
      ->group(streams);

  const char* output = "Output";
  command->add_option("--save", options.save, "Model file (default: in this folder, named after the data)")
      ->group(output);
  check_count(command->add_option("--save-every", options.save_every,
                                  "Save every N epochs (of a stream, examples) to NAME.partial.ignd, to resume from"),
              1, most_save_every)
      ->group(output);
  command->add_option("--resume", options.resume, "Resume a run that was saved before its end")->group(output);
  command
      ->add_option("--log-steps", options.log_steps,
                   "CSV file for quantiles of xi, s, h and the length of the steps, over 200 intervals")
      ->group(output);
  command
      ->add_option(
          "--predictions", options.predictions,
          "CSV file for the predictions of the validation and test rows; of a stream, for all as they are made")
      ->group(output);
  command->add_flag("--json", options.json, "One JSON object per line")->group(output);
  command->add_flag("--quiet", options.quiet, "Print the result only")->group(output);
  command->add_flag("--report", options.report, "Also write a page about the model beside it: NAME.html")
      ->group(output);
  command->final_callback([&, command] {
    options.given.names = given_names(*command);
    code = train(options, ranks);
  });
}

void add_compare(CLI::App& app, CompareOptions& options, ignd::Communicator& ranks, int& code) {
  CLI::App* command = app.add_subcommand("compare", "Find out which optimizer suits a table, at which learning rate");
  command->add_option("data", options.spec.data.path,
                      "Table, gzip or not: a regular file, since it is read more than once");
  add_run_options(command, options.spec, [](const ignd::RunKey& key) {
    return key.is_setting && (key.group == "Data" || key.group == "Model" || key.group == "Training");
  });
  const char* comparison = "Comparison";
  command->add_option("--optimizers", options.optimizers, "Names, or RULE+TRANSFORM, separated by commas")
      ->capture_default_str()
      ->group(comparison);
  command
      ->add_option("--lrs", options.rates,
                   "Learning rates: FROM:TO (one per decade), FROM:TO:PER-DECADE, or a list with commas")
      ->capture_default_str()
      ->group(comparison);
  check_count(
      command->add_option("--seeds", options.seeds, "Seeds per optimizer and rate: splits, initial weights and orders"),
      1, 1'000'000)
      ->capture_default_str()
      ->group(comparison);
  command->add_option("--budget", options.budget, "Time limit, kept by trying fewer rates and seeds: 90s, 10m, 2h")
      ->group(comparison);
  check_count(
      command->add_option("--jobs", options.jobs, "Runs at a time, on each rank (default: as many as it has cores)"), 1,
      1024)
      ->group(comparison);
  command->add_option("--out", options.out, "Folder for results and report (default: compare-NAME, after the file)")
      ->group(comparison);
  command->add_option("--shard", options.shard, shard_help)->group(comparison);
  command->add_flag("--json", options.json, "The result as one JSON object")->group(comparison);
  command->final_callback([&, command] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0 || option->get_positional()) continue;
      const bool flag = option->get_items_expected_max() == 0;
      options.given.push_back({option->get_name(), flag ? "" : option->as<std::string>(), flag});
    }
    code = compare(options, ranks);
  });
}

void add_use(CLI::App& app, UseOptions& options, int& code) {
  const auto add_command = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("model", options.model, "Model file")->required();
    return command;
  };
  const auto add_reading = [&](CLI::App* command, const std::set<std::string>& keys, const char* bad_rows) {
    add_run_options(command, options.spec, [&](const ignd::RunKey& key) { return keys.contains(key.name); });
    for (const std::string& key : keys) command->get_option("--" + key)->group("Options");
    command->get_option("--bad-rows")->description(bad_rows);
    command->add_option("data", options.spec.data.path, any_data)->required();
  };
  CLI::App* predicting = add_command("predict", "Predict rows, images or texts with a trained model");
  add_reading(predicting, {"format", "delimiter", "header", "decimal", "bad-rows"},
              "Rows that cannot be read: stop at the first, or skip (no prediction) and count them");
  predicting->add_option("-o,--output", options.output, "File for the predictions (default: the standard output)");
  const auto add_interval = [&](CLI::App* command, const char* what) {
    ignd::SettingKey key;
    key.kind = ignd::SettingKey::Kind::number;
    key.default_value = "90";
    key.low = 1;
    key.high = 99.99;
    const auto set = [&](const std::string& level) { options.interval = ignd::parse_number(level, "level"); };
    check_by(command->add_option_function<std::string>("--interval", set, what), key);
  };
  add_interval(predicting, "Print the ends of intervals that hold this percentage of the rows: 90");
  predicting->add_option("--keep", options.keep, "Columns to copy to the predictions, separated by commas")
      ->delimiter(',');
  predicting->final_callback([&, predicting] {
    options.given.names = given_names(*predicting);
    code = predict(options);
  });

  CLI::App* evaluating = add_command("evaluate", "Evaluate a trained model on data with the target");
  add_reading(evaluating, {"format", "delimiter", "header", "decimal", "weight", "bad-rows"},
              "Rows that cannot be read or have no usable target: stop at the first, or skip and count them");
  add_interval(evaluating, "Measure how many rows are in their intervals of this percentage: 90");
  evaluating->add_flag("--json", options.json, "One JSON object");
  evaluating->final_callback([&, evaluating] {
    options.given.names = given_names(*evaluating);
    code = evaluate(options);
  });

  CLI::App* explaining = add_command("explain", "Explain what a trained model has learned from its columns");
  add_reading(explaining, {"format", "delimiter", "header", "decimal", "weight", "bad-rows"},
              "Rows that cannot be read or have no usable target: stop at the first, or skip and count them");
  ignd::ExplainOptions& how = options.explain;
  const auto add_number = [&](const char* name, std::uint64_t& number, const char* what, std::uint64_t least) {
    check_count(explaining->add_option(name, number, what), least, 1'000'000'000)->capture_default_str();
  };
  add_number("--rows", how.rows, "Rows to look at, at most: the seed draws them; of a stream, the first", 1);
  add_number("--repeats", how.repeats, "How often each column is shuffled", 1);
  add_number("--curves", how.curves, "Columns with a partial dependence: the most important ones", 0);
  add_number("--points", how.points, "Values of a partial dependence, at most", 2);
  add_number("--heaviest", how.heaviest, "Features of a stream that are listed", 1);
  add_number("--seed", how.seed, "Seed of the rows and the shuffles", 0);
  explaining->add_option("--csv", options.csv, "File for the partial dependences");
  explaining->add_flag("--json", options.json, "One JSON object");
  explaining->final_callback([&, explaining] {
    options.given.names = given_names(*explaining);
    code = explain(options);
  });

  CLI::App* inspecting = add_command("inspect", "Describe a model file");
  CLI::Option* json = inspecting->add_flag("--json", options.json, "One JSON object");
  inspecting->add_flag("--markdown", options.markdown, "A model card in Markdown")->excludes(json);
  inspecting->final_callback([&] { code = inspect(options); });
}

void add_data(CLI::App& app, DataOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("data", "The data sets that the experiments use");
  command->require_subcommand(1);
  CLI::App* listing = command->add_subcommand("list", "List the data sets and where they are");
  listing->final_callback([&] { code = list_data(); });
  CLI::App* fetching = command->add_subcommand("fetch", "Download a data set to the cache folder; prints its path");
  fetching->add_option("name", options.name, "Data set")->required();
  fetching->add_option("--from", options.from, "Address to use instead of the public one");
  fetching->final_callback([&] { code = fetch_data(options); });
  CLI::App* finding = command->add_subcommand("path", "Print the path of a data set");
  finding->add_option("name", options.name, "Data set")->required();
  finding->final_callback([&] { code = print_data_path(options); });
}

void add_merge(CLI::App& app, MergeOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("merge", "Join folders of results, or models of parts of a stream");
  command
      ->add_option(
          "inputs", options.inputs,
          "Folders that `reproduce --shard` or `compare --shard` wrote to, or models that `train --stream` saved")
      ->required();
  command->add_option("--base", options.base, "Of models: the one that all of them were resumed from");
  command
      ->add_option("-o,--output", options.output,
                   "Folder to join them in, whose own results stay; or file for the model")
      ->required();
  command->final_callback([&] { code = merge(options); });
}

void add_tokenize(CLI::App& app, TokenizeOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("tokenize", "Print text as token ids of cl100k_base, one line per file");
  command
      ->add_option("paths", options.paths,
                   "Files, gzip or not, or folders: all files in and below, in byte order of their paths; - is the "
                   "standard input")
      ->required();
  command->final_callback([&] { code = tokenize(options); });
}

// Whether the reader of a pipe has closed it, as `head` does.
bool output_has_no_reader() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// Parses the command line and runs its command. Returns the exit code.
// What is wrong for all ranks is wrong for rank 0, too. As soon as it has said so and ended, mpirun ends the others; if
// another rank ended first, mpirun would end rank 0 before it has.
void let_rank_0_report(int rank) {
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
}

int parse_and_run(CLI::App& app, ignd::Communicator& ranks, int argc, char** argv) {
  int code = 0;
  CompareOptions compare_options;
  DataOptions data_options;
  MergeOptions merge_options;
  TokenizeOptions tokenize_options;
  TrainOptions train_options;
  UseOptions use_options;
  ReproduceOptions reproduce_options;
  std::string report_folder = default_folder;
  add_train(app, train_options, ranks, code);
  add_compare(app, compare_options, ranks, code);
  add_use(app, use_options, code);
  add_reproduce(app, reproduce_options, report_folder, ranks, code);
  add_data(app, data_options, code);
  add_merge(app, merge_options, code);
  add_tokenize(app, tokenize_options, code);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) print("{}", app.help());
    return code;
  } catch (const CLI::CallForHelp&) {
    print("{}", app.help());
    return 0;
  } catch (const CLI::CallForVersion&) {
    print("{}\n", app.version());
    return 0;
  } catch (const CLI::ParseError& fault) {
    // All ranks have the same command line: one of them says what is wrong with it.
    let_rank_0_report(ranks.rank());
    if (ranks.rank() == 0) print_error("ignd: {}\n", explain(app, fault));
    return usage_error;
  }
}

// Throws InvalidArgument for a command that a single process has to do.
void check_takes_ranks(const ignd::Launch& launch, int argc, char** argv) {
  static const std::set<std::string> able{"reproduce", "compare", "train"};
  const std::string command = argc > 1 ? argv[1] : "";
  if (launch.size <= 1 || able.contains(command)) return;
  throw ignd::InvalidArgument(
      fmt::format("`ignd {}` is the work of one process, but {} started {}; start it without {}",
                  ignd::printable(command), launch.by, launch.size, launch.by));
}

int run(const ignd::Launch& launch, int argc, char** argv) {
  try {
    check_takes_ranks(launch, argc, argv);
    const auto ranks = ignd::open_communicator(launch);
    CLI::App app{"Incremental Gauss-Newton Descent: train scalar-output models one sample at a time.", "ignd"};
    app.set_version_flag("--version", fmt::format("ignd {}\ncompiler: {}\ncpu path: {}", ignd::version(),
                                                  ignd::compiler(), ignd::cpu_path()));
    app.require_subcommand(0, 1);
    return parse_and_run(app, *ranks, argc, argv);
  } catch (const ignd::InvalidArgument& fault) {
    let_rank_0_report(launch.rank);
    if (launch.rank == 0) print_error("ignd: {}\n", ignd::printable(fault.what(), 2000));
    return usage_error;
  } catch (const std::bad_alloc&) {
    print_error("ignd: there is not enough memory for this; fewer --bits or a smaller --model need less\n");
    return failure;
  } catch (const std::exception& fault) {
    let_rank_0_report(launch.rank);
    print_error("ignd: {}\n", ignd::printable(fault.what(), 2000));
    return failure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Makes a file that may not grow any further an error to report instead of the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  const int code = run(ignd::find_launch(), argc, argv);
  // A result that could not be written is a failure.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (output_has_no_reader()) return works_without_reader ? code : failure;
  if (code == 0) std::fputs("ignd: cannot write to the standard output\n", stderr);
  return failure;
}
