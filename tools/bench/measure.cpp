#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

namespace ckitchen::bench {
namespace {

using cases::Operand;

// Device memory with the fill's first rows, repeated: the values decide nothing about the time, but NaN or
// zeros everywhere might.
class Memory {
  public:
    Memory(cases::Device& device, const Operand& operand, const cases::Case& which) : device_(device) {
        int64_t lowest = 0;
        int64_t end = 0;
        operand.range(&lowest, &end);
        const uintptr_t offset = operand.alignment % 256;
        const auto bytes = static_cast<uint64_t>((end - lowest) * operand.element_size);
        cases::expect_ok(ck_malloc(device.context(), bytes + 512, &base_), "ck_malloc");
        auto* const begin = static_cast<uint8_t*>(base_) + offset;
        pointer_ = begin - lowest * operand.element_size;
        if (operand.role == cases::Role::kInput && bytes > 0) upload(begin, bytes, operand, which);
    }
    ~Memory() { ck_free(device_.context(), base_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* pointer() const { return pointer_; }

  private:
    void upload(uint8_t* to, uint64_t bytes, const Operand& operand, const cases::Case& which) {
        constexpr uint64_t kBlock = uint64_t{4} << 20;
        const auto row_bytes = static_cast<size_t>(operand.width() * operand.element_size);
        std::vector<uint8_t> block;
        for (int64_t row = 0; row < operand.rows() && block.size() < kBlock; ++row) {
            block.resize(block.size() + row_bytes);
            cases::fill_row(operand, which.fill, which.seed, row, block.data() + block.size() - row_bytes);
        }
        for (uint64_t at = 0; at < bytes; at += block.size())
            cases::expect_ok(
                ck_copy(device_.context(), to + at, block.data(),
                        std::min<uint64_t>(block.size(), bytes - at), CK_COPY_HOST_TO_DEVICE, nullptr),
                "ck_copy");
    }

    cases::Device& device_;
    void* base_ = nullptr;
    void* pointer_ = nullptr;
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double operations(const cases::Problem& problem) {
    switch (problem.op) {
        case CK_OP_INT8_GEMM:
        case CK_OP_INT8_LINEAR:
        case CK_OP_W4A8_LINEAR:
        case CK_OP_NA3D:
            return 2 * cases::cost(problem);
        default:
            return 0;  // bound by memory: bytes tell
    }
}

}  // namespace

Measurement measure(cases::Device& device, const cases::Case& which, double seconds) {
    const cases::Op& op = cases::find_op(which.problem.op);
    cases::Args args = which.problem.args;
    Measurement result;
    result.operations = operations(which.problem);
    std::vector<std::unique_ptr<Memory>> memory;
    for (const Operand& operand : cases::describe(which.problem)) {
        if (!operand.present()) continue;
        memory.push_back(std::make_unique<Memory>(device, operand, which));
        void* const pointer = memory.back()->pointer();
        std::memcpy(reinterpret_cast<char*>(&args) + operand.field, &pointer, sizeof(pointer));
        result.bytes += static_cast<double>(operand.elements()) * static_cast<double>(operand.element_size);
    }
    uint64_t workspace_bytes = 0;
    cases::expect_ok(op.workspace_size(device.context(), args, &workspace_bytes), "workspace_size");
    std::unique_ptr<Memory> workspace;
    if (workspace_bytes > 0) {
        Operand operand{};
        operand.name = "workspace";
        operand.role = cases::Role::kOutput;
        operand.element_size = 1;
        operand.extent = {1, 1, 1, 1, 1, static_cast<int64_t>(workspace_bytes)};
        operand.stride = {0, 0, 0, 0, 0, 1};
        workspace = std::make_unique<Memory>(device, operand, which);
        uint64_t* size = nullptr;
        *op.workspace(args, &size) = workspace->pointer();
        *size = workspace_bytes;
    }

    const auto run = [&](int calls) {
        const double start = now();
        for (int i = 0; i < calls; ++i) cases::expect_ok(op.call(device.context(), args, nullptr), op.name);
        cases::expect_ok(ck_synchronize(device.context(), nullptr), "ck_synchronize");
        return (now() - start) / calls;
    };
    run(1);
    result.variant = ck_last_variant();
    // A batch of about 5 ms: waiting for a stream costs some 10 us.
    const double once = run(1);
    const int batch =
        device.is_cpu() ? 1 : static_cast<int>(std::clamp(5e-3 / std::max(once, 1e-7), 1.0, 1000.0));
    std::vector<double> samples;
    for (const double start = now(); samples.size() < 5 || now() - start < seconds;)
        samples.push_back(run(batch));
    std::sort(samples.begin(), samples.end());
    result.calls = static_cast<int>(samples.size()) * batch;
    result.median = samples[samples.size() / 2];
    result.fastest = samples.front();
    return result;
}

std::vector<std::string> default_problems(ck_op op, bool cpu) {
    switch (op) {
        case CK_OP_INT8_GEMM:
            if (cpu)
                return {"op=int8_gemm out_dtype=bf16 m=256 n=3072 k=3072",
                        "op=int8_gemm out_dtype=bf16 m=1 n=3072 k=3072"};
            return {"op=int8_gemm out_dtype=bf16 m=12544 n=9216 k=3072",
                    "op=int8_gemm out_dtype=bf16 m=12544 n=3072 k=8192",
                    "op=int8_gemm out_dtype=bf16 m=4096 n=4096 k=4096",
                    "op=int8_gemm out_dtype=bf16 m=256 n=9216 k=3072",
                    "op=int8_gemm out_dtype=bf16 m=1 n=9216 k=3072"};
        case CK_OP_INT8_QUANTIZE:
            if (cpu)
                return {"op=int8_quantize dtype=bf16 rows=1024 k=5120",
                        "op=int8_quantize dtype=bf16 rows=1024 k=5120 rotate_group=256"};
            return {"op=int8_quantize dtype=bf16 rows=12544 k=3072",
                    "op=int8_quantize dtype=bf16 rows=12544 k=3072 rotate_group=256",
                    "op=int8_quantize dtype=bf16 rows=12544 k=8192 rotate_group=256 activation=swiglu"};
        case CK_OP_INT8_LINEAR:
            if (cpu)
                return {"op=int8_linear x_dtype=bf16 out_dtype=bf16 m=256 n=3072 k=3072 rotate_group=256"};
            return {"op=int8_linear x_dtype=bf16 out_dtype=bf16 m=12544 n=9216 k=3072 rotate_group=256",
                    "op=int8_linear x_dtype=bf16 out_dtype=bf16 m=12544 n=3072 k=8192 rotate_group=256"};
        case CK_OP_INT8_ERROR:
            if (cpu) return {"op=int8_error dtype=bf16 rows=1024 k=5120 rotate_group=256"};
            return {"op=int8_error dtype=bf16 rows=5120 k=5120",
                    "op=int8_error dtype=bf16 rows=5120 k=5120 rotate_group=256",
                    "op=int8_error dtype=bf16 rows=204 k=5120 rotate_group=256"};
        case CK_OP_ROTATE:
            if (cpu) return {"op=rotate dtype=bf16 rows=1024 k=5120 group=256"};
            return {"op=rotate dtype=bf16 rows=12544 k=3072 group=256",
                    "op=rotate dtype=bf16 rows=5120 k=5120 group=256"};
        case CK_OP_W4A8_REQUANT:
            if (cpu)
                return {"op=w4a8_requant dtype=bf16 n=1024 k=5120 group=16",
                        "op=w4a8_requant dtype=bf16 n=1024 k=5120 group=16 seed=1",
                        "op=w4a8_requant dtype=bf16 n=1024 k=5120 group=16 rotate_group=256"};
            return {"op=w4a8_requant dtype=bf16 n=5120 k=5120 group=16",
                    "op=w4a8_requant dtype=bf16 n=5120 k=5120 group=16 seed=1",
                    "op=w4a8_requant dtype=bf16 n=13824 k=5120 group=16"};
        case CK_OP_W4A8_CHOOSE_CODEBOOK:
            return {cpu ? "op=w4a8_choose_codebook dtype=bf16 n=1024 k=1024 group=16"
                        : "op=w4a8_choose_codebook dtype=bf16 n=5120 k=5120 group=16"};
        case CK_OP_W4A8_DEQUANT:
            if (cpu)
                return {"op=w4a8_dequant out_dtype=bf16 n=1024 k=5120 group=16",
                        "op=w4a8_dequant out_dtype=i8 n=1024 k=5120 group=16"};
            return {"op=w4a8_dequant out_dtype=bf16 n=5120 k=5120 group=16",
                    "op=w4a8_dequant out_dtype=i8 n=5120 k=5120 group=16"};
        case CK_OP_W4A8_LINEAR:
            if (cpu)
                return {
                    "op=w4a8_linear x_dtype=bf16 out_dtype=bf16 m=64 n=1024 k=3072 group=16 "
                    "rotate_group=256"};
            return {
                "op=w4a8_linear x_dtype=bf16 out_dtype=bf16 m=12544 n=9216 k=3072 group=16 rotate_group=256",
                "op=w4a8_linear x_dtype=bf16 out_dtype=bf16 m=1 n=9216 k=3072 group=16 rotate_group=256"};
        default:
            if (cpu) return {"op=na3d dtype=bf16 batch=1 t=4 h=16 w=16 heads=4 head_dim=64 kernel=3,7,7"};
            return {"op=na3d dtype=bf16 batch=1 t=21 h=30 w=52 heads=12 head_dim=64 kernel=3,7,7",
                    "op=na3d dtype=bf16 batch=1 t=16 h=32 w=32 heads=8 head_dim=64 kernel=5,5,5",
                    "op=na3d dtype=bf16 batch=1 t=1 h=64 w=64 heads=8 head_dim=64 kernel=1,13,13",
                    "op=na3d dtype=bf16 batch=1 t=12 h=20 w=30 heads=12 head_dim=64 kernel=7,7,11"};
    }
}

}  // namespace ckitchen::bench
