#include "device.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "team.hpp"

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

/// Pinned pieces that nobody uses. They live as long as the process: the driver may be gone before static destructors.
struct Spares {
  static constexpr std::size_t kMost = 64;
  std::mutex mutex;
  std::vector<unsigned char*> pieces;
  Spares() { pieces.reserve(kMost); }
};
Spares& spares() {
  static auto* all = new Spares;
  return *all;
}

/// The runtime reports a driver that is missing as one that is too old.
std::string driver_in_words() {
  int driver = 0;
  cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "there is no NVIDIA driver";
  const auto words = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  return "the NVIDIA driver is for CUDA " + words(driver) + " at most, and this build needs " +
         words(CUDART_VERSION / 1000 * 1000);
}

}  // namespace

std::vector<DeviceFacts> devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) throw DeviceError(error, driver_in_words());
  check(error, "looking for a CUDA device");
  std::vector<DeviceFacts> found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "asking a CUDA device for its properties");
    found.push_back({properties.name, properties.major, properties.minor, properties.totalGlobalMem,
                     properties.sharedMemPerBlockOptin});
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

PinnedPiece::PinnedPiece() {
  {
    const std::lock_guard lock(spares().mutex);
    if (!spares().pieces.empty()) {
      data_ = spares().pieces.back();
      spares().pieces.pop_back();
      return;
    }
  }
  check(cudaHostAlloc(reinterpret_cast<void**>(&data_), kBytes, cudaHostAllocPortable), "pinning host memory");
}

PinnedPiece::~PinnedPiece() {
  {
    const std::lock_guard lock(spares().mutex);
    if (spares().pieces.size() < Spares::kMost) {
      spares().pieces.push_back(data_);  // has room: see Spares
      return;
    }
  }
  cudaFreeHost(data_);
}

std::size_t copying_threads(std::size_t bytes) {
  const std::size_t most = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
  return std::clamp<std::size_t>(bytes / PinnedPiece::kBytes, 1, most);
}

void to_host(const void* device, void* host, std::size_t bytes) {
  std::atomic<std::size_t> next = 0;
  in_team(copying_threads(bytes), [&](std::size_t) {
    const Stream stream;
    const PinnedPiece piece;
    for (std::size_t at; (at = next.fetch_add(PinnedPiece::kBytes)) < bytes;) {
      const std::size_t size = std::min(PinnedPiece::kBytes, bytes - at);
      check(cudaMemcpyAsync(piece.data(), static_cast<const unsigned char*>(device) + at, size, cudaMemcpyDeviceToHost,
                            stream),
            "copying from the device");
      stream.wait();
      std::memcpy(static_cast<unsigned char*>(host) + at, piece.data(), size);
    }
  });
}

}  // namespace everlearn::cuda
