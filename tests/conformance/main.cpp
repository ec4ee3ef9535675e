// ck_conformance: one suite for every backend.
//
//   ck_conformance --backend cpu|sim:<gfx>|hip|cuda [--runtime PATH] [--tier smoke|full] [--seed N]
//                  [--threads N] [--golden DIR] [Catch2's arguments]
//
// Exit status: 0 all passed, 2 the arguments are wrong, 3 the backend cannot be had (a backend that is asked
// for by name and absent is a failure), 77 everything that was asked for had to be left out, otherwise
// Catch2's.
#define CATCH_CONFIG_RUNNER
#include "suite.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

namespace ckitchen::conformance {
namespace {

constexpr int kAllSkipped = 77;  // as ctest's SKIP_RETURN_CODE is set

struct Arguments {
    std::string backend;
    std::string runtime;
    std::string tier = "smoke";
    std::string golden = CK_GOLDEN_DIRECTORY;
    uint64_t seed = 1;
    int32_t threads = 0;
    std::vector<std::string> rest;
};

bool to_number(const std::string& text, uint64_t* number) {
    char* end = nullptr;
    *number = std::strtoull(text.c_str(), &end, 10);
    return !text.empty() && *end == 0;
}

std::optional<Arguments> parse(int argc, char** argv, std::string* error) {
    Arguments arguments;
    arguments.rest.emplace_back(argv[0]);
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        std::string* text = name == "--backend"   ? &arguments.backend
                            : name == "--runtime" ? &arguments.runtime
                            : name == "--tier"    ? &arguments.tier
                            : name == "--golden"  ? &arguments.golden
                                                  : nullptr;
        const bool number = name == "--seed" || name == "--threads";
        if (text == nullptr && !number) {
            arguments.rest.push_back(name);
            continue;
        }
        if (++i == argc) {
            *error = name + " needs a value";
            return std::nullopt;
        }
        uint64_t value = 0;
        if (text != nullptr) {
            *text = argv[i];
        } else if (!to_number(argv[i], &value) || (name == "--threads" && value > 1024)) {
            *error = name + " " + argv[i] + " is not understood";
            return std::nullopt;
        } else if (name == "--seed") {
            arguments.seed = value;
        } else {
            arguments.threads = static_cast<int32_t>(value);
        }
    }
    if (arguments.tier != "smoke" && arguments.tier != "full") {
        *error = "--tier " + arguments.tier + " is not smoke or full";
        return std::nullopt;
    }
    return arguments;
}

bool asks_for_no_device(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments)
        if (argument == "-l" || argument == "-?" || argument == "-h" || argument == "--help" ||
            argument.compare(0, 6, "--list") == 0)
            return true;
    return false;
}

// Puts `tags` (for example "~[full]") in front of every alternative of the test specs. Tests that are not to
// run are left out by their tags, so that they do not count as passed.
std::vector<std::string> with_tags(const std::string& tags, const std::vector<std::string>& specs) {
    if (specs.empty()) return {tags};
    std::vector<std::string> result;
    for (const std::string& spec : specs) {
        std::string changed = tags;
        bool quoted = false;
        for (char c : spec) {
            if (c == '"') quoted = !quoted;
            changed += c;
            if (c == ',' && !quoted) changed += tags;
        }
        result.push_back(changed);
    }
    return result;
}

// Names of the tests that the specs select.
std::set<std::string> selected_tests(const std::vector<std::string>& specs) {
    Catch::TestSpecParser parser(Catch::ITagAliasRegistry::get());
    for (const std::string& spec : specs) parser.parse(spec);
    const Catch::TestSpec spec = parser.testSpec();
    std::set<std::string> names;
    for (const auto& test : Catch::getRegistryHub().getTestCaseRegistry().getAllTests()) {
        const Catch::TestCaseInfo& info = test.getTestCaseInfo();
        if (spec.matches(info)) names.insert(info.name);
    }
    return names;
}

// Leaves the tests with a tag out of those that the specs select, and notes it.
void leave_out(const std::string& tag, const std::string& reason, std::vector<std::string>& specs) {
    for (const std::string& test : selected_tests(with_tags(tag, specs))) suite().skipped[{test, reason}] = 0;
    specs = with_tags("~" + tag, specs);
}

// Prints what was left out, apart from what passed. False when that was all of what was selected.
bool report_skipped(const std::set<std::string>& selected) {
    const auto& skipped = suite().skipped;
    if (skipped.empty()) return true;
    std::set<std::string> whole;
    std::set<std::string> in_part;
    int64_t cases = 0;
    for (const auto& [what, count] : skipped) {
        const auto& [test, reason] = what;
        (suite().checked.count(test) == 0 ? whole : in_part).insert(test);
        cases += count;
        const std::string number =
            count == 0 ? "" : std::to_string(count) + (count == 1 ? " case of " : " cases of ");
        std::printf("skipped: %s\"%s\": %s\n", number.c_str(), test.c_str(), reason.c_str());
    }
    std::printf("skipped, which is not passed: whole tests %zu, in part %zu, cases %lld\n", whole.size(),
                in_part.size(), static_cast<long long>(cases));
    return !std::includes(whole.begin(), whole.end(), selected.begin(), selected.end());
}

int run(int argc, char** argv) {
    std::string error;
    const std::optional<Arguments> arguments = parse(argc, argv, &error);
    if (!arguments) {
        std::fprintf(stderr, "ck_conformance: %s\n", error.c_str());
        return 2;
    }
    Catch::Session session;
    std::vector<const char*> rest;
    for (const std::string& argument : arguments->rest) rest.push_back(argument.c_str());
    if (const int failed = session.applyCommandLine(static_cast<int>(rest.size()), rest.data()); failed != 0)
        return 2;
    if (asks_for_no_device(arguments->rest)) return session.run();
    if (arguments->backend.empty()) {
        std::fprintf(stderr, "ck_conformance: --backend cpu|sim:<gfx>|hip|cuda is required\n");
        return 2;
    }

    std::unique_ptr<Device> device;
    try {
        device = std::make_unique<Device>(arguments->backend, arguments->runtime, arguments->threads);
    } catch (const ApiError& failure) {
        std::fprintf(stderr, "ck_conformance: %s\n", failure.what());
        return 3;
    }
    suite().device = device.get();
    suite().full = arguments->tier == "full";
    suite().seed = arguments->seed;
    suite().golden_directory = arguments->golden;
    // A spec that selects nothing is a mistake, not a success.
#if CK_CATCH_VERSION == 2
    session.configData().warnings =
        static_cast<Catch::WarnAbout::What>(session.configData().warnings | Catch::WarnAbout::NoTests);
#endif
    auto& specs = session.configData().testsOrTags;
    if (!suite().full) specs = with_tags("~[full]", specs);
    if (!suite().full && device->is_simulated()) {
        leave_out("[large]", "a simulator holds tensors of gigabytes in memory of its own: for the full tier",
                  specs);
    }
    if (!device->is_simulated())
        leave_out("[simulated]", "only a simulator tells which kernel it executed", specs);
    std::printf("backend %s: %s (%s), tier %s, seed %llu\n", device->name().c_str(),
                device->properties().name, device->properties().arch, arguments->tier.c_str(),
                static_cast<unsigned long long>(arguments->seed));
    std::fflush(stdout);
    const std::set<std::string> selected = selected_tests(specs);
    // Nothing is left: no success, and no mistake of the specs either.
    const int result = selected.empty() && !suite().skipped.empty() ? 0 : session.run();
    return report_skipped(selected) || result != 0 ? result : kAllSkipped;
}

}  // namespace

Suite& suite() {
    static Suite instance;
    return instance;
}

Budget Suite::budget() const {
    if (device->is_simulated()) return {full ? 1.5e6 : 1e5, full ? 1 << 15 : 1 << 13};
    return {full ? 2e6 : 3e5, full ? 1 << 17 : 1 << 14};
}

int64_t Suite::count(int64_t smoke, int64_t full_count) const {
    const int64_t cases = full ? full_count : smoke;
    return device->is_simulated() ? std::max<int64_t>(cases / 4, 8) : cases;
}

void skip(const std::string& reason) {
    ++suite().skipped[{Catch::getResultCapture().getCurrentTestName(), reason}];
}

Outcome check(const Case& which) {
    static std::string test;
    static int failed = 0;
    const std::string name = Catch::getResultCapture().getCurrentTestName();
    if (name != test) failed = 0;
    test = name;
    suite().checked.insert(name);

    // Shown when the case crashes.
    INFO(format_case(which));
    const Outcome outcome = run_case(device(), which);
    if (outcome.ok()) {
        SUCCEED();
    } else if (++failed < 10) {
        FAIL_CHECK(outcome.line(device(), which));
    } else {
        FAIL(outcome.line(device(), which) << " (too many failures, the rest of this test is left out)");
    }
    return outcome;
}

Bytes to_bytes(const std::vector<float>& values, ck_dtype dtype) {
    const auto size = static_cast<size_t>(element_size(dtype));
    Bytes bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i) store_float(bytes.data() + i * size, dtype, values[i]);
    return bytes;
}

std::vector<float> to_floats(const Bytes& bytes, ck_dtype dtype) {
    const auto size = static_cast<size_t>(element_size(dtype));
    std::vector<float> values(bytes.size() / size);
    for (size_t i = 0; i < values.size(); ++i) values[i] = load_float(bytes.data() + i * size, dtype);
    return values;
}

bool same_values(const Bytes& a, const Bytes& b, ck_dtype dtype) {
    const auto size = static_cast<size_t>(element_size(dtype));
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i + size <= a.size(); i += size)
        if (!same_value(a.data() + i, b.data() + i, dtype)) return false;
    return true;
}

}  // namespace ckitchen::conformance

int main(int argc, char** argv) {
    return ckitchen::conformance::run(argc, argv);
}
