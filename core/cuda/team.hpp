// Threads of the host that work at the same time for one device.
#pragma once

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "device.hpp"

namespace everlearn::cuda {

/// Runs work(0) to work(threads - 1) at the same time, the first in this thread. The first error is thrown when all have
/// ended.
template <class F>
void in_team(std::size_t threads, F&& work) {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  std::exception_ptr error;
  std::mutex one_error;
  const auto member = [&](std::size_t number) {
    try {
      check(cudaSetDevice(device), "choosing the device");
      work(number);
    } catch (...) {
      const std::lock_guard lock(one_error);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < threads; ++k) others.emplace_back(member, k);
    member(0);
  }
  if (error) std::rethrow_exception(error);
}

/// Threads that copy `bytes` of host memory: one cannot keep up with the bus.
std::size_t copying_threads(std::size_t bytes);

/// Copies device memory, which is complete, to host memory.
void to_host(const void* device, void* host, std::size_t bytes);

}  // namespace everlearn::cuda
