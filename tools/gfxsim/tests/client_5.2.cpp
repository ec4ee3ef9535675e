// A program against the headers and the library of a real release 5.2: starts on the simulator by
// LD_LIBRARY_PATH alone and multiplies two int8 matrices with a kernel from a code object.
//
//   client_5.2 <code object>
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

bool ok(hipError_t error, const char* what) {
    if (error != hipSuccess) std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
    return error == hipSuccess;
}

#define REQUIRE_OK(call) \
    if (!ok(call, #call)) return 1

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
    constexpr int kM = 48, kN = 32, kK = 64;
    std::vector<signed char> a(kM * kK), b(kN * kK);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<signed char>(i * 37 % 251 - 125);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<signed char>(i * 91 % 253 - 126);
    std::vector<int> c(kM * kN);
    int count = 0;
    hipDeviceProp_t properties;
    REQUIRE_OK(hipGetDeviceCount(&count));
    REQUIRE_OK(hipGetDeviceProperties(&properties, 0));
    hipModule_t module;
    hipFunction_t function;
    REQUIRE_OK(hipModuleLoadData(&module, image.data()));
    REQUIRE_OK(hipModuleGetFunction(&function, module, "matmul_dot4"));
    void *da, *db, *dc;
    REQUIRE_OK(hipMalloc(&da, a.size()));
    REQUIRE_OK(hipMalloc(&db, b.size()));
    REQUIRE_OK(hipMalloc(&dc, c.size() * sizeof(int)));
    REQUIRE_OK(hipMemcpy(da, a.data(), a.size(), hipMemcpyHostToDevice));
    REQUIRE_OK(hipMemcpy(db, b.data(), b.size(), hipMemcpyHostToDevice));
    hipStream_t stream;
    REQUIRE_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    int n = kN, k = kK;
    void* arguments[] = {&da, &db, &dc, &n, &k};
    REQUIRE_OK(
        hipModuleLaunchKernel(function, kN / 16, kM / 16, 1, 256, 1, 1, 0, stream, arguments, nullptr));
    REQUIRE_OK(hipStreamSynchronize(stream));
    REQUIRE_OK(hipMemcpy(c.data(), dc, c.size() * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < kM; ++i)
        for (int j = 0; j < kN; ++j) {
            int sum = 0;
            for (int x = 0; x < kK; ++x) sum += a[i * kK + x] * b[j * kK + x];
            if (sum != c[i * kN + j]) {
                std::fprintf(stderr, "c[%d][%d] is %d instead of %d\n", i, j, c[i * kN + j], sum);
                return 1;
            }
        }
    std::printf("%s: %d x %d x %d is right\n", properties.gcnArchName, kM, kN, kK);
    return 0;
}
