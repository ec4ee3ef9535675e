#include "op_table.hpp"

#include <cstdio>
#include <cstdlib>

namespace ckitchen::gfxsim {

const OpTable& OpTable::instance() {
    static const OpTable* table = new OpTable;
    return *table;
}

OpTable::OpTable() {
    register_salu(*this);
    register_control(*this);
    register_smem(*this);
    register_valu_int(*this);
    register_valu_float(*this);
    register_valu_half(*this);
    register_valu_convert(*this);
    register_compare(*this);
    register_packed(*this);
    register_cross_lane(*this);
    register_vmem(*this);
    register_lds(*this);
    register_wmma(*this);
}

const OpSpec* OpTable::find(std::string_view name) const {
    const auto it = ops_.find(std::string(name));
    return it == ops_.end() ? nullptr : &it->second;
}

OpSpec& OpTable::add(std::string name, Handler fn, InstClass cls, Form form, std::vector<Type> dst,
                     std::vector<Type> src, uint32_t flags) {
    OpSpec& s = ops_[name];
    s.name = std::move(name);
    s.fn = fn;
    s.cls = cls;
    s.form = form;
    s.dst = std::move(dst);
    s.src = std::move(src);
    s.flags = flags;
    return s;
}

void OpTable::alias(std::string name, std::string_view existing) {
    const auto it = ops_.find(std::string(existing));
    if (it == ops_.end()) return;
    OpSpec copy = it->second;
    copy.name = name;
    ops_[std::move(name)] = std::move(copy);
}

const char* class_name(InstClass c) {
    static constexpr const char* kNames[] = {
        "salu",        "smem",       "branch",  "wait", "barrier",    "message",   "valu",
        "trans",       "dot",        "wmma",    "vopd", "cross_lane", "vmem_load", "vmem_store",
        "vmem_atomic", "vmem_other", "scratch", "lds",  "unknown"};
    static_assert(sizeof kNames / sizeof *kNames == static_cast<size_t>(InstClass::kCount));
    return kNames[static_cast<size_t>(c)];
}

}  // namespace ckitchen::gfxsim
