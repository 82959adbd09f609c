// What every part of the CUDA backend stands on: errors as exceptions, and memory, streams and graphs that free
// themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace everlearn::cuda {

/// An error of the CUDA runtime. The state of the fit is lost, the process goes on.
struct DeviceError : std::runtime_error {
  cudaError_t code;
  DeviceError(cudaError_t error, const char* what)
      : std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error)), code(error) {}
  DeviceError(cudaError_t error, const std::string& words) : std::runtime_error(words), code(error) {}
};

/// Device memory ran out.
struct OutOfDeviceMemory : DeviceError {
  using DeviceError::DeviceError;
};

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report it again
  if (error == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(error, what);
  throw DeviceError(error, what);
}

inline void check_launch(const char* what) { check(cudaGetLastError(), what); }

/// Bytes of shared memory that a block of threads must have. Devices of compute capability 8.0, 9.0 and 10.0 do; 8.6, 8.9
/// and 12.0 have 99 KB.
constexpr std::size_t kBlockMemory = 114 << 10;

struct DeviceFacts {
  std::string name;
  int major, minor;          // compute capability
  std::size_t bytes;         // of memory
  std::size_t block_memory;  // shared memory that a block can have
};
/// The devices of this machine; an error says why there is none.
std::vector<DeviceFacts> devices();

/// Device memory comes from a pool that keeps a part of it, so that the next fit need not ask the driver.
void* allocate(std::size_t bytes);
void release(void* memory) noexcept;

/// An array in device memory, not initialized. Work on it must have ended when it is destroyed.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size) {
    if (size > 0) data_ = static_cast<T*>(allocate(size * sizeof(T)));
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { release(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

  void fill_bytes(int byte, cudaStream_t stream) {
    check(cudaMemsetAsync(data_, byte, size_ * sizeof(T), stream), "clearing device memory");
  }
  void from_host(const T* host, std::size_t count, cudaStream_t stream) {
    check(cudaMemcpyAsync(data_, host, count * sizeof(T), cudaMemcpyHostToDevice, stream), "copying to the device");
  }
  void to_host(T* host, std::size_t count, cudaStream_t stream) const {
    check(cudaMemcpyAsync(host, data_, count * sizeof(T), cudaMemcpyDeviceToHost, stream), "copying from the device");
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Host memory that the device copies from and to at the full speed of the bus.
template <class T>
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t size) : size_(size) {
    check(cudaHostAlloc(reinterpret_cast<void**>(&data_), size * sizeof(T), cudaHostAllocDefault),
          "pinning host memory");
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { cudaFreeHost(data_); }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for the device"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Waits for a stream when it goes out of scope, also by an error. Declared after the buffers that work on the stream
/// uses, it keeps their memory from being given to somebody else while that work goes on.
class WaitAtEnd {
 public:
  explicit WaitAtEnd(cudaStream_t stream) : stream_(stream) {}
  WaitAtEnd(const WaitAtEnd&) = delete;
  WaitAtEnd& operator=(const WaitAtEnd&) = delete;
  ~WaitAtEnd() { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_;
};

/// A piece of pinned host memory. Those that are given back are kept for the next: pinning takes longer than copying.
class PinnedPiece {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  PinnedPiece();
  PinnedPiece(const PinnedPiece&) = delete;
  PinnedPiece& operator=(const PinnedPiece&) = delete;
  ~PinnedPiece();
  unsigned char* data() const { return data_; }

 private:
  unsigned char* data_;
};

/// Copies host memory to the device in pieces through pinned memory: one piece is filled while the other travels.
class Pump {
 public:
  explicit Pump(cudaStream_t stream) : stream_(stream), landed_(2 * PinnedPiece::kBytes) {
    for (auto& event : used_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;
  ~Pump() {
    cudaStreamSynchronize(stream_);
    for (auto& event : used_) cudaEventDestroy(event);
  }
  /// Where to write the next piece, of up to PinnedPiece::kBytes.
  unsigned char* begin() {
    side_ ^= 1;
    check(cudaEventSynchronize(used_[side_]), "copying to the device");  // at once, if it was never recorded
    return pinned_[side_].data();
  }
  /// Sends it; returns where it will be on the device until the next but one begins. Call mark_used() after the work on
  /// it has been started.
  const void* send(std::size_t bytes) {
    unsigned char* there = landed_.data() + side_ * PinnedPiece::kBytes;
    check(cudaMemcpyAsync(there, pinned_[side_].data(), bytes, cudaMemcpyHostToDevice, stream_),
          "copying to the device");
    return there;
  }
  void mark_used() { check(cudaEventRecord(used_[side_], stream_), "copying to the device"); }

 private:
  cudaStream_t stream_;
  PinnedPiece pinned_[2];
  Buffer<unsigned char> landed_;
  cudaEvent_t used_[2]{};
  std::size_t side_ = 0;
};

/// The launches of one round, recorded once and started with one call.
class Graph {
 public:
  template <class F>
  Graph(cudaStream_t stream, F&& record) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a graph");
    try {
      record();
    } catch (...) {
      cudaGraph_t broken = nullptr;
      cudaStreamEndCapture(stream, &broken);
      if (broken) cudaGraphDestroy(broken);
      throw;
    }
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "recording a graph");
    const cudaError_t error = cudaGraphInstantiate(&run_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "building a graph");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (run_) cudaGraphExecDestroy(run_);
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(run_, stream), "starting a graph"); }

 private:
  cudaGraphExec_t run_ = nullptr;
};

inline int blocks_for(std::size_t count, int per_block) {
  return static_cast<int>((count + per_block - 1) / per_block);
}

}  // namespace everlearn::cuda
