// The optional module everlearn._cuda: exact fits and prediction on a GPU.
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "cuda/solver.hpp"

namespace everlearn::bind {
namespace {

using Floats = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig>;

cuda::Scalar scalar_of(const nb::dlpack::dtype& dtype) {
  if (dtype == nb::dtype<double>()) return cuda::Scalar::f64;
  if (dtype == nb::dtype<float>()) return cuda::Scalar::f32;
  if (dtype == nb::dtype<std::uint8_t>()) return cuda::Scalar::u8;
  if (dtype == nb::dlpack::dtype{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1})
    return cuda::Scalar::f16;
  throw std::invalid_argument("rows on the device are float64, float32, float16 or uint8");
}

/// Dense rows in host memory, or in device memory by DLPack.
cuda::Source dense(const Floats& rows) {
  const bool on_device = rows.device_type() == nb::device::cuda::value;
  if (!on_device && rows.device_type() != nb::device::cpu::value)
    throw std::invalid_argument("rows must be in the memory of the host or of a CUDA device");
  return {rows.data(), scalar_of(rows.dtype()), rows.shape(0), rows.shape(1), on_device, nullptr, nullptr};
}

template <class T>
cuda::Source sparse(const Array<T>& values, const Array<std::int32_t>& columns, const Array<std::int64_t>& starts,
                    std::size_t width) {
  if (starts.shape(0) == 0 || columns.shape(0) != values.shape(0) ||
      starts(starts.shape(0) - 1) != static_cast<std::int64_t>(values.shape(0)))
    throw std::invalid_argument("not compressed sparse rows");
  return {values.data(),
          sizeof(T) == 8 ? cuda::Scalar::f64 : cuda::Scalar::f32,
          starts.shape(0) - 1,
          width,
          false,
          starts.data(),
          columns.data()};
}

/// Whether Ctrl-C was pressed; asked without the interpreter's lock.
bool interrupted() {
  const nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() != 0;
}

nb::dict solve(const cuda::Source& source, const Matrix<double>& edge, const std::string& kernel, double gamma,
               double coef0, int degree, double tau, std::size_t cache_bytes) {
  const int problems = static_cast<int>(edge.shape(0));
  if (edge.shape(1) != source.rows) throw std::invalid_argument("one box for each row");
  const cuda::Task task{Kernel::named(kernel, gamma, coef0, degree), tau, cache_bytes};
  const std::vector<double> boxes(edge.data(), edge.data() + edge.size());
  cuda::Solution solution;
  {
    const nb::gil_scoped_release unlocked;
    solution = cuda::solve(source, boxes, problems, task, interrupted);
  }
  if (solution.alpha.empty()) throw nb::python_error();  // Ctrl-C
  const std::initializer_list<std::size_t> shape = {static_cast<std::size_t>(problems), source.rows};
  nb::dict result;
  result["alpha"] = give(std::move(solution.alpha), shape);
  result["g"] = give(std::move(solution.g), shape);
  result["violation"] = solution.violation;
  result["rounds"] = solution.rounds;
  result["steps"] = solution.steps;
  result["refreshes"] = solution.refreshes;
  return result;
}

class Scorer {
 public:
  Scorer(const Floats& vectors, const Matrix<float>& coefficients, const std::string& kernel, double gamma,
         double coef0, int degree)
      : columns_(coefficients.shape(0)),
        scorer_(dense(vectors), std::vector<float>(coefficients.data(), coefficients.data() + coefficients.size()),
                static_cast<int>(coefficients.shape(0)), Kernel::named(kernel, gamma, coef0, degree)) {
    if (coefficients.shape(1) != vectors.shape(0)) throw std::invalid_argument("one coefficient for each vector");
  }
  nb::object scores(const Floats& rows) {
    std::vector<double> sums(columns_ * rows.shape(0));
    const cuda::Source source = dense(rows);
    {
      const nb::gil_scoped_release unlocked;
      scorer_.scores(source, sums.data());
    }
    return give(std::move(sums), {columns_, rows.shape(0)});
  }

 private:
  std::size_t columns_;
  cuda::Scorer scorer_;
};

}  // namespace
}  // namespace everlearn::bind

NB_MODULE(_cuda, module) {
  using namespace everlearn;
  using namespace everlearn::bind;
  static nb::exception<cuda::DeviceError> device_error(module, "DeviceError", PyExc_RuntimeError);
  static nb::exception<cuda::OutOfDeviceMemory> out_of_memory(module, "OutOfDeviceMemory", device_error.ptr());
  module.def("devices", [] {
    nb::list found;
    for (const auto& device : cuda::devices())
      found.append(nb::make_tuple(device.name, device.major, device.minor, device.bytes));
    return found;
  });
  module.def(
      "solve",
      [](const Floats& rows, const Matrix<double>& edge, const std::string& kernel, double gamma, double coef0,
         int degree, double tol,
         std::size_t cache_bytes) { return solve(dense(rows), edge, kernel, gamma, coef0, degree, tol, cache_bytes); },
      nb::arg("rows"), nb::arg("edge"), nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"),
      nb::arg("tol"), nb::arg("cache_bytes"));
  const auto solve_sparse = [&]<class T>(T) {
    module.def(
        "solve_sparse",
        [](const Array<T>& values, const Array<std::int32_t>& columns, const Array<std::int64_t>& starts,
           std::size_t width, const Matrix<double>& edge, const std::string& kernel, double gamma, double coef0,
           int degree, double tol, std::size_t cache_bytes) {
          return solve(sparse(values, columns, starts, width), edge, kernel, gamma, coef0, degree, tol, cache_bytes);
        },
        nb::arg("values"), nb::arg("columns"), nb::arg("starts"), nb::arg("width"), nb::arg("edge"), nb::arg("kernel"),
        nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"), nb::arg("tol"), nb::arg("cache_bytes"));
  };
  solve_sparse(0.0), solve_sparse(0.0f);
  nb::class_<Scorer>(module, "Scorer")
      .def(nb::init<const Floats&, const Matrix<float>&, const std::string&, double, double, int>(), nb::arg("vectors"),
           nb::arg("coefficients"), nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"))
      .def("scores", &Scorer::scores, nb::arg("rows"));
}
