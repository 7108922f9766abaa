#include "scratch_folder.hpp"
#include "support.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

// Models kept without their trainers.
namespace ignd::testing {
namespace {

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n  does not contain: " << part;
}

template <class Action>
std::string file_error(Action action) {
  try {
    action();
  } catch (const FileError& fault) {
    return fault.what();
  }
  return "no FileError";
}

template <class T>
class SavedModel : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "model.ignd"; }

 private:
  ScratchFolder folder_;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SavedModel, Precisions);

TYPED_TEST(SavedModel, ComesBackBitByBit) {
  using T = TypeParam;
  RandomStream stream(1, "weights");
  for (const std::string spec :
       {"linear:features=4", "linear:features=4,bias=0", "hashed-linear:bits=5", "mlp:widths=4x5x3,activation=tanh",
        "mlp:widths=4x3,outputs=2", "network:values 4; dense 3; relu; dense 1",
        "network:image 1 4 4; convolution 2; relu; max-pool; flatten; dense 1",
        "network:tokens 6 9; embedding 3; lstm 2; last; dense 1"}) {
    if (!has_convolutions && spec.find("convolution") != std::string::npos) continue;
    const auto model = make_model<T>(spec, 3);
    for (T& w : model->parameters()) w = static_cast<T>(stream.normal());
    save_model<T>(this->path(), *model);
    const auto loaded = load_model<T>(this->path());
    EXPECT_EQ(loaded->spec(), model->spec());
    EXPECT_TRUE(std::ranges::equal(loaded->parameters(), model->parameters())) << spec;
    const auto other = make_model<T>(spec, 9);
    load_weights<T>(this->path(), *other);
    EXPECT_TRUE(std::ranges::equal(other->parameters(), model->parameters())) << spec;
  }
}

TYPED_TEST(SavedModel, OfATrainerPredictsAsItsSnapshot) {
  using T = TypeParam;
  HashedLinear<T> model(6);
  Trainer<T> trainer(model, {.optimizer = find_optimizer("adam")});  // whose rows wait
  RandomStream stream(1, "data");
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::uint32_t> index{static_cast<std::uint32_t>(i * 7 % 32),
                                           static_cast<std::uint32_t>(32 + i % 32)};
    const std::vector<T> values{1, 2};
    trainer.step({{values, index}, stream.normal()});
  }
  save_model<T>(this->path(), *trainer.snapshot());
  const auto loaded = load_model<T>(this->path());
  const auto current = trainer.snapshot();
  EXPECT_TRUE(std::ranges::equal(loaded->parameters(), current->parameters()));
}

TYPED_TEST(SavedModel, AForeignFileIsRefused) {
  using T = TypeParam;
  using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
  const auto load = [&] { load_model<T>(this->path()); };
  expect_contains(file_error(load), "model.ignd");

  std::ofstream(this->path()) << "a,b\n1,2\n";
  expect_contains(file_error(load), "is not an ignd checkpoint");

  Linear<T> model(2);
  Checkpoint run;
  Trainer<T>(model, {}).save(run);
  run.write(this->path());
  expect_contains(file_error(load), "cannot be used: it does not hold a model alone");

  save_model<Other>(this->path(), Linear<Other>(2));
  expect_contains(file_error(load), sizeof(T) == sizeof(float) ? "its weights are 'double', not 'float'"
                                                               : "its weights are 'float', not 'double'");
}

TYPED_TEST(SavedModel, ADamagedFileIsRefusedAndNothingChanges) {
  using T = TypeParam;
  Linear<T> model(3);
  save_model<T>(this->path(), model);
  const Checkpoint good = Checkpoint::read(this->path());
  Linear<T> other(3);
  other.parameters()[0] = 7;
  const auto expect_refused = [&](const Checkpoint& bad, const std::string& text) {
    bad.write(this->path());
    expect_contains(file_error([&] { load_model<T>(this->path()); }), text);
    expect_contains(file_error([&] { load_weights<T>(this->path(), other); }),
                    "model.ignd' cannot be used: its model is");
    EXPECT_EQ(other.parameters()[0], 7);
  };
  Checkpoint bad = good;
  bad.set("model", std::string("perceptron:features=3"));
  expect_refused(bad, "there is no model 'perceptron'");
  bad.set("model", std::string("linear:features=5"));
  expect_refused(bad, "has 4 numbers instead of 6");

  bad = good;
  bad.set("weights", std::span<const T>(std::vector<T>{1, 2, std::numeric_limits<T>::quiet_NaN(), 3}));
  bad.write(this->path());
  expect_contains(file_error([&] { load_model<T>(this->path()); }), "its weights are not all finite");
  expect_contains(file_error([&] { load_weights<T>(this->path(), other); }), "its weights are not all finite");
  EXPECT_EQ(other.parameters()[0], 7);

  good.write(this->path());
  std::filesystem::resize_file(this->path(), std::filesystem::file_size(this->path()) - 1);
  expect_contains(file_error([&] { load_model<T>(this->path()); }), "is truncated");
}

TYPED_TEST(SavedModel, OneThatIsNotFiniteIsNotSaved) {
  using T = TypeParam;
  Linear<T> model(2);
  model.parameters()[1] = std::numeric_limits<T>::infinity();
  EXPECT_THROW(save_model<T>(this->path(), model), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(this->path()));
}

TEST(SavedModelOfYourOwn, GivesItsWeightsBack) {
  class Constant final : public Model<double> {
   public:
    explicit Constant(double value) : Model(1) { parameters()[0] = value; }
    std::string spec() const override { return "constant"; }
    std::unique_ptr<Model> clone() const override { return std::make_unique<Constant>(*this); }
    void check(const Input<double>&) const override {}
    void prepare(Trace<double>&) const override {}
    double forward(const Input<double>&, Trace<double>&) const override { return parameters()[0]; }
    void sensitivity(const Input<double>&, Trace<double>&) const override {}
  };
  const ScratchFolder folder;
  const auto path = folder / "own.ignd";
  save_model<double>(path, Constant(5));
  Constant model(1);
  load_weights<double>(path, model);
  EXPECT_EQ(model.predict({}), 5);
  expect_contains(file_error([&] { load_model<double>(path); }), "there is no model 'constant'");
}

}  // namespace
}  // namespace ignd::testing
