#!/usr/bin/env python3
"""Writes from include/ckitchen.h what would otherwise be a second list of its declarations: the declarations for Rust, Go and
Python, and Debian's list of symbols. Run it after every change to the header or to the symbol map.

    packaging/generate.py           writes the files
    packaging/generate.py --check   says which files differ, changes nothing; exit status 1 when any does
"""

import collections
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOTICE = "Written by packaging/generate.py from include/ckitchen.h; changes made here are lost."

# Files with a line that tells the version, which is the header's.
VERSIONED = ("packaging/rust/ckitchen-sys/Cargo.toml", "packaging/rust/ckitchen/Cargo.toml", "packaging/python/pyproject.toml",
             "packaging/rpm/ckitchen.spec", "packaging/rust/Cargo.lock", "tests/ffi/rust/Cargo.lock")
VERSION_LINE = r'^((?:name = "ckitchen(?:-sys)?"\n)version = "|Version: +)[\d.]+'

Constant = collections.namedtuple("Constant", "name value type doc")  # type: the name of a typedef, or uint32_t, int32_t
Field = collections.namedtuple("Field", "name type pointer const length doc")  # length: of an array, None when it is none
Struct = collections.namedtuple("Struct", "name fields doc")
Parameter = collections.namedtuple("Parameter", "name type pointer const")  # pointer: the number of stars
Function = collections.namedtuple("Function", "name result parameters doc")
Model = collections.namedtuple("Model", "aliases constants structs functions operators version")

SIZES = {"uint32_t": 4, "int32_t": 4, "int64_t": 8, "uint64_t": 8, "float": 4, "double": 8, "char": 1}


class HeaderError(Exception):
    """The header has something that this script does not understand."""


def words(comment):
    """A comment's text without its stars; without its indentation when it has none."""
    starred = re.search(r"\n\s*\* ", comment)
    lines = [(re.sub(r"^\s*\* ?", "", line) if starred else line.strip()).rstrip() for line in comment[2:-2].strip().splitlines()]
    return "\n".join(lines).strip()


def tokens(text):
    """(kind, text) of comments, preprocessor lines and declarations, in order. A declaration ends at a ; outside braces."""
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text.startswith("/*", position):
            end = text.index("*/", position) + 2
            yield "comment", text[position:end]
            position = end
        elif text[position] == "#":
            end = position
            while True:
                end = text.index("\n", end) + 1
                if not text[:end].endswith("\\\n"):
                    break
            yield "line", text[position:end]
            position = end
        else:
            start, depth = position, 0
            while depth > 0 or text[position] != ";":
                if text.startswith("/*", position):
                    position = text.index("*/", position) + 2
                    continue
                depth += {"{": 1, "}": -1}.get(text[position], 0)
                position += 1
            position += 1
            yield "declaration", text[start:position]


def with_comments(body, separator):
    """(item, its comment) of a body's items: a comment on a line of its own is the next item's, any other the last one's."""
    comments = list(re.finditer(r"/\*.*?\*/", body, flags=re.S))
    bare = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), body, flags=re.S)
    starts, items, position = [], [], 0
    for part in bare.split(separator):
        if part.strip():
            starts.append(position + len(part) - len(part.lstrip()))
            items.append([part.strip(), ""])
        position += len(part) + 1
    for comment in comments:
        alone = not body[body.rfind("\n", 0, comment.start()) + 1:comment.start()].strip()
        index = sum(start < comment.start() for start in starts) - (0 if alone else 1)
        if index < len(items):
            items[index][1] = words(comment[0])
    return items


def parse_parameter(text):
    match = re.fullmatch(r"(const )?(\w+)\s*(\**)\s*(\w+)", text.strip())
    if not match:
        raise HeaderError(f"cannot read the parameter '{text}'")
    return Parameter(match[4], match[2], len(match[3]), bool(match[1]))


def parse(text):
    text = text[text.index("#include <stdint.h>"):].replace('#ifdef __cplusplus\nextern "C" {\n#endif\n', "")
    aliases, constants, structs, functions = [], [], [], []
    macros = dict(re.findall(r"^#define (CK_VERSION_(?:MAJOR|MINOR|PATCH)) (\d+)$", text, flags=re.M))
    number = (int(macros["CK_VERSION_MAJOR"]) * 1000 + int(macros["CK_VERSION_MINOR"])) * 1000 + int(macros["CK_VERSION_PATCH"])
    constants.append(Constant("CK_VERSION", number, "uint32_t", "ck_version() of the library that these declarations are of."))
    doc, alias = "", None
    known = set(SIZES) | {"void"}
    for kind, piece in tokens(text[:text.index("#ifdef __cplusplus\n} /* extern")]):
        if kind == "comment":
            # The rulers and titles of sections describe nothing.
            doc = words(piece) if not re.match(r"/\* (-----|\d+  )", piece) else ""
            continue
        if kind == "line":
            continue
        flat = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", piece, flags=re.S))
        if match := re.fullmatch(r"typedef (int32_t) (\w+);", flat):
            alias = match[2]
            aliases.append((alias, doc))
            known.add(alias)
        elif flat.startswith("enum {"):
            body = piece[piece.index("{") + 1:piece.rindex("}")]
            for item, comment in with_comments(body, ","):
                match = re.fullmatch(r"(CK_\w+) = (?:(\d+)|1u << (\d+))", re.sub(r"\s+", " ", item))
                if not match:
                    raise HeaderError(f"cannot read the constant '{item}'")
                value = int(match[2]) if match[2] is not None else 1 << int(match[3])
                constants.append(Constant(match[1], value, alias or ("uint32_t" if match[3] else "int32_t"), comment))
            alias = None
        elif match := re.match(r"typedef struct (\w+) {", flat):
            fields = []
            for item, comment in with_comments(piece[piece.index("{") + 1:piece.rindex("}")], ";"):
                declaration = re.fullmatch(r"(const )?(\w+)(\*?) (.*)", re.sub(r"\s+", " ", item))
                if not declaration or declaration[2] not in known:
                    raise HeaderError(f"cannot read the field '{item}' of {match[1]}")
                for declarator in declaration[4].split(", "):
                    name, _, length = declarator.partition("[")
                    fields.append(Field(name, declaration[2], len(declaration[3]), bool(declaration[1]),
                                        int(length[:-1]) if length else None, comment))
            structs.append(Struct(match[1], fields, doc))
            known.add(match[1])
        elif match := re.fullmatch(r"CK_API (const )?(\w+)(\*?) (ck_\w+)\((.*)\);", flat):
            parameters = [] if match[5] == "void" else [parse_parameter(p) for p in match[5].split(",")]
            functions.append(Function(match[4], Parameter("", match[2], len(match[3]), bool(match[1])), parameters, doc))
        elif flat not in ("typedef struct ck_context ck_context;",
                          "typedef void (*ck_log_callback)(void* user, int32_t level, const char* message);"):
            raise HeaderError(f"cannot read '{flat}'")
        doc = ""
    names = {function.name for function in functions}
    operators = [name for name in sorted(names) if {name + "_supported", name + "_workspace_size"} <= names]
    for operator in operators:
        if operator + "_args" not in known or not any(c.name == operator_constant(operator) for c in constants):
            raise HeaderError(f"{operator} has no args struct or no number")
    order = [function.name for function in functions]
    return Model(aliases, constants, structs, functions, sorted(operators, key=order.index), macros)


def operator_constant(operator):
    return "CK_OP_" + operator[len("ck_"):].upper()


def field_bytes(model, field):
    size = 8 if field.pointer else 4 if field.type in dict(model.aliases) else SIZES[field.type]
    return size, size * (field.length or 1)


def struct_size(model, struct):
    """As C lays it out on 64-bit targets; the header's structs have no padding at their end."""
    offset = 0
    for field in struct.fields:
        alignment, size = field_bytes(model, field)
        offset = -(-offset // alignment) * alignment + size
    return offset


def comment_lines(doc, prefix, indent=""):
    return [f"{indent}{prefix} {line}".rstrip() for line in doc.splitlines()]


# --- Rust -------------------------------------------------------------------------------------------------------------------------

RUST_TYPES = {"uint32_t": "u32", "int32_t": "i32", "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64",
              "char": "c_char", "void": "c_void"}


def rust_type(model, item, length=None):
    text = RUST_TYPES.get(item.type, item.type)
    for _ in range(item.pointer):
        # const belongs to what is pointed at, which is the innermost type.
        text = ("*const " if item.const and not text.startswith("*") else "*mut ") + text
    return f"[{text}; {length}]" if length else text


def rust_doc(doc, indent=""):
    if not doc:
        return []
    # What is laid out by spaces stays as it is; rustdoc would compile indented text as an example.
    if re.search(r"\S   ?\S|\n ", doc):
        return [f"{indent}/// ```text", *comment_lines(doc, "///", indent), f"{indent}/// ```"]
    return comment_lines(re.sub(r"([\[\]<>*|])", r"\\\1", doc), "///", indent)


def rust(model):
    out = [f"// {NOTICE}", "", "use std::os::raw::{c_char, c_void};", ""]
    for name, doc in model.aliases:
        out += [*rust_doc(doc), f"pub type {name} = i32;"]
    out += ["", "/// Receives log lines; see `ck_set_log_callback`.",
            "pub type ck_log_callback = Option<unsafe extern \"C\" fn(user: *mut c_void, level: i32, message: *const c_char)>;", "",
            "/// One device of one backend. Opaque.", "#[repr(C)]", "pub struct ck_context {", "    _private: [u8; 0],", "}", ""]
    for constant in model.constants:
        kind = RUST_TYPES.get(constant.type, constant.type)
        out += [*rust_doc(constant.doc), f"pub const {constant.name}: {kind} = {constant.value};"]
    for struct in model.structs:
        out += ["", *rust_doc(struct.doc), "#[repr(C)]", "#[derive(Clone, Copy, Debug)]", f"pub struct {struct.name} {{"]
        for field in struct.fields:
            out += [*rust_doc(field.doc, "    "), f"    pub {field.name}: {rust_type(model, field, field.length)},"]
        out += ["}", "", f"const _: () = assert!(core::mem::size_of::<{struct.name}>() == {struct_size(model, struct)});", "",
                f"impl Default for {struct.name} {{", "    /// All zero but `struct_size`, like CK_INIT.",
                "    fn default() -> Self {", "        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.",
                "        let mut value: Self = unsafe { core::mem::zeroed() };",
                "        value.struct_size = core::mem::size_of::<Self>() as u32;", "        value", "    }", "}"]
    out += ["", "extern \"C\" {"]
    for function in model.functions:
        parameters = ", ".join(f"{p.name}: {rust_type(model, p)}" for p in function.parameters)
        returned = "" if function.result == Parameter("", "void", 0, False) else f" -> {rust_type(model, function.result)}"
        out += [*rust_doc(function.doc, "    "), f"    pub fn {function.name}({parameters}){returned};"]
    out += ["}", "", "/// An operator, told by the type of its args.", "pub trait Operator: Copy {", "    /// `CK_OP_`.",
            "    const OP: ck_op;", "    /// The operator itself.",
            "    const CALL: unsafe extern \"C\" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status;",
            "    /// `<op>_supported`.",
            "    const SUPPORTED: unsafe extern \"C\" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status;",
            "    /// `<op>_workspace_size`.",
            "    const WORKSPACE_SIZE: unsafe extern \"C\" fn(*mut ck_context, *const Self, *mut u64) -> ck_status;", "}"]
    for operator in model.operators:
        args = operator + "_args"
        out += ["", f"impl Operator for {args} {{", f"    const OP: ck_op = {operator_constant(operator)};",
                f"    const CALL: unsafe extern \"C\" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = {operator};",
                "    const SUPPORTED: unsafe extern \"C\" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =",
                f"        {operator}_supported;",
                "    const WORKSPACE_SIZE: unsafe extern \"C\" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =",
                f"        {operator}_workspace_size;", "}"]
    return out


# --- Go ---------------------------------------------------------------------------------------------------------------------------

GO_TYPES = {"uint32_t": "uint32", "int32_t": "int32", "int64_t": "int64", "uint64_t": "uint64", "float": "float32",
            "double": "float64", "char": "byte"}
INITIALISMS = {"ok", "cpu", "hip", "cuda", "bf16"}


def go_name(c_name):
    return "".join(w.upper() if w in INITIALISMS else w.capitalize() for w in re.sub(r"^ck_", "", c_name.lower()).split("_") if w)


def go_field_name(field):
    if field.name == "struct_size":
        return "structSize"
    return "_" if field.name.startswith("reserved") else go_name(field.name)


def go_type(model, field):
    if field.pointer:
        return "unsafe.Pointer"
    text = GO_TYPES.get(field.type) or go_name(field.type)
    return f"[{field.length}]{text}" if field.length else text


def go_doc(doc, indent=""):
    """gofmt's form: a paragraph that is laid out by spaces stands behind a tab as it is."""
    out = []
    for paragraph in doc.split("\n\n") if doc else []:
        laid_out = re.search(r"^ ", paragraph, flags=re.M)
        text = textwrap.dedent(paragraph) if laid_out else paragraph
        out += ([f"{indent}//"] if out else []) + [f"{indent}//\t{line}" if laid_out else f"{indent}// {line}" for line in text.splitlines()]
    return out


def aligned(rows, indent="\t"):
    """gofmt's columns: rows of (cells, comment lines before it); a comment ends a block."""
    out, block = [], []

    def flush():
        widths = [max(len(cells[i]) for cells in block if i < len(cells)) for i in range(max(map(len, block)))] if block else []
        for cells in block:
            out.append(indent + " ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())
        block.clear()

    for cells, comment in rows:
        if comment:
            flush()
            out.extend(comment)
        block.append(cells)
    flush()
    return out


def go(model):
    out = ["// Code generated by packaging/generate.py from include/ckitchen.h; DO NOT EDIT.", "", "package ckitchen", "",
           "// #include <ckitchen.h>", "import \"C\"", "", "import \"unsafe\""]
    for name, doc in model.aliases:
        out += ["", *go_doc(f"{go_name(name)} is {name}." + (f"\n\n{doc}" if doc else "")), f"type {go_name(name)} int32"]
    rows = []
    for constant in model.constants:
        kind = GO_TYPES.get(constant.type) or go_name(constant.type)
        rows.append(((go_name(constant.name), kind, f"= C.{constant.name}"), go_doc(constant.doc, "\t")))
    out += ["", "// The header's constants.", "const (", *aligned(rows), ")"]
    for struct in model.structs:
        if struct.name in ("ck_context_options", "ck_problem"):
            continue  # point to memory that C must own: ckitchen.go has forms of its own
        name = go_name(struct.name)
        note = " Its pointers are memory of the context's device." if any(f.pointer for f in struct.fields) else ""
        out += ["", *go_doc(f"{name} is {struct.name}.{note}\n\n{struct.doc}".strip()),
                f"type {name} struct {{"]
        out += aligned([((go_field_name(f), go_type(model, f)), go_doc(f.doc, "\t")) for f in struct.fields])
        out += ["}", "", "// Does not compile where Go and C lay it out differently.",
                f"var _ [unsafe.Sizeof({name}{{}})]byte = [C.sizeof_{struct.name}]byte{{}}"]
    for operator in model.operators:
        name, args = go_name(operator), go_name(operator) + "Args"
        pointer = f"(*C.{operator}_args)(unsafe.Pointer(args))"
        stamp = "\targs.structSize = uint32(unsafe.Sizeof(*args))"
        out += ["", f"// {name} runs {operator}.", f"func (c *Context) {name}(args *{args}, stream unsafe.Pointer) error {{", stamp,
                "\treturn c.call(func(context *C.ck_context) C.ck_status {", f"\t\treturn C.{operator}(context, {pointer}, stream)", "\t})", "}",
                "", f"// {name}Supported tells whether and by which variant {name} would run; only a question that cannot be answered is an error.",
                f"func (c *Context) {name}Supported(args *{args}) (SupportInfo, error) {{", stamp, "\tvar info SupportInfo",
                "\tinfo.structSize = uint32(unsafe.Sizeof(info))", "\terr := c.call(func(context *C.ck_context) C.ck_status {",
                f"\t\treturn C.{operator}_supported(context, {pointer}, (*C.ck_support_info)(unsafe.Pointer(&info)))", "\t})",
                "\treturn info, err", "}", "", f"// {name}WorkspaceSize is the number of workspace bytes that {name} needs.",
                f"func (c *Context) {name}WorkspaceSize(args *{args}) (uint64, error) {{", stamp, "\tvar bytes C.uint64_t",
                "\terr := c.call(func(context *C.ck_context) C.ck_status {",
                f"\t\treturn C.{operator}_workspace_size(context, {pointer}, &bytes)", "\t})", "\treturn uint64(bytes), err", "}"]
        out += ["", f"func (args *{args}) problem() (Op, unsafe.Pointer, uintptr) {{", stamp,
                f"\treturn {go_name(operator_constant(operator))}, unsafe.Pointer(args), unsafe.Sizeof(*args)", "}"]
    return out


# --- Python -----------------------------------------------------------------------------------------------------------------------

PYTHON_TYPES = {"uint32_t": "ctypes.c_uint32", "int32_t": "ctypes.c_int32", "int64_t": "ctypes.c_int64", "uint64_t": "ctypes.c_uint64",
                "float": "ctypes.c_float", "double": "ctypes.c_double", "char": "ctypes.c_char"}


def python_type(model, item, length=None):
    if item.pointer == 0:
        text = PYTHON_TYPES.get(item.type) or ("LogCallback" if item.type == "ck_log_callback" else "ctypes.c_int32")
        return f"{text} * {length}" if length else text
    if item.type == "char" and item.pointer == 1:
        return "ctypes.c_char_p"
    if item.pointer == 1 and item.type in [s.name for s in model.structs]:
        return f"ctypes.POINTER({item.type})"
    if isinstance(item, Parameter) and item.type in PYTHON_TYPES:
        return f"ctypes.POINTER({PYTHON_TYPES[item.type]})"
    return "ctypes.c_void_p" if item.pointer == 1 else "ctypes.POINTER(ctypes.c_void_p)"


def python(model):
    out = [f'"""The declarations of ckitchen.h. {NOTICE}"""', "", "import ctypes", "",
           f'SONAME = "libckitchen.so.{soversion()}"', ""]
    out += [f"{constant.name} = {constant.value}" for constant in model.constants]
    out += ["", "LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)"]
    for struct in model.structs:
        out += ["", "", f"class {struct.name}(ctypes.Structure):", "    _fields_ = ["]
        out += [f'        ("{f.name}", {python_type(model, f, f.length)}),' for f in struct.fields] + ["    ]"]
    out += ["", "", "STRUCTS = (" + ", ".join(s.name for s in model.structs) + ")", "", "# name: result, parameters", "FUNCTIONS = {"]
    for function in model.functions:
        result = "None" if function.result == Parameter("", "void", 0, False) else python_type(model, function.result)
        parameters = "".join(python_type(model, p) + ", " for p in function.parameters).rstrip(" ")
        out.append(f'    "{function.name}": ({result}, ({parameters})),')
    out += ["}", "", "# name without ck_: number, args", "OPERATORS = {"]
    out += [f'    "{o[len("ck_"):]}": ({operator_constant(o)}, {o}_args),' for o in model.operators]
    return [*out, "}"]


# --- Debian -----------------------------------------------------------------------------------------------------------------------

def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def soversion():
    return re.search(r"^set\(CKITCHEN_SOVERSION (\d+)\)$", read("CMakeLists.txt"), flags=re.M)[1]


def symbols():
    """dpkg-gensymbols' list. A symbol's minimum version is that of its node, the release that brought it."""
    package = "libckitchen" + soversion()
    out = [f"libckitchen.so.{soversion()} {package} #MINVER#", "* Build-Depends-Package: libckitchen-dev"]
    listed = []
    for node, body in re.findall(r"^(CKITCHEN_[\d.]+) \{(.*?)^\}", read("packaging/abi/ckitchen.map"), flags=re.M | re.S):
        version = node[len("CKITCHEN_"):] + ".0"
        listed += [f" {name}@{node} {version}" for name in [node, *re.findall(r"^\s+(ck_\w+);$", body, flags=re.M)]]
    return [*out, *sorted(listed)]


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if arguments not in ([], ["--check"]):
        print(f"generate.py: unknown argument {arguments[0]} (see --help)", file=sys.stderr)
        return 2
    model = parse(read("include/ckitchen.h"))
    files = {
        "packaging/rust/ckitchen-sys/src/bindings.rs": rust(model),
        "packaging/go/abi.go": go(model),
        "packaging/python/ckitchen/_abi.py": python(model),
        f"packaging/debian/libckitchen{soversion()}.symbols": symbols(),
    }
    texts = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
    for path in VERSIONED:
        texts[path] = re.sub(VERSION_LINE, lambda match: match[1] + ".".join(model.version.values()), read(path), flags=re.M)
    differing = 0
    for path, text in texts.items():
        if os.path.exists(os.path.join(ROOT, path)) and read(path) == text:
            continue
        differing += 1
        if arguments:
            print(f"{path} is not what the header says: run packaging/generate.py")
            continue
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"wrote {path}")
    return 1 if arguments and differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
