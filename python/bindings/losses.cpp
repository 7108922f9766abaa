#include "bindings.hpp"
#include "ignd/loss.hpp"
#include "ignd/loss_check.hpp"

#include <string>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/trampoline.h>

namespace ignd_python {
namespace {

using ignd::Loss;
using ignd::LossAt;

// A loss that a program in Python defines.
struct PythonLoss : Loss {
  NB_TRAMPOLINE(Loss, 4);

  LossAt at(double y, double f) const override { NB_OVERRIDE_PURE(at, y, f); }
  double minimum(double y) const override { NB_OVERRIDE(minimum, y); }
  double curvature_floor() const override { NB_OVERRIDE(curvature_floor); }
  std::string spec() const override { NB_OVERRIDE_PURE(spec); }
};

nb::dict check_loss(const Loss& loss, const std::vector<double>& targets, bool curvature_is_bound) {
  const ignd::DerivativeReport report = ignd::check_loss(loss, targets, {.curvature_is_bound = curvature_is_bound});
  nb::dict result;
  result["ok"] = report.ok;
  result["largest_error"] = report.largest_error;
  result["where"] = report.where;
  result["text"] = report.text;
  return result;
}

}  // namespace

void bind_losses(nb::module_& module) {
  nb::class_<LossAt>(module, "LossAt", "A loss and its first two derivatives in the output.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](LossAt* made, const nb::tuple& values) {
            if (values.size() != 3) throw nb::value_error("a loss has three numbers: its value and two derivatives");
            new (made) LossAt{nb::cast<double>(values[0]), nb::cast<double>(values[1]), nb::cast<double>(values[2])};
          },
          nb::arg("values"))
      .def_ro("value", &LossAt::value)
      .def_ro("d1", &LossAt::d1)
      .def_ro("d2", &LossAt::d2)
      .def("__iter__", [](const LossAt& at) { return nb::iter(nb::make_tuple(at.value, at.d1, at.d2)); })
      .def("__repr__",
           [](const LossAt& at) { return nb::str("LossAt(value={}, d1={}, d2={})").format(at.value, at.d1, at.d2); });
  nb::implicitly_convertible<nb::tuple, LossAt>();
  nb::class_<Loss, PythonLoss>(module, "Loss",
                               "A loss of one output. Derive from it and define at(y, f), which returns the value and "
                               "two derivatives in f, and spec(), a name.")
      .def(nb::init<>())
      .def("at", &Loss::at, nb::arg("y"), nb::arg("f"))
      .def("minimum", &Loss::minimum, nb::arg("y"))
      .def("curvature_floor", &Loss::curvature_floor)
      .def("spec", &Loss::spec);
  module.def(
      "make_loss", [](const std::string& spec) { return std::const_pointer_cast<Loss>(ignd::make_loss(spec)); },
      nb::arg("spec"), "A loss by its name, such as 'huber:delta=2'.");
  module.def("loss_names", &ignd::loss_names);
  module.def("check_loss", &check_loss, nb::arg("loss"), nb::arg("targets") = std::vector<double>(),
             nb::arg("curvature_is_bound") = false, "Compares the derivatives of a loss with differences.");
  // Advice is a warning of Python's, once per text.
  ignd::set_advice_handler([](const std::string& advice) {
    const nb::gil_scoped_acquire interpreter;
    if (PyErr_WarnEx(PyExc_UserWarning, advice.c_str(), 1) != 0) throw nb::python_error();
  });
}

}  // namespace ignd_python
