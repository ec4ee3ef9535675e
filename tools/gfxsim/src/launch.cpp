#include "launch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "control.hpp"
#include "memory.hpp"
#include "scratch_descriptor.hpp"
#include "stats.hpp"
#include "stop_watch.hpp"
#include "trace.hpp"
#include "undefined.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

constexpr uint64_t kQuantum = 20000;  // instructions of one wave before the next wave of its workgroup runs
constexpr uint32_t kDynamicStackBytes = 16 * 1024;
constexpr uint64_t kLdsLimit = 64 * 1024;

enum KernelProperty : uint16_t {
    kPrivateSegmentBuffer = 1 << 0,
    kDispatchPtr = 1 << 1,
    kQueuePtr = 1 << 2,
    kKernargPtr = 1 << 3,
    kDispatchId = 1 << 4,
    kFlatScratchInit = 1 << 5,
    kPrivateSegmentSize = 1 << 6,
    kWave32 = 1 << 10,
    kDynamicStack = 1 << 11,
};

/// hsa_kernel_dispatch_packet_t, for code that reads block and grid sizes from it.
struct DispatchPacket {
    uint16_t header, setup;
    uint16_t workgroup_size[3];
    uint16_t reserved0;
    uint32_t grid_size[3];
    uint32_t private_segment_size, group_segment_size;
    uint64_t kernel_object, kernarg_address, reserved1, completion_signal;
};
static_assert(sizeof(DispatchPacket) == 64);

/// Simulated memory that lives as long as one launch.
class LaunchMemory {
  public:
    LaunchMemory(const void* data, size_t size, int device, const std::vector<KernelArg>& written) {
        if (size == 0) return;
        // Runtimes hand out kernarg segments in whole cache lines, and compilers widen loads on the strength
        // of it.
        const size_t padded = (size + 63) / 64 * 64;
        p_ = MemoryMap::instance().allocate(padded, MemoryKind::kKernarg, device, 0, ~0ull);
        if (!p_) throw std::bad_alloc();
        std::memcpy(p_, data, size);
        // Padding between arguments and after the last one is nobody's.
        if (!written.empty()) {
            for (const KernelArg& a : written)
                MemoryMap::instance().mark_defined(static_cast<const uint8_t*>(p_) + a.offset, a.size);
        } else {
            MemoryMap::instance().mark_defined(p_, padded);
        }
        MemoryMap::instance().set_writable(p_, false);
    }
    ~LaunchMemory() {
        if (p_) MemoryMap::instance().release(p_, MemoryKind::kKernarg);
    }
    LaunchMemory(const LaunchMemory&) = delete;
    LaunchMemory& operator=(const LaunchMemory&) = delete;
    uint64_t address() const { return reinterpret_cast<uint64_t>(p_); }

  private:
    void* p_ = nullptr;
};

class Dispatcher {
  public:
    Dispatcher(const LaunchRequest& request, const Options& options)
        : request_(request), options_(options), kernel_(*request.kernel) {
        threads_per_group_ = request.block[0] * request.block[1] * request.block[2];
        waves_per_group_ = (threads_per_group_ + kLanes - 1) / kLanes;
        groups_ = uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
        lds_bytes_ = kernel_.group_segment_size + request.dynamic_lds;
        scratch_bytes_ =
            kernel_.private_segment_size + (kernel_.properties & kDynamicStack ? kDynamicStackBytes : 0);
    }

    LaunchResult run() {
        LaunchResult result;
        if (!(kernel_.properties & kWave32)) {
            result.error = fault_error(FaultKind::kUnsupportedMode);
            result.report = "gfxsim: kernel " + kernel_.name + " is wave64; only wave32 is simulated\n";
            return result;
        }
        const std::vector<uint8_t> kernarg = build_kernarg(request_);
        const LaunchMemory arguments(kernarg.data(), kernarg.size(), request_.device, kernel_.args);
        const DispatchPacket packet = make_packet(arguments.address());
        const bool needs_packet = kernel_.properties & (kDispatchPtr | kQueuePtr);
        const LaunchMemory packet_memory(&packet, needs_packet ? sizeof packet : 0, request_.device, {});
        kernarg_address_ = arguments.address();
        packet_address_ = packet_memory.address();
        unsigned threads =
            options_.threads ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
        if (options_.trace) trace_ = std::make_unique<Trace>(options_);
        stops_ = options_.stop_offset >= 0 &&
                 (options_.stop_kernel.empty() || options_.stop_kernel == kernel_.name);
        if (trace_ || stops_) threads = 1;
        threads = static_cast<unsigned>(std::min<uint64_t>(threads, groups_));
        std::vector<Worker> workers(threads);
        for (Worker& w : workers) {
            w.device = request_.device;
            w.strict_alignment = options_.strict_alignment;
            w.track_undefined = options_.undefined;
            w.counts.assign(kernel_.image->slots(), 0);
            if (!options_.stats_file.empty()) w.memory.assign(kernel_.image->slots(), MemoryCount{});
        }
        if (threads == 1) {
            work(workers[0]);
        } else {
            std::vector<std::thread> pool;
            for (Worker& w : workers) pool.emplace_back([this, &w] { work(w); });
            for (std::thread& t : pool) t.join();
        }
        result.error = error_;
        result.report = report_;
        note_launch(request_, options_, stop_hits_, stops_ && stop_hits_ >= options_.stop_count);
        if (!options_.stats_file.empty()) {
            LaunchCounts counts{std::move(workers[0].counts), std::move(workers[0].memory)};
            for (size_t i = 1; i < workers.size(); ++i)
                for (size_t k = 0; k < counts.executed.size(); ++k) {
                    counts.executed[k] += workers[i].counts[k];
                    counts.memory[k] += workers[i].memory[k];
                }
            write_stats(options_.stats_file, request_, counts, lds_bytes_, waves_per_group_, result.error);
        }
        return result;
    }

  private:
    DispatchPacket make_packet(uint64_t kernarg) const {
        DispatchPacket p{};
        p.setup = 3;
        for (int i = 0; i < 3; ++i) {
            p.workgroup_size[i] = static_cast<uint16_t>(request_.block[i]);
            p.grid_size[i] = request_.grid[i] * request_.block[i];
        }
        p.private_segment_size = scratch_bytes_;
        p.group_segment_size = lds_bytes_;
        p.kernel_object = kernel_.descriptor_address;
        p.kernarg_address = kernarg;
        return p;
    }

    void work(Worker& worker) {
        std::vector<std::unique_ptr<Wave>> waves;
        for (uint32_t i = 0; i < waves_per_group_; ++i) {
            waves.push_back(std::make_unique_for_overwrite<Wave>());
            poison_registers(*waves.back(), kVectorCount);
            if (options_.undefined) forget_registers(*waves.back(), kVectorCount);
        }
        Workgroup group;
        const Wave* running = nullptr;
        try {
            while (!stop_.load(std::memory_order_relaxed)) {
                const uint64_t index = next_group_.fetch_add(1, std::memory_order_relaxed);
                if (index >= groups_) break;
                group.id = {static_cast<uint32_t>(index % request_.grid[0]),
                            static_cast<uint32_t>(index / request_.grid[0] % request_.grid[1]),
                            static_cast<uint32_t>(index / request_.grid[0] / request_.grid[1])};
                run_group(worker, group, waves, running);
            }
        } catch (const Fault& f) {
            finish(fault_error(f.kind), describe(f, *running));
        } catch (const std::exception& e) {
            finish(719, std::string("gfxsim: internal failure: ") + e.what() + "\n");
        }
        reset_float_mode();
    }

    void finish(int error, std::string report) {
        std::lock_guard lock(mutex_);
        if (stop_.exchange(true)) return;  // the first finding counts
        error_ = error;
        report_ = std::move(report);
    }

    void run_group(Worker& worker, Workgroup& group, std::vector<std::unique_ptr<Wave>>& waves,
                   const Wave*& running) {
        // LDS holds whatever the last workgroup left; a pattern makes its use visible.
        group.lds.assign(lds_bytes_, 0xcd);
        if (options_.undefined) group.undefined_lds.assign(lds_bytes_, 0xff);
        group.lds_defined = false;
        group.lds_scans = 0;
        if (options_.races) group.races.start(waves_per_group_, lds_bytes_);
        group.waves.clear();
        group.signalled = 0;
        group.live_waves = waves_per_group_;
        for (uint32_t i = 0; i < waves_per_group_; ++i) {
            group.waves.push_back(waves[i].get());
            start_wave(*waves[i], worker, group, i);
        }
        while (group.live_waves > 0) {
            bool progress = false;
            for (Wave* w : group.waves) {
                if (w->state != WaveState::kRunning) continue;
                progress = true;
                running = w;
                run_wave(*w, worker);
                if (stop_.load(std::memory_order_relaxed)) return;
            }
            if (!progress) raise(FaultKind::kBarrier, -1, "no wave of the workgroup can run");
        }
        if (group.races.active()) group.races.close();
    }

    /// A signalling NaN that names the register.
    static void poison_registers(Wave& w, int count) {
        for (int r = 0; r < count; ++r) w.v[r].fill(0x7fb00000u + static_cast<uint32_t>(r));
    }

    void start_wave(Wave& w, Worker& worker, Workgroup& group, uint32_t index) {
        // Registers that the kernel does not have kept their poison from the wave's creation.
        poison_registers(w, static_cast<int>(std::min<uint32_t>(kVgprCount, kernel_.vgpr_count)));
        for (int r = 0; r < kScalarCount; ++r) w.s[r] = 0xdead0000u + static_cast<uint32_t>(r);
        w.scc = false;
        w.state = WaveState::kRunning;
        w.barrier_signalled = w.barrier_passed = false;
        w.mode = kernel_.rsrc1 >> 12 & 0xff;
        w.next_pc = kernel_.entry;
        w.executed = 0;
        w.id_in_group = index;
        w.group = &group;
        w.worker = &worker;
        w.target = request_.target;
        w.scratch_lane_bytes = (scratch_bytes_ + 3) / 4 * 4;
        w.scratch.assign(size_t{w.scratch_lane_bytes} / 4 * kLanes, 0xcecececeu);
        if (options_.undefined) {
            forget_registers(w, kernel_.vgpr_count);
            w.undefined.scratch.assign(w.scratch.size(), ~0u);
        }
        initial_scalars(w, group, index);
        initial_vectors(w, index);
    }

    void initial_scalars(Wave& w, const Workgroup& group, uint32_t index) {
        int at = 0;
        const auto pair = [&](uint64_t v) {
            w.s[at++] = static_cast<uint32_t>(v);
            w.s[at++] = static_cast<uint32_t>(v >> 32);
        };
        const uint16_t p = kernel_.properties;
        if (p & kPrivateSegmentBuffer) {
            pair(0);
            w.s[at++] = kScratchDescriptorWord2;
            w.s[at++] = kScratchDescriptorWord3;
        }
        if (p & kDispatchPtr) pair(packet_address_);
        if (p & kQueuePtr) pair(packet_address_);
        if (p & kKernargPtr) pair(kernarg_address_);
        if (p & kDispatchId) pair(0);
        if (p & kFlatScratchInit) pair(0);
        if (p & kPrivateSegmentSize) w.s[at++] = scratch_bytes_;
        const int user = at;
        // System registers start at the user register count of the descriptor, which covers every padding
        // rule.
        at = static_cast<int>(kernel_.rsrc2 >> 1 & 0x1f);
        const int system = at;
        if (request_.target->generation == Generation::kGfx12) {
            w.s[kTtmp0 + 9] = group.id[0];
            w.s[kTtmp0 + 7] = (group.id[1] & 0xffffu) | group.id[2] << 16;
            w.s[kTtmp0 + 8] = index << 25;
        } else {
            for (int i = 0; i < 3; ++i)
                if (kernel_.rsrc2 >> (7 + i) & 1) w.s[at++] = group.id[i];
            if (kernel_.rsrc2 >> 10 & 1) w.s[at++] = index << 6 | waves_per_group_;
            if ((kernel_.rsrc2 & 1) && request_.target->generation == Generation::kGfx103) w.s[at++] = 0;
        }
        define_scalars(w, 0, user, system, at);
        const uint32_t left = threads_per_group_ - index * kLanes;
        w.s[kExecLo] = left >= kLanes ? ~0u : (1u << left) - 1;
        w.s[kExecHi] = 0;
    }

    /// What the dispatcher loads: the user registers [begin, end), the system registers, those that every
    /// wave has.
    void define_scalars(Wave& w, int begin, int end, int system, int system_end) const {
        if (!options_.undefined) return;
        for (int r = begin; r < end; ++r) define_scalar(w, r);
        for (int r = system; r < system_end; ++r) define_scalar(w, r);
        for (const int r : {kExecLo, kExecHi}) define_scalar(w, r);
        if (request_.target->generation == Generation::kGfx12)
            for (int r = kTtmp0 + 7; r <= kTtmp0 + 9; ++r) define_scalar(w, r);
        if (request_.target->generation != Generation::kGfx103)
            for (const int r : {kFlatScratchLo, kFlatScratchHi}) define_scalar(w, r);
    }

    void initial_vectors(Wave& w, uint32_t index) {
        const uint32_t bx = request_.block[0], by = request_.block[1];
        const bool packed = request_.target->generation != Generation::kGfx103;
        const unsigned ids = kernel_.rsrc2 >> 11 & 3;
        if (options_.undefined)
            for (unsigned r = 0; r <= (packed ? 0 : std::min(ids, 2u)); ++r)
                define_vector(w, static_cast<int>(r));
        for (uint32_t l = 0; l < kLanes; ++l) {
            const uint32_t flat = index * kLanes + l;
            const uint32_t x = flat % bx, y = flat / bx % by, z = flat / bx / by;
            if (packed) {
                w.v[0][l] = x | y << 10 | z << 20;
            } else {
                w.v[0][l] = x;
                if (ids >= 1) w.v[1][l] = y;
                if (ids >= 2) w.v[2][l] = z;
            }
        }
    }

    void run_wave(Wave& w, Worker& worker) {
        apply_float_mode(w);
        const CodeImage& image = *kernel_.image;
        const uint64_t begin = image.begin();
        uint64_t* counts = worker.counts.data();
        const bool track = worker.track_undefined;
        Races& races = w.group->races;
        const uint64_t until = std::min(w.executed + kQuantum, options_.instruction_limit);
        while (w.state == WaveState::kRunning && w.executed < until) {
            const uint64_t pc = w.next_pc;
            w.pc = pc;
            if (!image.contains(pc) || pc % 4) [[unlikely]]
                raise(FaultKind::kBadProgramCounter, -1, "next instruction at " + hex(pc));
            const Inst& inst = image.at(pc);
            w.next_pc = pc + inst.size;
            ++w.executed;
            ++counts[(pc - begin) >> 2];
            if (inst.access != MemoryAccess::kNone) {
                if (track) track_memory(w, inst);
                if (races.active()) races.record(w, inst);
                if (!worker.memory.empty()) count_memory(w, inst, worker.memory[(pc - begin) >> 2]);
            }
            if (stops_) [[unlikely]]
                stop_here(w, pc);
            if (w.split_modes) [[unlikely]]
                select_float_mode(w, inst);
            if (track && inst.access == MemoryAccess::kNone && w.undefined.touched(inst)) [[unlikely]]
                execute_undefined(w, inst);
            else
                inst.fn(w, inst);
            if (trace_) [[unlikely]]
                trace_->after(w, inst, kernel_.entry);
        }
        if (w.state == WaveState::kRunning && w.executed >= options_.instruction_limit)
            raise(FaultKind::kEndlessLoop, -1,
                  "one wave has executed " + std::to_string(w.executed) + " instructions");
    }

    /// Ends the launch before the instruction that GFXSIM_STOP names.
    void stop_here(const Wave& w, uint64_t pc) {
        if (pc - kernel_.entry != static_cast<uint64_t>(options_.stop_offset)) return;
        if (!options_.trace_group.empty() && options_.trace_group != group_text(*w.group)) return;
        if (++stop_hits_ < options_.stop_count) return;
        raise(FaultKind::kStopped, -1, dump_registers(w, kernel_.vgpr_count));
    }

    std::string describe(const Fault& f, const Wave& w) const {
        const CodeImage& image = *kernel_.image;
        std::string out = std::string("gfxsim: ") + fault_name(f.kind) + " in kernel " + kernel_.name +
                          " on " + request_.target->name + "\n  ";
        const uint64_t pc = f.inst ? f.inst->address : w.pc;
        if (image.contains(pc))
            out += "instruction: " + image.at(pc).text + "\n  at kernel entry + " + hex(pc - kernel_.entry) +
                   " (code offset " + hex(pc - image.begin()) + ")\n  ";
        const auto& id = w.group->id;
        out += "workgroup (" + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," +
               std::to_string(id[2]) + "), wave " +
               std::to_string(f.wave >= 0 ? static_cast<uint32_t>(f.wave) : w.id_in_group);
        if (f.lane >= 0) out += ", lane " + std::to_string(f.lane);
        return out + ", EXEC " + hex(w.exec()) + "\n  " + f.detail + "\n";
    }

    const LaunchRequest& request_;
    const Options& options_;
    const Kernel& kernel_;
    uint32_t threads_per_group_ = 0, waves_per_group_ = 0, lds_bytes_ = 0, scratch_bytes_ = 0;
    uint64_t groups_ = 0, kernarg_address_ = 0, packet_address_ = 0;
    std::atomic<uint64_t> next_group_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    int error_ = 0;
    std::string report_;
    std::unique_ptr<Trace> trace_;
    bool stops_ = false;
    uint64_t stop_hits_ = 0;
};

}  // namespace

std::vector<uint8_t> build_kernarg(const LaunchRequest& r) {
    std::vector<uint8_t> out(r.kernel->kernarg_size, 0);
    std::memcpy(out.data(), r.arguments.data(), std::min(out.size(), r.arguments.size()));
    const auto put = [&](const KernelArg& a, uint64_t value) {
        std::memcpy(out.data() + a.offset, &value, std::min<size_t>(a.size, 8));
    };
    for (const KernelArg& a : r.kernel->args) {
        if (!a.hidden()) continue;
        const std::string& kind = a.value_kind;
        // HIP launches whole workgroups only, so every remainder is 0; pointers to services stay null.
        uint64_t value = 0;
        const int axis = kind.back() >= 'x' && kind.back() <= 'z' ? kind.back() - 'x' : -1;
        if (axis >= 0 && kind.rfind("hidden_block_count_", 0) == 0)
            value = r.grid[axis];
        else if (axis >= 0 && kind.rfind("hidden_group_size_", 0) == 0)
            value = r.block[axis];
        else if (kind == "hidden_grid_dims")
            value = r.grid[2] * r.block[2] > 1 ? 3 : r.grid[1] * r.block[1] > 1 ? 2 : 1;
        else if (kind == "hidden_dynamic_lds_size")
            value = r.dynamic_lds;
        else if (kind == "hidden_shared_base")
            value = kSharedAperture >> 32;
        else if (kind == "hidden_private_base")
            value = kPrivateAperture >> 32;
        put(a, value);
    }
    return out;
}

LaunchResult run_launch(const LaunchRequest& request, const Options& options) {
    LaunchResult result;
    if (!options.execute) return result;
    if (request.kernel->group_segment_size + uint64_t{request.dynamic_lds} > kLdsLimit) {
        result.error = 701;
        result.report = "gfxsim: kernel " + request.kernel->name + " needs more than 64 KiB of LDS\n";
    } else {
        try {
            result = Dispatcher(request, options).run();
        } catch (const std::bad_alloc&) {
            result.error = 2;
            result.report = "gfxsim: no host memory to run kernel " + request.kernel->name + "\n";
        }
    }
    if (!result.report.empty()) {
        std::FILE* f = options.report_file.empty() ? stderr : std::fopen(options.report_file.c_str(), "a");
        if (f) {
            std::fputs(result.report.c_str(), f);
            if (f != stderr) std::fclose(f);
        }
    }
    return result;
}

}  // namespace ckitchen::gfxsim
