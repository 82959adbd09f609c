// Checks for the C++ tests: a failure is printed with its place, and the test goes on.
#pragma once

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

namespace check {

inline long passed = 0, failed = 0;
inline std::string context;  // what is being tested; printed with every failure

inline void count(bool good, const char* file, int line, const char* what, const std::string& values = {}) {
  if (good) {
    ++passed;
  } else if (++failed <= 40) {
    std::printf("%s:%d: [%s] %s%s\n", file, line, context.c_str(), what, values.c_str());
    std::fflush(stdout);
  }
}

inline void count_near(double a, double b, double tolerance, const char* file, int line, const char* what) {
  const bool good = a == b || std::abs(a - b) <= tolerance;
  count(good, file, line, what,
        good ? ""
             : ": " + std::to_string(a) + " and " + std::to_string(b) + ", apart by " +
                   std::to_string((a - b) / tolerance) + " tolerances");
}

/// Runs a test that may throw; that it did is a failure like any other.
template <class F>
void guard(F&& test) {
  try {
    test();
  } catch (const std::exception& error) {
    count(false, __FILE__, __LINE__, "threw: ", error.what());
  }
}

/// Prints the score; the exit status of main.
inline int summary() {
  std::printf("%ld passed, %ld failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace check

#define CHECK(...) ::check::count(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define CHECK_NEAR(a, b, tolerance) ::check::count_near(a, b, tolerance, __FILE__, __LINE__, #a " near " #b)
#define CHECK_THROWS(type, ...)                                                \
  do {                                                                         \
    bool caught = false;                                                       \
    try {                                                                      \
      __VA_ARGS__;                                                             \
    } catch (const type&) {                                                    \
      caught = true;                                                           \
    }                                                                          \
    ::check::count(caught, __FILE__, __LINE__, #__VA_ARGS__ " throws " #type); \
  } while (false)
