// A program of host and device code in one file, as hipcc and clang -x hip build it: kernels by <<<>>>,
// variables by their names, code for two processors in one bundle. Freestanding: declares what it uses of HIP
// itself.
//
//   host_program <release>     52, 63 or 71; devices: a gfx1201, a gfx1030, a gfx1100 that it has no code for
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))

struct dim3 {
    uint32_t x, y, z;
    dim3(uint32_t a = 1, uint32_t b = 1, uint32_t c = 1) : x(a), y(b), z(c) {}
};
typedef int hipError_t;
typedef struct Stream* hipStream_t;

extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t hipLaunchCooperativeKernel(const void*, dim3, dim3, void**, unsigned, hipStream_t);
hipError_t hipSetDevice(int);
hipError_t hipGetLastError();
hipError_t hipDeviceSynchronize();
hipError_t hipMalloc(void**, size_t);
hipError_t hipFree(void*);
hipError_t hipMemcpyHtoD(void*, void*, size_t);
hipError_t hipMemcpyDtoH(void*, void*, size_t);
hipError_t hipMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
hipError_t hipMemcpyToSymbolAsync(const void*, const void*, size_t, size_t, int, hipStream_t);
hipError_t hipMemcpyFromSymbol(void*, const void*, size_t, size_t, int);
hipError_t hipMemcpyFromSymbolAsync(void*, const void*, size_t, size_t, int, hipStream_t);
hipError_t hipGetSymbolAddress(void**, const void*);
hipError_t hipGetSymbolSize(size_t*, const void*);
hipError_t hipFuncSetAttribute(const void*, int, int);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, size_t);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamBeginCapture(hipStream_t, int);
hipError_t hipStreamEndCapture(hipStream_t, void**);
hipError_t hipGraphInstantiate(void**, void*, void**, char*, size_t);
hipError_t hipGraphLaunch(void*, hipStream_t);
hipError_t hipGraphExecDestroy(void*);
hipError_t hipGraphDestroy(void*);
struct Attributes {
    int binary_version, cache_mode;
    size_t constant_bytes, local_bytes;
    int most_dynamic_lds, most_threads, registers, carveout, ptx_version;
    size_t lds_bytes;
};
hipError_t hipFuncGetAttributes(Attributes*, const void*);
}

__constant__ float factors[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int counter = 5;
static __device__ int hidden = 9;

static __device__ uint32_t place() {
    return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
}

// y[i] += factors[2] * x[63 - i] within each workgroup of 64.
__global__ void turn_and_add(const float* x, float* y, uint32_t n) {
    extern __shared__ float tile[];
    const uint32_t t = __builtin_amdgcn_workitem_id_x(), i = place();
    tile[t] = i < n ? x[i] : 0.0f;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (i < n) y[i] += factors[2] * tile[63 - t];
}

__global__ void count(int step) {
    if (__builtin_amdgcn_workitem_id_x() == 0)
        __hip_atomic_fetch_add(&counter, step + hidden, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
__global__ void fill(T* p, T value) {
    p[place()] = value;
}

static int failures = 0;
static void expect(bool right, const char* what, int device) {
    if (right) return;
    std::fprintf(stderr, "device %d: %s\n", device, what);
    ++failures;
}
#define EXPECT(condition) expect(condition, #condition, device)

static void on_device(int device, int release) {
    EXPECT(hipSetDevice(device) == 0);
    constexpr uint32_t kN = 100;
    std::vector<float> x(kN), y(kN, 1.0f);
    for (uint32_t i = 0; i < kN; ++i) x[i] = static_cast<float>(i);
    void *dx = nullptr, *dy = nullptr;
    EXPECT(hipMalloc(&dx, kN * 4) == 0);
    EXPECT(hipMalloc(&dy, 128 * 8) == 0);
    EXPECT(hipMemcpyHtoD(dx, x.data(), kN * 4) == 0);
    EXPECT(hipMemcpyHtoD(dy, y.data(), kN * 4) == 0);
    hipStream_t stream = nullptr;
    EXPECT(hipStreamCreateWithFlags(&stream, 0) == 0);
    turn_and_add<<<dim3(2), dim3(64), 256>>>(static_cast<float*>(dx), static_cast<float*>(dy), kN);
    EXPECT(hipGetLastError() == 0);
    // Each device has a copy of its own.
    const float factor = 10.0f;
    EXPECT(hipMemcpyToSymbol(factors, &factor, 4, 8, 1) == 0);
    turn_and_add<<<dim3(2), dim3(64), 256, stream>>>(static_cast<float*>(dx), static_cast<float*>(dy), kN);
    EXPECT(hipStreamSynchronize(stream) == 0);
    EXPECT(hipMemcpyDtoH(y.data(), dy, kN * 4) == 0);
    for (uint32_t i = 0; i < kN; ++i) {
        const uint32_t from = i / 64 * 64 + 63 - i % 64;
        EXPECT(y[i] == 1.0f + 13.0f * (from < kN ? static_cast<float>(from) : 0.0f));
    }

    count<<<3, 32>>>(1);
    int value = 0;
    EXPECT(hipMemcpyFromSymbol(&value, &counter, 4, 0, 2) == 0);
    EXPECT(value == 5 + 3 * 10);
    value = -9;
    EXPECT(hipMemcpyToSymbolAsync(&hidden, &value, 4, 0, 1, stream) == 0);
    count<<<1, 32, 0, stream>>>(0);
    EXPECT(hipMemcpyFromSymbolAsync(&value, &counter, 4, 0, 2, stream) == 0);
    EXPECT(value == 35 - 9);
    void* address = nullptr;
    size_t size = 0;
    EXPECT(hipGetSymbolAddress(&address, factors) == 0);
    EXPECT(hipGetSymbolSize(&size, factors) == 0);
    EXPECT(size == 16);
    float third = 0;
    EXPECT(hipMemcpyDtoH(&third, static_cast<float*>(address) + 2, 4) == 0);
    EXPECT(third == 10.0f);

    std::vector<double> filled(64);
    fill<double><<<1, 64>>>(static_cast<double*>(dy), 1.5);
    EXPECT(hipMemcpyDtoH(filled.data(), dy, 64 * 8) == 0);
    EXPECT(filled == std::vector<double>(64, 1.5));

    // Every release records these launches.
    void *graph = nullptr, *exec = nullptr;
    EXPECT(hipStreamBeginCapture(stream, 2) == 0);
    fill<double><<<1, 64, 0, stream>>>(static_cast<double*>(dy), 2.5);
    EXPECT(hipStreamEndCapture(stream, &graph) == 0);
    EXPECT(hipMemcpyDtoH(filled.data(), dy, 64 * 8) == 0);
    EXPECT(filled[0] == 1.5);
    EXPECT(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) == 0);
    EXPECT(hipGraphLaunch(exec, stream) == 0);
    EXPECT(hipStreamSynchronize(stream) == 0);
    EXPECT(hipMemcpyDtoH(filled.data(), dy, 64 * 8) == 0);
    EXPECT(filled[63] == 2.5);
    EXPECT(hipGraphExecDestroy(exec) == 0);
    EXPECT(hipGraphDestroy(graph) == 0);

    // What is asked of kernels.
    const void* stub = reinterpret_cast<const void*>(turn_and_add);
    Attributes attributes;
    EXPECT(hipFuncGetAttributes(&attributes, stub) == 0);
    EXPECT(attributes.most_threads == 1024 && attributes.registers > 0 && attributes.lds_bytes == 0);
    EXPECT(attributes.most_dynamic_lds == 65536);
    int groups = 0;
    EXPECT(hipOccupancyMaxActiveBlocksPerMultiprocessor(&groups, stub, 1024, 0) == 0);
    EXPECT(groups == 2);
    EXPECT(hipFuncSetAttribute(stub, 8, 32768) == 0);
    float one = 1.0f;
    void *arguments[] = {&dy, &one}, *p = dy;
    uint32_t n = 64;
    void* all_arguments[] = {&p, &p, &n};
    EXPECT(hipLaunchCooperativeKernel(stub, 1, 64, all_arguments, 256, nullptr) == 0);
    EXPECT(hipDeviceSynchronize() == 0);

    // What is wrong is told.
    EXPECT(hipLaunchKernel(&failures, 1, 1, arguments, 0, nullptr) == 98);
    EXPECT(hipFuncGetAttributes(&attributes, &failures) == 98);
    EXPECT(hipMemcpyToSymbol(&failures, &value, 4, 0, 1) == 13);
    EXPECT(hipMemcpyToSymbol(factors, &factor, 4, 13, 1) == 1);
    EXPECT(hipMemcpyFromSymbol(&value, &counter, 5, 0, 2) == 1);
    EXPECT(hipMemcpyFromSymbol(&value, &counter, 4, 0, 1) == 1);
    if (release >= 70) hipGetLastError();  // kept until it is read
    fill<double><<<1, 2048>>>(static_cast<double*>(dy), 1.5);
    EXPECT(hipGetLastError() == (release < 60 ? 9 : 1));
    EXPECT(hipFree(dx) == 0);
    EXPECT(hipFree(dy) == 0);
    EXPECT(hipStreamDestroy(stream) == 0);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const int release = std::atoi(argv[1]);
    for (const int device : {0, 1, 0}) {
        on_device(device, release);
        // The program's variables start anew only with the process.
        const int start = 5, nine = 9;
        const float three = 3.0f;
        EXPECT(hipMemcpyToSymbol(&counter, &start, 4, 0, 1) == 0);
        EXPECT(hipMemcpyToSymbol(&hidden, &nine, 4, 0, 1) == 0);
        EXPECT(hipMemcpyToSymbol(factors, &three, 4, 8, 1) == 0);
    }
    // Releases up to 5.3 end the process here.
    if (release >= 60) {
        const int device = 2;
        EXPECT(hipSetDevice(device) == 0);
        count<<<1, 32>>>(1);
        EXPECT(hipGetLastError() == (release < 70 ? 209 : 200));
    }
    if (failures == 0) std::printf("all right\n");
    return failures != 0;
}
