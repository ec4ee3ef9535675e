#include "code_object.hpp"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "code_image.hpp"
#include "memory.hpp"
#include "msgpack.hpp"

namespace ckitchen::gfxsim {
namespace {

constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint8_t kOsAbiHsa = 64;
constexpr uint32_t kNoteAmdgpuMetadata = 32;
constexpr uint64_t kMaxImage = 1ull << 30;
constexpr uint64_t kDescriptorSize = 64;
constexpr uint32_t kGenericVersion = 1;
constexpr uint32_t kMaxScratch = 1 << 20;

enum AmdgpuReloc : uint32_t {
    kRelocNone = 0,
    kRelocAbs32Lo = 1,
    kRelocAbs32Hi = 2,
    kRelocAbs64 = 3,
    kRelocRel32 = 4,
    kRelocRel64 = 5,
    kRelocAbs32 = 6,
    kRelocRel32Lo = 10,
    kRelocRel32Hi = 11,
    kRelocRelative64 = 13,
};

}  // namespace

class ElfLoader {
  public:
    ElfLoader(const void* image, const Target& target, int device)
        : image_(static_cast<const uint8_t*>(image)), target_(target), device_(device) {}

    LoadStatus run(int version_limit, std::unique_ptr<CodeObject>& out, std::string& error) {
        object_.reset(new CodeObject);
        object_->target_ = &target_;
        const LoadStatus status = load(version_limit);
        error = error_;
        if (status == LoadStatus::kOk) out = std::move(object_);
        return status;
    }

  private:
    struct Symbol {
        std::string name;
        uint64_t value = 0, size = 0;
        unsigned type = 0;
        bool defined = false;
    };

    LoadStatus fail(LoadStatus status, std::string text) {
        error_ = std::move(text);
        return status;
    }
    LoadStatus malformed(std::string text) { return fail(LoadStatus::kMalformed, std::move(text)); }

    template <class T>
    bool read(uint64_t offset, T& out) const {
        if (offset > size_ || size_ - offset < sizeof(T)) return false;
        std::memcpy(&out, file_ + offset, sizeof(T));
        return true;
    }
    template <class T>
    bool read_loaded(uint64_t address, T& out) const {
        if (address > span_ || span_ - address < sizeof(T)) return false;
        std::memcpy(&out, object_->memory_ + address, sizeof(T));
        return true;
    }
    template <class T>
    bool write_loaded(uint64_t address, T value) {
        if (address > span_ || span_ - address < sizeof(T)) return false;
        std::memcpy(object_->memory_ + address, &value, sizeof(T));
        return true;
    }

    /// Copies `size` bytes of the client's image; false when they are not all readable. The client gives no
    /// size, so a file cut short may end at the edge of a mapping.
    bool copy_image(uint64_t size) {
        // In steps, so that a wild size costs no more memory than there is to read.
        constexpr uint64_t kStep = 1 << 20;
        copy_.clear();
        while (copy_.size() < size) {
            const uint64_t done = copy_.size(), step = std::min(kStep, size - done);
            copy_.resize(done + step);
            iovec to{copy_.data() + done, step}, from{const_cast<uint8_t*>(image_) + done, step};
            const ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
            // Sandboxes may forbid the call; then the image is taken at its word.
            if (n < 0 && (errno == EPERM || errno == ENOSYS))
                std::memcpy(copy_.data() + done, image_ + done, step);
            else if (n != static_cast<ssize_t>(step))
                return false;
        }
        file_ = copy_.data();
        return true;
    }

    LoadStatus load(int version_limit) {
        if (!copy_image(sizeof header_)) return fail(LoadStatus::kNotAnObject, "the image is not readable");
        std::memcpy(&header_, file_, sizeof header_);
        if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
            return fail(LoadStatus::kNotAnObject, "the image is not an ELF file");
        if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
            header_.e_machine != kMachineAmdgpu || header_.e_ident[EI_OSABI] != kOsAbiHsa)
            return fail(LoadStatus::kNotAnObject, "the ELF file is not an AMDGPU HSA code object");
        if (header_.e_type != ET_DYN) return malformed("the ELF file is not a linked (ET_DYN) code object");
        const int version = header_.e_ident[EI_ABIVERSION] + 2;
        object_->version_ = version;
        if (version < 4) return malformed("code object version " + std::to_string(version) + " is too old");
        if (version > version_limit)
            return fail(LoadStatus::kVersionTooNew, "code object version " + std::to_string(version) +
                                                        ", this runtime accepts up to " +
                                                        std::to_string(version_limit));
        const uint32_t mach = header_.e_flags & 0xff;
        const bool generic = mach == generic_mach(target_.generation);
        if (generic && (version < 6 || header_.e_flags >> 24 < kGenericVersion))
            return fail(LoadStatus::kWrongTarget,
                        std::string(mach_name(mach)) +
                            " objects need code object version 6 and generic version " +
                            std::to_string(kGenericVersion));
        if (mach != target_.mach && !generic)
            return fail(LoadStatus::kWrongTarget, std::string("the object is for ") + mach_name(mach) +
                                                      ", the device is " + target_.name);
        // Like the real runtime: no size is passed in, the section header table is the end of the file.
        if (header_.e_shoff == 0 || header_.e_shnum == 0 || header_.e_shentsize != sizeof(Elf64_Shdr))
            return malformed("the ELF file has no section header table");
        if (header_.e_shoff > kMaxImage) return malformed("the section header table lies beyond 1 GiB");
        size_ = header_.e_shoff + uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr);
        if (!copy_image(size_)) return malformed("the file ends before its section header table");
        if (LoadStatus s = place_segments(); s != LoadStatus::kOk) return s;
        if (LoadStatus s = read_symbols(); s != LoadStatus::kOk) return s;
        if (LoadStatus s = relocate(); s != LoadStatus::kOk) return s;
        return read_metadata();
    }

    LoadStatus place_segments() {
        if (header_.e_phentsize != sizeof(Elf64_Phdr)) return malformed("wrong program header size");
        uint64_t code_begin = ~0ull, code_end = 0;
        std::vector<Elf64_Phdr> loads;
        for (unsigned i = 0; i < header_.e_phnum; ++i) {
            Elf64_Phdr p;
            if (!read(header_.e_phoff + i * sizeof p, p)) return malformed("truncated program header table");
            if (p.p_type == PT_NOTE) notes_.push_back(p);
            if (p.p_type != PT_LOAD) continue;
            if (p.p_filesz > p.p_memsz || p.p_offset > size_ || p.p_filesz > size_ - p.p_offset ||
                p.p_vaddr > kMaxImage || p.p_memsz > kMaxImage)
                return malformed("segment " + std::to_string(i) + " exceeds the file");
            span_ = std::max(span_, p.p_vaddr + p.p_memsz);
            if (p.p_flags & PF_X) {
                code_begin = std::min(code_begin, p.p_vaddr);
                code_end = std::max(code_end, p.p_vaddr + p.p_filesz);
            }
            loads.push_back(p);
        }
        if (code_begin >= code_end) return malformed("no executable segment");
        object_->memory_ = static_cast<uint8_t*>(
            MemoryMap::instance().allocate(span_, MemoryKind::kCode, device_, 0, ~0ull));
        if (!object_->memory_) return fail(LoadStatus::kOutOfMemory, "no host memory for the code object");
        for (const Elf64_Phdr& p : loads)
            std::memcpy(object_->memory_ + p.p_vaddr, file_ + p.p_offset, p.p_filesz);
        const uint64_t base = reinterpret_cast<uint64_t>(object_->memory_);
        object_->image_ = std::make_unique<CodeImage>(target_, base + code_begin, base + code_end);
        return LoadStatus::kOk;
    }

    bool section(unsigned index, Elf64_Shdr& out) const {
        return index < header_.e_shnum && read(header_.e_shoff + index * sizeof out, out);
    }

    LoadStatus read_symbols() {
        for (unsigned i = 0; i < header_.e_shnum; ++i) {
            Elf64_Shdr s, names;
            if (!section(i, s)) return malformed("truncated section header table");
            if (s.sh_type != SHT_DYNSYM) continue;
            if (!section(s.sh_link, names)) return malformed("dynamic symbols without a string table");
            for (uint64_t k = 0; k < s.sh_size / sizeof(Elf64_Sym); ++k) {
                Elf64_Sym sym;
                if (!read(s.sh_offset + k * sizeof sym, sym)) return malformed("truncated symbol table");
                Symbol entry;
                entry.value = sym.st_value;
                entry.size = sym.st_size;
                entry.type = ELF64_ST_TYPE(sym.st_info);
                entry.defined = sym.st_shndx != SHN_UNDEF;
                if (!string(names, sym.st_name, entry.name)) return malformed("truncated string table");
                symbols_.push_back(std::move(entry));
            }
        }
        const uint64_t base = reinterpret_cast<uint64_t>(object_->memory_);
        for (const Symbol& s : symbols_) {
            if (!s.defined || s.type != STT_OBJECT) continue;
            if (s.name.size() > 3 && s.name.ends_with(".kd")) {
                if (LoadStatus status = read_descriptor(s); status != LoadStatus::kOk) return status;
            } else if (s.value <= span_ && s.size <= span_ - s.value) {
                object_->globals_[s.name] = Global{base + s.value, s.size};
            }
        }
        return LoadStatus::kOk;
    }

    bool string(const Elf64_Shdr& table, uint64_t offset, std::string& out) const {
        if (table.sh_offset > size_ || table.sh_size > size_ - table.sh_offset || offset >= table.sh_size)
            return false;
        const char* begin = reinterpret_cast<const char*>(file_ + table.sh_offset + offset);
        const size_t limit = table.sh_size - offset;
        const size_t length = strnlen(begin, limit);
        if (length == limit) return false;
        out.assign(begin, length);
        return true;
    }

    LoadStatus read_descriptor(const Symbol& s) {
        if (s.value > span_ || span_ - s.value < kDescriptorSize)
            return malformed("kernel descriptor " + s.name + " lies outside the segments");
        Kernel k;
        k.name = s.name.substr(0, s.name.size() - 3);
        int64_t entry_offset = 0;
        read_loaded(s.value, k.group_segment_size);
        read_loaded(s.value + 4, k.private_segment_size);
        read_loaded(s.value + 8, k.kernarg_size);
        read_loaded(s.value + 16, entry_offset);
        read_loaded(s.value + 44, k.rsrc3);
        read_loaded(s.value + 48, k.rsrc1);
        read_loaded(s.value + 52, k.rsrc2);
        read_loaded(s.value + 56, k.properties);
        if (k.private_segment_size > kMaxScratch)
            return malformed("kernel " + k.name + " asks for " + std::to_string(k.private_segment_size) +
                             " bytes of scratch a lane");
        const uint64_t base = reinterpret_cast<uint64_t>(object_->memory_);
        k.descriptor_address = base + s.value;
        k.entry = k.descriptor_address + static_cast<uint64_t>(entry_offset);
        k.image = object_->image_.get();
        k.vgpr_count = ((k.rsrc1 & 0x3f) + 1) * 8;
        if (!object_->image_->contains(k.entry) || k.entry % 4 != 0)
            return malformed("kernel " + k.name + " has its entry outside the code");
        object_->kernels_[k.name] = std::move(k);
        return LoadStatus::kOk;
    }

    LoadStatus relocate() {
        const uint64_t base = reinterpret_cast<uint64_t>(object_->memory_);
        for (unsigned i = 0; i < header_.e_shnum; ++i) {
            Elf64_Shdr s;
            section(i, s);
            if (s.sh_type != SHT_RELA || !(s.sh_flags & SHF_ALLOC)) continue;
            for (uint64_t k = 0; k < s.sh_size / sizeof(Elf64_Rela); ++k) {
                Elf64_Rela r;
                if (!read(s.sh_offset + k * sizeof r, r)) return malformed("truncated relocation table");
                uint64_t symbol = 0;
                if (const uint64_t index = ELF64_R_SYM(r.r_info); index != 0) {
                    if (index >= symbols_.size()) return malformed("relocation names no symbol");
                    if (!symbols_[index].defined)
                        return malformed("undefined symbol " + symbols_[index].name);
                    symbol = base + symbols_[index].value;
                }
                const uint64_t value = symbol + static_cast<uint64_t>(r.r_addend);
                const uint64_t place = base + r.r_offset;
                bool ok = true;
                switch (ELF64_R_TYPE(r.r_info)) {
                    case kRelocNone:
                        break;
                    case kRelocAbs32Lo:
                    case kRelocAbs32:
                        ok = write_loaded(r.r_offset, static_cast<uint32_t>(value));
                        break;
                    case kRelocAbs32Hi:
                        ok = write_loaded(r.r_offset, static_cast<uint32_t>(value >> 32));
                        break;
                    case kRelocAbs64:
                        ok = write_loaded(r.r_offset, value);
                        break;
                    case kRelocRel32:
                    case kRelocRel32Lo:
                        ok = write_loaded(r.r_offset, static_cast<uint32_t>(value - place));
                        break;
                    case kRelocRel32Hi:
                        ok = write_loaded(r.r_offset, static_cast<uint32_t>((value - place) >> 32));
                        break;
                    case kRelocRel64:
                        ok = write_loaded(r.r_offset, value - place);
                        break;
                    case kRelocRelative64:
                        ok = write_loaded(r.r_offset, base + static_cast<uint64_t>(r.r_addend));
                        break;
                    default:
                        return malformed("relocation type " + std::to_string(ELF64_R_TYPE(r.r_info)) +
                                         " is not known");
                }
                if (!ok) return malformed("relocation outside the segments");
            }
        }
        return LoadStatus::kOk;
    }

    LoadStatus read_metadata() {
        for (const Elf64_Phdr& p : notes_) {
            uint64_t at = p.p_offset;
            const uint64_t end = p.p_offset + p.p_filesz;
            if (p.p_offset > size_ || p.p_filesz > size_ - p.p_offset) return malformed("truncated note");
            while (at + sizeof(Elf64_Nhdr) <= end) {
                Elf64_Nhdr n;
                if (!read(at, n)) return malformed("truncated note");
                const uint64_t name = at + sizeof n;
                const uint64_t desc = name + (uint64_t{n.n_namesz} + 3) / 4 * 4;
                at = desc + (uint64_t{n.n_descsz} + 3) / 4 * 4;
                if (desc + n.n_descsz > end) return malformed("truncated note");
                if (n.n_type != kNoteAmdgpuMetadata || n.n_namesz != 7 ||
                    std::memcmp(file_ + name, "AMDGPU", 7) != 0)
                    continue;
                MsgValue root;
                if (!parse_msgpack(file_ + desc, n.n_descsz, root)) return malformed("malformed metadata");
                return apply_metadata(root);
            }
        }
        return malformed("no AMDGPU metadata note");
    }

    LoadStatus apply_metadata(const MsgValue& root) {
        const MsgValue* kernels = root.find("amdhsa.kernels");
        if (!kernels) return malformed("the metadata lists no kernels");
        for (const MsgValue& m : kernels->items) {
            const auto it = object_->kernels_.find(m.text_or(".name", ""));
            if (it == object_->kernels_.end())
                return malformed("metadata names kernel '" + m.text_or(".name", "") +
                                 "' without a descriptor");
            Kernel& k = it->second;
            k.kernarg_size = static_cast<uint32_t>(m.int_or(".kernarg_segment_size", k.kernarg_size));
            if (k.kernarg_size > (1u << 20)) return malformed("kernarg segment above 1 MiB");
            k.max_workgroup_size = static_cast<uint32_t>(m.int_or(".max_flat_workgroup_size", 1024));
            k.vgpr_count = static_cast<uint32_t>(m.int_or(".vgpr_count", k.vgpr_count));
            k.sgpr_count = static_cast<uint32_t>(m.int_or(".sgpr_count", 0));
            k.vgpr_spills = static_cast<uint32_t>(m.int_or(".vgpr_spill_count", 0));
            k.sgpr_spills = static_cast<uint32_t>(m.int_or(".sgpr_spill_count", 0));
            const MsgValue* args = m.find(".args");
            if (!args) continue;
            for (const MsgValue& a : args->items) {
                KernelArg arg;
                const int64_t offset = a.int_or(".offset", -1), size = a.int_or(".size", -1);
                if (offset < 0 || size < 0 || offset + size > k.kernarg_size)
                    return malformed("kernel " + k.name + " has an argument outside its kernarg segment");
                arg.offset = static_cast<uint32_t>(offset);
                arg.size = static_cast<uint32_t>(size);
                arg.value_kind = a.text_or(".value_kind", "");
                if (!arg.hidden())
                    k.explicit_args_size = std::max(k.explicit_args_size, arg.offset + arg.size);
                k.args.push_back(std::move(arg));
            }
        }
        return LoadStatus::kOk;
    }

    const uint8_t* image_;
    const uint8_t* file_ = nullptr;
    std::vector<uint8_t> copy_;
    const Target& target_;
    int device_;
    uint64_t size_ = sizeof(Elf64_Ehdr);
    uint64_t span_ = 0;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> notes_;
    std::vector<Symbol> symbols_;
    std::unique_ptr<CodeObject> object_;
    std::string error_;
};

std::unique_ptr<CodeObject> CodeObject::load(const void* image, const Target& target, int device,
                                             int version_limit, LoadStatus& status, std::string& error) {
    std::unique_ptr<CodeObject> out;
    status = ElfLoader(image, target, device).run(version_limit, out, error);
    return out;
}

CodeObject::~CodeObject() {
    image_.reset();
    if (memory_) MemoryMap::instance().release(memory_, MemoryKind::kCode);
}

const Kernel* CodeObject::find_kernel(std::string_view name) const {
    const auto it = kernels_.find(name);
    return it == kernels_.end() ? nullptr : &it->second;
}

const Global* CodeObject::find_global(std::string_view name) const {
    const auto it = globals_.find(name);
    return it == globals_.end() ? nullptr : &it->second;
}

}  // namespace ckitchen::gfxsim
