#include "device.hpp"

#include <mutex>
#include <vector>

namespace everlearn::cuda {
namespace {

/// The pool of the current device; it keeps up to an eighth of the device's memory between fits.
cudaMemPool_t pool() {
  static std::mutex mutex;
  static std::vector<cudaMemPool_t> pools;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  const std::lock_guard lock(mutex);
  if (pools.size() <= static_cast<std::size_t>(device)) pools.resize(device + 1, nullptr);
  cudaMemPool_t& mine = pools[device];
  if (mine == nullptr) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    check(cudaMemPoolCreate(&mine, &properties), "creating a memory pool");
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    unsigned long long kept = total / 8;
    check(cudaMemPoolSetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &kept), "setting up a memory pool");
  }
  return mine;
}

}  // namespace

std::vector<DeviceFacts> devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for a CUDA device");
  std::vector<DeviceFacts> found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "asking a CUDA device for its properties");
    found.push_back({properties.name, properties.major, properties.minor, properties.totalGlobalMem});
  }
  return found;
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocFromPoolAsync(&memory, bytes, pool(), nullptr), "allocating device memory");
  check(cudaStreamSynchronize(nullptr), "allocating device memory");
  return memory;
}

void release(void* memory) noexcept {
  if (memory) cudaFreeAsync(memory, nullptr);
}

}  // namespace everlearn::cuda
