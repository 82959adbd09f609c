// The loops of one instruction set, as a table of functions.
#include "arch/loops.hpp"
#include "arch/vec.hpp"

#define EVERLEARN_TEXT_OF(name) #name
#define EVERLEARN_TEXT(name) EVERLEARN_TEXT_OF(name)

namespace everlearn::EVERLEARN_ARCH {

void dense_f32(const DenseJob<float>&);
void dense_f64(const DenseJob<double>&);
void dense_f16(const DenseJob<float, float, Half>&);
void to_halves(const double*, std::size_t, float*);
void sparse_f32(const SparseJob<float>&);
void sparse_f64(const SparseJob<double>&);
void dense_exact(const DenseJob<double, double>&);
void sparse_exact(const SparseJob<double, double>&);
void norms_f32(PairSum, const float*, std::size_t, std::size_t, float*);
void norms_f64(PairSum, const double*, std::size_t, std::size_t, double*);

Extremes step(double*, const std::uint8_t*, const float*, const float*, double, std::size_t);
Extremes scan(const double*, const std::uint8_t*, std::size_t);
double dot(const float*, const double*, std::size_t);
void transpose(const float*, std::size_t, std::size_t, std::size_t, float*, std::size_t);
std::size_t compress(const float*, const std::uint8_t*, std::size_t, float*);
void rank_update(double*, const float* const*, const double*, std::size_t, std::size_t, std::size_t);
void rank_update_exact(double*, const double* const*, const double*, std::size_t, std::size_t, std::size_t);
void dot_update_exact(double*, const double* const*, const double*, std::size_t, std::size_t);
double dot_exact(const double*, const double*, std::size_t);
void rotate(double*, double*, double, double, std::size_t);
std::int64_t second_order(const double*, const std::uint8_t*, const float*, const float*, double, double, std::size_t);
Survey survey(const CoefficientView&, Descent, Descent, std::size_t);
Gain best_gain(const CoefficientView&, Descent, Descent, double, std::size_t);
Gain partner(const CoefficientView&, const float*, const Pivot&, std::size_t);

extern const Loops table;
constinit const Loops table{{dense_f32, dense_f64, dense_f16, to_halves, sparse_f32, sparse_f64, dense_exact,
                             sparse_exact, norms_f32, norms_f64},
                            {step, scan, dot, transpose, compress, rank_update, rank_update_exact, dot_update_exact,
                             dot_exact, rotate, second_order, survey, best_gain, partner},
                            EVERLEARN_TEXT(EVERLEARN_ARCH)};

}  // namespace everlearn::EVERLEARN_ARCH
