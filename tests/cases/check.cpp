#include "cases/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cases/floats.hpp"
#include "cases/reference.hpp"

namespace ckitchen::cases {
namespace {

// One operand while its case runs.
struct Tensor {
    Operand operand;
    std::unique_ptr<Buffer> buffer;  // nullptr: absent, or an output that is written over its input
    Bytes expected;                  // packed rows
};

void set_pointer(Args& args, size_t field, void* pointer) {
    std::memcpy(reinterpret_cast<char*>(&args) + field, &pointer, sizeof(pointer));
}

// name=value behind a problem text's '|'.
std::optional<std::string> option(const std::string& text, const std::string& name) {
    const size_t bar = text.find('|');
    if (bar == std::string::npos) return std::nullopt;
    const size_t at = text.find(" " + name + "=", bar);
    if (at == std::string::npos) return std::nullopt;
    const size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find_first_of(" \t\r\n", begin) - begin);
}

double sum_at(const uint8_t* element) {
    double value = 0;
    std::memcpy(&value, element, sizeof(value));
    return value;
}

std::string show(const uint8_t* element, const Operand& operand) {
    uint64_t bits = 0;
    std::memcpy(&bits, element, static_cast<size_t>(operand.element_size));
    char text[64];
    if (operand.content == Content::kCounter)
        std::snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>(bits));
    else if (operand.content == Content::kSums)
        std::snprintf(text, sizeof(text), "%.17g (0x%016llx)", sum_at(element),
                      static_cast<unsigned long long>(bits));
    else
        std::snprintf(text, sizeof(text), "%.9g (0x%0*llx)",
                      static_cast<double>(load_float(element, operand.dtype)),
                      static_cast<int>(2 * operand.element_size), static_cast<unsigned long long>(bits));
    return text;
}

std::string place(const Operand& operand, int64_t row, int64_t column) {
    std::string index;
    int64_t rest = row;
    for (int axis = kRank - 2; axis >= 0; --axis) {
        if (operand.extent[axis] > 1 || (axis == kRank - 2 && operand.extent[axis] >= 1 && row == 0))
            index.insert(0, std::to_string(rest % operand.extent[axis]) + ",");
        rest /= operand.extent[axis];
    }
    return std::string(operand.name) + "[" + index + std::to_string(column) + "]";
}

// Equal bits, or both NaN.
bool same_element(const Operand& operand, const uint8_t* a, const uint8_t* b) {
    if (operand.content == Content::kSums && std::isnan(sum_at(a)) && std::isnan(sum_at(b))) return true;
    return same_value(a, b, operand.dtype);
}

// The levels of a fitted codebook are the only numbers that need not be exact.
bool levels_agree(const uint8_t* a, const uint8_t* b) {
    const double x = static_cast<double>(load_float(a, CK_F32));
    const double y = static_cast<double>(load_float(b, CK_F32));
    return std::fabs(x - y) <= 1e-6 * std::fabs(y);
}

Bytes sum_of_counters(const Bytes& a, const Bytes& b) {
    uint64_t x = 0;
    uint64_t y = 0;
    std::memcpy(&x, a.data(), sizeof(x));
    std::memcpy(&y, b.data(), sizeof(y));
    x += y;
    Bytes sum(sizeof(x));
    std::memcpy(sum.data(), &x, sizeof(x));
    return sum;
}

class Run {
  public:
    Run(Device& device, const Case& which, const Hooks& hooks)
        : device_(device), which_(which), hooks_(hooks), op_(find_op(which.problem.op)) {}

    Outcome outcome() {
        for (const Operand& operand : describe(which_.problem)) tensors_.push_back({operand, nullptr, {}});
        empty_ = std::all_of(tensors_.begin(), tensors_.end(), [](const Tensor& tensor) {
            return tensor.operand.role != Role::kOutput || !tensor.operand.present() ||
                   tensor.operand.elements() == 0;
        });
        make_inputs();
        compute_expected();
        make_outputs();
        for (Tensor& tensor : tensors_)
            if (tensor.buffer) tensor.buffer->upload();
        if (call()) compare();
        return std::move(outcome_);
    }

  private:
    void fail(Fault fault, std::string text) { outcome_.failures.push_back({fault, std::move(text)}); }

    void fail_call(ck_status status, const std::string& what, const char* why) {
        outcome_.status = status;
        fail(Fault::kStatus, what + ck_status_string(status) + ": " + why);
    }

    void make_inputs() {
        args_ = which_.problem.args;
        for (Tensor& tensor : tensors_) {
            const Operand& operand = tensor.operand;
            if (!operand.present() || operand.role == Role::kOutput) continue;
            tensor.buffer = std::make_unique<Buffer>(device_, operand, which_.placement);
            const auto row_bytes = static_cast<size_t>(operand.width() * operand.element_size);
            Bytes rows(static_cast<size_t>(operand.rows()) * row_bytes);
            const auto given = which_.given.find(operand.name);
            if (operand.role == Role::kInput && given != which_.given.end())
                rows = given->second;
            else
                for (int64_t row = 0; row < operand.rows(); ++row)
                    fill_row(operand, which_.fill, which_.seed, row,
                             rows.data() + static_cast<size_t>(row) * row_bytes);
            if (rows.size() != static_cast<size_t>(operand.rows()) * row_bytes)
                throw std::logic_error("given bytes do not fit the operand");
            tensor.buffer->scatter(rows);
            tensor.expected = tensor.buffer->gather();
            set_pointer(args_, operand.field, tensor.buffer->pointer());
        }
    }

    void compute_expected() {
        Problem problem = packed(which_.problem);
        for (Tensor& tensor : tensors_) {
            const Operand& operand = tensor.operand;
            if (!operand.present()) continue;
            if (operand.role == Role::kOutput)
                tensor.expected.resize(static_cast<size_t>(operand.elements() * operand.element_size));
            // An address even where there is nothing to read.
            static uint8_t nothing;
            set_pointer(problem.args, operand.field,
                        tensor.expected.empty() ? &nothing : tensor.expected.data());
        }
        if (which_.problem.op != CK_OP_NA3D) {
            run_reference(problem);
            for (Tensor& tensor : tensors_) {
                const auto given = which_.given.find(tensor.operand.name);
                if (tensor.operand.role == Role::kInput || given == which_.given.end()) continue;
                if (given->second.size() != tensor.expected.size())
                    throw std::logic_error("given bytes do not fit the operand");
                if (tensor.operand.role == Role::kAccumulate)
                    tensor.expected = sum_of_counters(tensor.buffer->gather(), given->second);
                else
                    tensor.expected = given->second;
            }
            return;
        }
        // Non-finite inputs give unspecified values: only the surroundings are checked then.
        bounded_ = which_.fill != Fill::kNonFinite;
        if (bounded_ && !empty_)
            attention_ = attention_reference(problem.args.na3d, tensors_[0].expected, tensors_[1].expected,
                                             tensors_[2].expected);
    }

    void make_outputs() {
        for (Tensor& tensor : tensors_) {
            const Operand& operand = tensor.operand;
            if (!operand.present() || operand.role != Role::kOutput) continue;
            if (which_.in_place) {
                set_pointer(args_, operand.field, tensors_[0].buffer->pointer());
                continue;
            }
            tensor.buffer = std::make_unique<Buffer>(device_, operand, which_.placement);
            // Every byte differs from what the result must be, so what was not written shows, whatever the
            // result is. Attention gets NaN.
            Bytes poison = tensor.expected;
            for (uint8_t& byte : poison)
                byte = which_.problem.op == CK_OP_NA3D ? 0xff : static_cast<uint8_t>(~byte);
            tensor.buffer->scatter(poison);
            set_pointer(args_, operand.field, tensor.buffer->pointer());
        }
        uint64_t bytes = 0;
        const ck_status status = op_.workspace_size(device_.context(), args_, &bytes);
        if (status != CK_OK) {
            fail_call(status, "workspace_size: ", ck_last_error());
            return;
        }
        if (bytes == 0) return;
        Operand workspace{};
        workspace.name = "workspace";
        workspace.role = Role::kOutput;
        workspace.element_size = 1;
        workspace.dtype = CK_I8;
        workspace.required = true;
        workspace.extent = {1, 1, 1, 1, 1, static_cast<int64_t>(bytes)};
        workspace.stride = {0, 0, 0, 0, 0, 1};
        // Exactly the bytes that were asked for, with guards around them.
        workspace_ = std::make_unique<Buffer>(device_, workspace, Placement::kGuarded);
        workspace_->upload();
        uint64_t* size = nullptr;
        void** pointer = op_.workspace(args_, &size);
        if (pointer == nullptr) {
            fail(Fault::kStatus,
                 "workspace_size is " + std::to_string(bytes) + " for an operator without one");
            return;
        }
        *pointer = workspace_->pointer();
        *size = bytes;
    }

    struct Count {
        std::string name;
        uint64_t calls;
    };

    std::vector<Count> counters() {
        uint64_t count = 0;
        expect_ok(ck_variant_count(device_.context(), &count), "ck_variant_count");
        std::vector<Count> result;
        for (uint64_t i = 0; i < count; ++i) {
            ck_variant_info info = CK_INIT(ck_variant_info);
            expect_ok(ck_get_variant_info(device_.context(), i, &info), "ck_get_variant_info");
            if (info.op == op_.op) result.push_back({info.name, info.calls});
        }
        return result;
    }

    bool call() {
        if (!outcome_.ok()) return false;
        ck_support_info info = CK_INIT(ck_support_info);
        ck_status status = op_.supported(device_.context(), args_, &info);
        if (status != CK_OK || info.status != CK_OK) {
            fail_call(status == CK_OK ? info.status : status,
                      "supported: ", status == CK_OK ? info.reason : ck_last_error());
            return false;
        }
        const std::vector<Count> before = counters();
        if (device_.is_simulated()) hooks_.launched(device_);  // what earlier cases and copies left
        status = hooks_.call(op_, device_.context(), args_);
        if (status == CK_OK) status = ck_synchronize(device_.context(), nullptr);
        if (status != CK_OK) {
            fail_call(status, "", ck_last_error());
            return false;
        }
        // An empty call launches nothing, so no variant runs.
        if (empty_) return true;
        outcome_.variant = hooks_.last_variant();
        if (outcome_.variant != info.variant)
            fail(Fault::kVariant, "variant '" + outcome_.variant + "' ran, must be '" + info.variant + "'");
        if (device_.is_simulated() && !is_codebook_of_nothing())
            check_kernel(info.variant, hooks_.launched(device_));
        const std::vector<Count> after = counters();
        for (size_t i = 0; i < after.size(); ++i) {
            const uint64_t grown = after[i].calls - before[i].calls;
            const uint64_t expected = after[i].name == info.variant ? 1 : 0;
            if (grown != expected)
                fail(Fault::kCounter, "calls of variant '" + after[i].name + "' grew by " +
                                          std::to_string(grown) + ", must be " + std::to_string(expected));
        }
        return true;
    }

    // With no weight to look at the host writes the default levels: the one call that has a result and no
    // kernel.
    bool is_codebook_of_nothing() const {
        const ck_w4a8_choose_codebook_args& args = which_.problem.args.w4a8_choose_codebook;
        return op_.op == CK_OP_W4A8_CHOOSE_CODEBOOK && (args.n == 0 || args.k == 0);
    }

    // A kernel is called ckitchen_<op>_<row>; a linear layer runs the GEMM's row that its own variant is
    // named for.
    void check_kernel(const std::string& variant, const std::vector<std::string>& launched) {
        const std::string row = variant.substr(std::min(variant.size(), std::strlen(op_.name)));
        std::string all;
        for (const std::string& kernel : launched) {
            if (kernel.size() > row.size() &&
                kernel.compare(kernel.size() - row.size(), row.size(), row) == 0)
                return;
            all += " " + kernel;
        }
        fail(Fault::kKernel, "variant '" + variant + "' was to run, executed:" + all);
    }

    void compare() {
        for (Tensor& tensor : tensors_) {
            if (!tensor.buffer) continue;
            const Operand& operand = tensor.operand;
            tensor.buffer->download();
            if (const auto stray = tensor.buffer->stray()) {
                char text[160];
                std::snprintf(text, sizeof(text), "byte %lld of %s (%s) is 0x%02x, was 0x%02x",
                              static_cast<long long>(stray->offset), operand.name,
                              stray->in_guard ? "outside the tensor" : "between rows", stray->found,
                              stray->expected);
                fail(stray->in_guard ? Fault::kGuard : Fault::kPadding, text);
            }
            const Bytes found = tensor.buffer->downloaded_rows();
            if (operand.role != Role::kInput) outcome_.outputs[operand.name] = found;
            const bool overwritten = which_.in_place && operand.role == Role::kInput;
            if (operand.role == Role::kInput && !overwritten) {
                if (found != tensor.expected) fail(Fault::kInput, std::string(operand.name) + " was changed");
            } else if (which_.problem.op == CK_OP_NA3D) {
                compare_attention(found);
            } else {
                compare_exactly(operand, overwritten ? tensors_[1].expected : tensor.expected, found);
            }
        }
        if (workspace_) {
            workspace_->download();
            if (const auto stray = workspace_->stray())
                fail(Fault::kGuard,
                     "byte " + std::to_string(stray->offset) + " of workspace (outside of it) was written");
        }
    }

    void compare_exactly(const Operand& operand, const Bytes& expected, const Bytes& found) {
        const auto size = static_cast<size_t>(operand.element_size);
        const bool fitted = operand.content == Content::kCodebook;
        int64_t wrong = 0;
        int64_t unwritten = 0;
        std::string first;
        for (size_t i = 0; i * size < expected.size(); ++i) {
            const uint8_t* want = expected.data() + i * size;
            const uint8_t* have = found.data() + i * size;
            if (same_element(operand, want, have) || (fitted && levels_agree(have, want))) continue;
            if (wrong == 0) {
                const auto width = static_cast<size_t>(operand.width());
                first = place(operand, static_cast<int64_t>(i / width), static_cast<int64_t>(i % width)) +
                        " is " + show(have, operand) + ", must be " + show(want, operand);
            }
            ++wrong;
            if (operand.role == Role::kOutput && !which_.in_place)
                unwritten +=
                    std::equal(want, want + size, have, [](uint8_t a, uint8_t b) { return a == (b ^ 0xff); });
        }
        if (wrong == 0) return;
        first += " (" + std::to_string(wrong) + " of " + std::to_string(operand.elements()) + " wrong";
        if (unwritten > 0) first += ", " + std::to_string(unwritten) + " not written";
        fail(unwritten > 0 ? Fault::kUnwritten : Fault::kValue, first + ")");
    }

    void compare_attention(const Bytes& found) {
        if (empty_) return;
        const ck_na3d_args& args = which_.problem.args.na3d;
        const auto size = static_cast<size_t>(element_size(args.dtype));
        for (size_t i = 0; i < found.size(); i += size)
            if (std::all_of(found.begin() + static_cast<std::ptrdiff_t>(i),
                            found.begin() + static_cast<std::ptrdiff_t>(i + size),
                            [](uint8_t byte) { return byte == 0xff; })) {
                fail(Fault::kUnwritten, "element " + std::to_string(i / size) + " of out was not written");
                return;
            }
        if (!bounded_) return;
        const std::string error = attention_error(args, attention_, found);
        if (!error.empty()) fail(Fault::kValue, error);
    }

    Device& device_;
    const Case& which_;
    const Hooks& hooks_;
    const Op& op_;
    Args args_{};
    std::vector<Tensor> tensors_;
    std::unique_ptr<Buffer> workspace_;
    AttentionReference attention_;
    bool bounded_ = true;
    bool empty_ = false;
    Outcome outcome_;
};

}  // namespace

std::string format_case(const Case& which) {
    std::string text = format_problem(which.problem) + " | fill=" + fill_name(which.fill) +
                       " seed=" + std::to_string(which.seed);
    if (which.placement != Placement::kGuarded)
        text += std::string(" placement=") + placement_name(which.placement);
    if (which.in_place) text += " in_place=1";
    return text;
}

std::optional<Case> parse_case(const std::string& text, std::string* error) {
    Case result;
    const std::optional<Problem> problem = parse_problem(text, error);
    if (!problem) return std::nullopt;
    result.problem = *problem;
    if (const auto value = option(text, "fill")) {
        const std::optional<Fill> fill = find_fill(*value);
        if (!fill) {
            *error = "fill=" + *value + " is not understood";
            return std::nullopt;
        }
        result.fill = *fill;
    }
    if (const auto value = option(text, "placement")) {
        const std::optional<Placement> placement = find_placement(*value);
        if (!placement) {
            *error = "placement=" + *value + " is not understood";
            return std::nullopt;
        }
        result.placement = *placement;
    }
    if (const auto value = option(text, "seed")) {
        char* end = nullptr;
        result.seed = std::strtoull(value->c_str(), &end, 10);
        if (end == value->c_str() || *end != 0) {
            *error = "seed=" + *value + " is not a number";
            return std::nullopt;
        }
    }
    if (const auto value = option(text, "in_place")) result.in_place = *value == "1";
    return result;
}

bool Outcome::has(Fault fault) const {
    return std::any_of(failures.begin(), failures.end(),
                       [fault](const Failure& failure) { return failure.fault == fault; });
}

std::string Outcome::line(const Device& device, const Case& which) const {
    std::string text;
    for (const Failure& failure : failures) text += (text.empty() ? "" : "; ") + failure.text;
    if (text.empty()) text = "ok";
    return text + " -- ckitchen verify --backend " + device.name() + " --problem '" + format_case(which) +
           "'";
}

std::string refusal(Device& device, const Problem& problem) {
    // Without addresses: alignments are none.
    Args args = problem.args;
    for (const Operand& operand : describe(problem)) set_pointer(args, operand.field, nullptr);
    ck_support_info info = CK_INIT(ck_support_info);
    const ck_status status = find_op(problem.op).supported(device.context(), args, &info);
    if (status != CK_OK) return ck_last_error();
    return info.status == CK_OK ? "" : info.reason;
}

Outcome run_case(Device& device, const Case& which, const Hooks& hooks) {
    return Run(device, which, hooks).outcome();
}

}  // namespace ckitchen::cases
