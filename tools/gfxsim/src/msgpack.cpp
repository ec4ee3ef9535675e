#include "msgpack.hpp"

#include <utility>

namespace ckitchen::gfxsim {
namespace {

constexpr int kMaxDepth = 32;

class Reader {
  public:
    Reader(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

    bool value(MsgValue& out, int depth) {
        if (depth > kMaxDepth || data_ == end_) return false;
        const uint8_t tag = *data_++;
        if (tag < 0x80) return set_int(out, tag);
        if (tag < 0x90) return map(out, tag & 0x0f, depth);
        if (tag < 0xa0) return array(out, tag & 0x0f, depth);
        if (tag < 0xc0) return string(out, tag & 0x1f);
        if (tag >= 0xe0) return set_int(out, static_cast<int8_t>(tag));
        uint64_t n = 0;
        switch (tag) {
            case 0xc0:
                return true;
            case 0xc2:
            case 0xc3:
                out.kind = MsgValue::Kind::kBool;
                out.integer = tag == 0xc3;
                return true;
            case 0xc4:
                return number(1, n) && skip(n);
            case 0xc5:
                return number(2, n) && skip(n);
            case 0xc6:
                return number(4, n) && skip(n);
            case 0xca:
                return skip(4);
            case 0xcb:
                return skip(8);
            case 0xcc:
                return number(1, n) && set_int(out, static_cast<int64_t>(n));
            case 0xcd:
                return number(2, n) && set_int(out, static_cast<int64_t>(n));
            case 0xce:
                return number(4, n) && set_int(out, static_cast<int64_t>(n));
            case 0xcf:
                return number(8, n) && set_int(out, static_cast<int64_t>(n));
            case 0xd0:
                return number(1, n) && set_int(out, static_cast<int8_t>(n));
            case 0xd1:
                return number(2, n) && set_int(out, static_cast<int16_t>(n));
            case 0xd2:
                return number(4, n) && set_int(out, static_cast<int32_t>(n));
            case 0xd3:
                return number(8, n) && set_int(out, static_cast<int64_t>(n));
            case 0xd9:
                return number(1, n) && string(out, n);
            case 0xda:
                return number(2, n) && string(out, n);
            case 0xdb:
                return number(4, n) && string(out, n);
            case 0xdc:
                return number(2, n) && array(out, n, depth);
            case 0xdd:
                return number(4, n) && array(out, n, depth);
            case 0xde:
                return number(2, n) && map(out, n, depth);
            case 0xdf:
                return number(4, n) && map(out, n, depth);
            default:
                return false;
        }
    }

  private:
    size_t left() const { return static_cast<size_t>(end_ - data_); }

    static bool set_int(MsgValue& out, int64_t v) {
        out.kind = MsgValue::Kind::kInt;
        out.integer = v;
        return true;
    }

    bool skip(uint64_t n) {
        if (n > left()) return false;
        data_ += n;
        return true;
    }

    bool number(size_t bytes, uint64_t& out) {
        if (bytes > left()) return false;
        out = 0;
        for (size_t i = 0; i < bytes; ++i) out = out << 8 | *data_++;
        return true;
    }

    bool string(MsgValue& out, uint64_t n) {
        if (n > left()) return false;
        out.kind = MsgValue::Kind::kString;
        out.text.assign(reinterpret_cast<const char*>(data_), n);
        data_ += n;
        return true;
    }

    bool array(MsgValue& out, uint64_t n, int depth) {
        if (n > left()) return false;  // every element takes at least one byte
        out.kind = MsgValue::Kind::kArray;
        out.items.resize(n);
        for (MsgValue& item : out.items)
            if (!value(item, depth + 1)) return false;
        return true;
    }

    bool map(MsgValue& out, uint64_t n, int depth) {
        if (n > left() / 2) return false;
        out.kind = MsgValue::Kind::kMap;
        out.items.reserve(n);
        out.keys.reserve(n);
        for (uint64_t i = 0; i < n; ++i) {
            MsgValue key, item;
            if (!value(key, depth + 1) || !value(item, depth + 1)) return false;
            if (key.kind != MsgValue::Kind::kString) continue;
            out.keys.push_back(std::move(key.text));
            out.items.push_back(std::move(item));
        }
        return true;
    }

    const uint8_t* data_;
    const uint8_t* end_;
};

}  // namespace

const MsgValue* MsgValue::find(std::string_view key) const {
    for (size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == key) return &items[i];
    return nullptr;
}

int64_t MsgValue::int_or(std::string_view key, int64_t otherwise) const {
    const MsgValue* v = find(key);
    return v && (v->kind == Kind::kInt || v->kind == Kind::kBool) ? v->integer : otherwise;
}

std::string MsgValue::text_or(std::string_view key, std::string_view otherwise) const {
    const MsgValue* v = find(key);
    return v && v->kind == Kind::kString ? v->text : std::string(otherwise);
}

bool parse_msgpack(const uint8_t* data, size_t size, MsgValue& out) {
    return Reader(data, size).value(out, 0);
}

}  // namespace ckitchen::gfxsim
