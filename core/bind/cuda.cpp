// The optional module everlearn._cuda: exact fits, prediction and sweeps of semi-supervised cuts on a GPU.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bind/arrays.hpp"
#include "cuda/scorer.hpp"
#include "cuda/solver.hpp"
#include "cuda/sweeps.hpp"
#include "cuda/table.hpp"

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

/// Kernels run on the current device. If they touched the memory of another one, the process would lose them both.
void refuse_other_device(const void* rows) {
  int current = 0;
  cuda::check(cudaGetDevice(&current), "asking for the device");
  cudaPointerAttributes found{};
  cuda::check(cudaPointerGetAttributes(&found, rows), "looking for the device of rows");
  if (found.type == cudaMemoryTypeDevice && found.device != current)
    throw std::invalid_argument("rows are in the memory of CUDA device " + std::to_string(found.device) +
                                ", and device " + std::to_string(current) +
                                " is the current one: copy them there, or make theirs the current one");
}

/// Dense rows in host memory, or in device memory by DLPack. Work on the device that makes them is waited for.
cuda::Source dense(const Floats& rows, const Array<double>* shift = nullptr) {
  const bool on_device = rows.device_type() == nb::device::cuda::value;
  if (!on_device && rows.device_type() != nb::device::cpu::value)
    throw std::invalid_argument("rows must be in the memory of the host or of a CUDA device");
  if (on_device) {
    refuse_other_device(rows.data());
    cuda::check(cudaDeviceSynchronize(), "waiting for rows");
  }
  cuda::Source source{rows.data(), scalar_of(rows.dtype()), rows.shape(0), rows.shape(1), on_device};
  if (shift && shift->shape(0) > 0) {
    if (shift->shape(0) != source.columns) throw std::invalid_argument("one shift for each column");
    source.shift = shift->data();
  }
  return source;
}

template <class T>
cuda::Source sparse(const Array<T>& values, const Array<std::int32_t>& columns, const Array<std::int64_t>& starts,
                    std::size_t width, const Array<double>* shift = nullptr) {
  csr_block(values, columns, starts, width);  // refuses what is no CSR matrix
  const bool shifted = shift && shift->shape(0) > 0;
  if (shifted && shift->shape(0) != width) throw std::invalid_argument("one shift for each column");
  return {values.data(),
          sizeof(T) == 8 ? cuda::Scalar::f64 : cuda::Scalar::f32,
          starts.shape(0) - 1,
          width,
          false,
          starts.data(),
          columns.data(),
          shifted ? shift->data() : nullptr};
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

nb::tuple summarize(const Floats& rows, double center) {
  const cuda::Source source = dense(rows);
  cuda::Summary all;
  {
    const nb::gil_scoped_release unlocked;
    all = cuda::summarize(source, center);
  }
  return nb::make_tuple(all.sum, all.squares, all.longest, all.finite);
}

/// In float64 if the rows are, else in float32.
nb::object take(const Floats& rows, const Array<std::int64_t>& numbers) {
  const cuda::Source source = dense(rows);
  const std::vector<std::int64_t> which(numbers.data(), numbers.data() + numbers.shape(0));
  const auto taken = [&]<class T>(T) {
    auto values = std::make_unique_for_overwrite<T[]>(which.size() * source.columns);
    cuda::take(source, which, values.get());
    return give(std::move(values), {which.size(), source.columns});
  };
  return source.scalar == cuda::Scalar::f64 ? taken(0.0) : taken(0.0f);
}

/// An array in device memory that somebody else owns, by its address.
nb::object array_at(std::size_t address, std::size_t rows, std::size_t columns, const std::string& type,
                    nb::object owner) {
  const auto floating = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
  const auto code = type == "|u1" ? static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt) : floating;
  const auto bits = static_cast<std::uint8_t>(8 * (type.empty() ? 0 : type.back() - '0'));
  return nb::cast(nb::ndarray<nb::array_api, nb::ro>(reinterpret_cast<const void*>(address), {rows, columns}, owner, {},
                                                     {code, bits, 1}, nb::device::cuda::value));
}

nb::bytes to_host(std::size_t address, std::size_t size) {
  cuda::check(cudaDeviceSynchronize(), "waiting for an array");
  std::vector<char> bytes(size);
  cuda::check(cudaMemcpy(bytes.data(), reinterpret_cast<const void*>(address), size, cudaMemcpyDeviceToHost),
              "copying an array");
  return nb::bytes(bytes.data(), bytes.size());
}

class Scorer {
 public:
  Scorer(const Floats& vectors, const Matrix<float>& coefficients, const std::string& kernel, double gamma,
         double coef0, int degree, const Array<double>& shift)
      : columns_(coefficients.shape(0)),
        shift_(shift.data(), shift.data() + shift.shape(0)),
        scorer_(dense(vectors, &shift),
                std::vector<float>(coefficients.data(), coefficients.data() + coefficients.size()),
                static_cast<int>(coefficients.shape(0)), Kernel::named(kernel, gamma, coef0, degree)) {
    if (coefficients.shape(1) != vectors.shape(0)) throw std::invalid_argument("one coefficient for each vector");
  }

  /// Rows of the result, like those of the input, in the memory that the input is in.
  nb::object scores(const Floats& rows, const std::vector<double>& bias) {
    cuda::Source source = dense(rows);
    source.shift = shift_.empty() ? nullptr : shift_.data();
    if (!source.on_device) return in_host_memory(source, bias);
    auto* sums = new cuda::Buffer<double>(columns_ * source.rows);
    const nb::capsule owner(sums, [](void* memory) noexcept { delete static_cast<cuda::Buffer<double>*>(memory); });
    run(source, bias, sums->data(), true);
    const std::int64_t lines = static_cast<std::int64_t>(source.rows);
    return nb::cast(nb::ndarray<nb::array_api, double>(sums->data(), {source.rows, columns_}, owner, {1, lines},
                                                       nb::dtype<double>(), nb::device::cuda::value));
  }

  template <class T>
  nb::object scores_sparse(const Array<T>& values, const Array<std::int32_t>& columns,
                           const Array<std::int64_t>& starts, std::size_t width, const std::vector<double>& bias) {
    cuda::Source source = sparse(values, columns, starts, width);
    source.shift = shift_.empty() ? nullptr : shift_.data();
    return in_host_memory(source, bias);
  }

 private:
  nb::object in_host_memory(const cuda::Source& source, const std::vector<double>& bias) {
    auto sums = std::make_unique_for_overwrite<double[]>(columns_ * source.rows);
    run(source, bias, sums.get(), false);
    return give(std::move(sums), {columns_, source.rows}).attr("T");
  }
  void run(const cuda::Source& source, const std::vector<double>& bias, double* out, bool on_device) {
    bool done;
    {
      const nb::gil_scoped_release unlocked;
      done = scorer_.scores(source, bias, out, on_device, interrupted);
    }
    if (!done) throw nb::python_error();  // Ctrl-C
  }

  std::size_t columns_;
  std::vector<double> shift_;
  cuda::Scorer scorer_;
};

class Sweeps {
 public:
  explicit Sweeps(const Floats& rows) : given_(rows), rows_(rows.shape(0)), sweeps_(dense(rows)) {}
  nb::object times(const Matrix<double>& weights) {
    if (weights.shape(0) != rows_) throw std::invalid_argument("one line of weights for each row");
    std::vector<double> sums(weights.size());
    {
      const nb::gil_scoped_release unlocked;
      sweeps_.times(weights.data(), static_cast<int>(weights.shape(1)), sums.data());
    }
    return give(std::move(sums), {weights.shape(0), weights.shape(1)});
  }
  nb::object linearize(const Array<double>& w, double q, const Array<std::uint8_t>& start, std::size_t k) {
    if (w.shape(0) != rows_ || start.shape(0) != rows_ || k > rows_)
      throw std::invalid_argument("one weight and one mark for each row");
    std::vector<unsigned char> found;
    {
      const nb::gil_scoped_release unlocked;
      found = sweeps_.linearize(w.data(), q, start.data(), k, interrupted);
    }
    if (found.size() != rows_) throw nb::python_error();  // Ctrl-C
    return give(std::move(found), {rows_});
  }

 private:
  Floats given_;  // rows in device memory are not copied
  std::size_t rows_;
  cuda::LinearSweeps sweeps_;
};

}  // namespace
}  // namespace everlearn::bind

NB_MODULE(_cuda, module) {
  using namespace everlearn;
  using namespace everlearn::bind;
  static nb::exception<cuda::DeviceError> device_error(module, "DeviceError", PyExc_RuntimeError);
  static nb::exception<cuda::OutOfDeviceMemory> out_of_memory(module, "OutOfDeviceMemory", device_error.ptr());
  module.attr("block_memory") = cuda::kBlockMemory;
  module.def("devices", [] {
    nb::list found;
    for (const auto& device : cuda::devices())
      found.append(nb::make_tuple(device.name, device.major, device.minor, device.bytes, device.block_memory));
    return found;
  });
  nb::exception<cuda::NotFinite>(module, "NotFinite", PyExc_ValueError);
  module.def(
      "solve",
      [](const Floats& rows, const Matrix<double>& edge, const std::string& kernel, double gamma, double coef0,
         int degree, double tol, std::size_t cache_bytes, const Array<double>& shift) {
        return solve(dense(rows, &shift), edge, kernel, gamma, coef0, degree, tol, cache_bytes);
      },
      nb::arg("rows"), nb::arg("edge"), nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"),
      nb::arg("tol"), nb::arg("cache_bytes"), nb::arg("shift"));
  const auto solve_sparse = [&]<class T>(T) {
    module.def(
        "solve_sparse",
        [](const Array<T>& values, const Array<std::int32_t>& columns, const Array<std::int64_t>& starts,
           std::size_t width, const Matrix<double>& edge, const std::string& kernel, double gamma, double coef0,
           int degree, double tol, std::size_t cache_bytes, const Array<double>& shift) {
          return solve(sparse(values, columns, starts, width, &shift), edge, kernel, gamma, coef0, degree, tol,
                       cache_bytes);
        },
        nb::arg("values"), nb::arg("columns"), nb::arg("starts"), nb::arg("width"), nb::arg("edge"), nb::arg("kernel"),
        nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"), nb::arg("tol"), nb::arg("cache_bytes"),
        nb::arg("shift"));
  };
  solve_sparse(0.0), solve_sparse(0.0f);
  module.def("summarize", &summarize, nb::arg("rows"), nb::arg("center"));
  module.def("take", &take, nb::arg("rows"), nb::arg("numbers"));
  module.def("array_at", &array_at, nb::arg("address"), nb::arg("rows"), nb::arg("columns"), nb::arg("type"),
             nb::arg("owner"));
  module.def("to_host", &to_host, nb::arg("address"), nb::arg("size"));
  nb::class_<Scorer>(module, "Scorer")
      .def(nb::init<const Floats&, const Matrix<float>&, const std::string&, double, double, int,
                    const Array<double>&>(),
           nb::arg("vectors"), nb::arg("coefficients"), nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"),
           nb::arg("degree"), nb::arg("shift"))
      .def("scores", &Scorer::scores, nb::arg("rows"), nb::arg("bias"))
      .def("scores_sparse", &Scorer::scores_sparse<double>)
      .def("scores_sparse", &Scorer::scores_sparse<float>);
  nb::class_<Sweeps>(module, "Sweeps")
      .def(nb::init<const Floats&>(), nb::arg("rows"))
      .def("times", &Sweeps::times, nb::arg("weights"))
      .def("linearize", &Sweeps::linearize, nb::arg("w"), nb::arg("q"), nb::arg("start"), nb::arg("k"));
}
