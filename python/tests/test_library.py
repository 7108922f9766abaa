"""Models and trainers of samples, against numpy."""

import ignd
import numpy as np
import pytest


def paper_step(w, x, y, rate, eps=1e-5):
    """One step of a linear model with the squared loss, from the paper."""
    error = w @ x - y
    return w - rate * error / (x @ x + eps) * x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_are_the_papers(dtype):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(50, 4)).astype(dtype), random.normal(size=50)
    model = ignd.linear(4, bias=False, dtype=dtype)
    trainer = ignd.Trainer(model, schedule=0.3)
    w = np.zeros(4)
    for row, target in zip(x, y, strict=True):
        info = trainer.step(row, target)
        assert info.prediction == pytest.approx(w @ row, abs=1e-5)
        w = paper_step(w, row, target, 0.3)
        np.testing.assert_allclose(model.parameters, w, rtol=1e-4, atol=1e-5)
    many = ignd.Trainer(ignd.linear(4, bias=False, dtype=dtype), schedule=0.3)
    assert many.learn(x, y).step == 50
    np.testing.assert_array_equal(many.model.parameters, model.parameters)


class Expectile(ignd.Loss):
    """(f - y)^2 / 2, three times as much above the target."""

    def at(self, y, f):
        weight = 3.0 if f > y else 1.0
        return weight * (f - y) ** 2 / 2, weight * (f - y), 3.0

    def spec(self):
        return "expectile"


class Broken(ignd.Loss):
    def at(self, y, f):
        raise KeyError("broken")

    def spec(self):
        return "broken"


def test_a_loss_of_ones_own():
    class Squared(ignd.Loss):
        def at(self, y, f):
            return (f - y) ** 2 / 2, f - y, 1.0

        def spec(self):
            return "my-squared"

    random = np.random.default_rng(1)
    x, y = random.normal(size=(200, 3)), random.normal(size=200)
    mine = ignd.Trainer(ignd.mlp([3, 8], dtype="float64"), loss=Squared())
    known = ignd.Trainer(ignd.mlp([3, 8], dtype="float64"), loss="squared")
    mine.learn(x, y)
    known.learn(x, y)
    np.testing.assert_array_equal(mine.model.parameters, known.model.parameters)
    assert ignd.check_loss(Expectile(), curvature_is_bound=True)["ok"]
    assert not ignd.check_loss(Expectile())["ok"]
    assert mine.step(x[0], y[0]).loss.d2 == 1


def test_an_error_in_a_loss_comes_out():
    trainer = ignd.Trainer(ignd.linear(2), loss=Broken())
    with pytest.raises(KeyError, match="broken"):
        trainer.step([1, 2], 3)
    with pytest.raises(KeyError, match="broken"):
        trainer.learn([[1, 2]], [3])


def test_advice_is_a_warning():
    class Sided(Expectile):
        def at(self, y, f):
            weight = 3.0 if f > y else 1.0
            return weight * (f - y) ** 2 / 2, weight * (f - y), weight

    with pytest.warns(UserWarning, match="do not minimise the loss 'expectile'"):
        ignd.Trainer(ignd.linear(1), loss=Sided())


def test_a_loss_lives_as_long_as_its_trainer():
    import gc

    trainer = ignd.Trainer(ignd.linear(1), loss=Expectile())
    gc.collect()
    assert trainer.step([1], 1).loss.value == 0.5


def test_batches_solve_the_damped_system():
    random = np.random.default_rng(2)
    x, y = random.normal(size=(20, 4)), random.normal(size=20)
    trainer = ignd.BatchTrainer(ignd.linear(4, bias=False, dtype="float64"), size=20, mode="exact", damping=0.7,
                                schedule=1)
    info = trainer.step(x, y)
    assert info.loss == pytest.approx(np.mean(y**2) / 2)
    expected = np.linalg.solve(x.T @ x / 20 + 0.7 * np.eye(4), x.T @ y / 20)
    np.testing.assert_allclose(trainer.snapshot().parameters, expected, rtol=1e-9)


def test_several_outputs():
    random = np.random.default_rng(3)
    x = random.normal(size=(300, 2))
    y = (x[:, 0] > 0).astype(float) + (x[:, 1] > 0)
    model = ignd.mlp([2, 16], outputs=3, dtype="float64", seed=1)
    trainer = ignd.BatchTrainer(model, loss="softmax", optimizer="adam", schedule=0.02, size=30)
    for _ in range(30):
        for k in range(0, 300, 30):
            trainer.step(x[k : k + 30], y[k : k + 30])
    logits = trainer.snapshot().predict(x)
    assert logits.shape == (300, 3)
    assert (logits.argmax(axis=1) == y).mean() > 0.9


def test_sparse_inputs():
    model = ignd.hashed_linear(10)
    trainer = ignd.Trainer(model, schedule=1)
    trainer.step([1, 2], 5, index=[7, 900])
    assert model.predict_one(np.array([1, 2], np.float32), np.array([7, 900], np.uint32)) == pytest.approx(5, abs=1e-3)


def test_continues_bit_by_bit(tmp_path):
    random = np.random.default_rng(4)
    x, y = random.normal(size=(100, 3)), random.normal(size=100)

    def trainer():
        return ignd.Trainer(ignd.mlp([3, 8], seed=2), optimizer="adam", schedule=0.01)

    whole, first, second = trainer(), trainer(), trainer()
    whole.learn(x, y)
    first.learn(x[:40], y[:40])
    first.save(tmp_path / "run.ignd")
    second.restore(tmp_path / "run.ignd")
    second.learn(x[40:], y[40:])
    assert second.steps == whole.steps == 100
    np.testing.assert_array_equal(second.snapshot().parameters, whole.snapshot().parameters)


def test_models_are_saved_and_cloned(tmp_path):
    model = ignd.network("values 3; dense 4; tanh; dense 1", seed=3)
    model.save(str(tmp_path / "model.ignd"))
    x = np.random.default_rng(5).normal(size=(10, 3)).astype(np.float32)
    np.testing.assert_array_equal(ignd.load_model(tmp_path / "model.ignd").predict(x), model.predict(x))
    copy = model.clone()
    copy.parameters[:] = 0
    assert model.predict(x).any()
    assert not copy.predict(x).any()


def test_parameters_are_a_view_that_keeps_the_model():
    parameters = ignd.mlp([2, 4]).parameters
    parameters[0] = 3
    assert parameters[0] == 3


@pytest.mark.parametrize("use", [
    lambda: ignd.Trainer(ignd.linear(2)).step([1, 2, 3], 1),
    lambda: ignd.Trainer(ignd.linear(2)).step([1, np.nan], 1),
    lambda: ignd.Trainer(ignd.linear(2), loss="logistic").step([1, 2], 3),
    lambda: ignd.Trainer(ignd.linear(2), optimizer="adan"),
    lambda: ignd.Trainer(ignd.linear(2), preconditioner="diagonal"),
    lambda: ignd.Trainer(ignd.linear(2), schedule="fast"),
    lambda: ignd.Trainer(ignd.linear(2)).learn([[1, 2]], [1, 2]),
    lambda: ignd.linear(2).predict(np.zeros((2, 3), np.float32)),
    lambda: ignd.BatchTrainer(ignd.linear(2), size=1).step([[1, 2], [3, 4]], [1, 2]),
    lambda: ignd.mlp([2, 3], activation="relux"),
    lambda: ignd.make_model("mpl:widths=2"),
    lambda: ignd.network("values 2; dens 3"),
    lambda: ignd.linear(2, dtype="int8"),
    lambda: ignd.load_model("no-such-file"),
])
def test_mistakes_are_errors_of_one_line(use):
    with pytest.raises(ValueError) as fault:
        use()
    assert "\n" not in str(fault.value)
