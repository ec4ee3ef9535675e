// Environment variables: every one is read, every wrong value is told.
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "catch.hpp"
#include "core/env.hpp"

using namespace ckitchen;

namespace {

std::map<std::string, std::string> variables;

const char* lookup(const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
}

Env parse(std::map<std::string, std::string> values) {
    variables = std::move(values);
    return Env::parse(lookup);
}

}  // namespace

TEST_CASE("defaults of the environment") {
    for (const Env& env :
         {parse({}), parse({{"CKITCHEN_BACKEND", ""}, {"CKITCHEN_LOG", ""}, {"CKITCHEN_THREADS", ""}})}) {
        CHECK(env.status.ok());
        CHECK(env.backend == CK_BACKEND_AUTO);
        CHECK(env.log_level == CK_LOG_OFF);
        CHECK(env.threads == 0);
        CHECK_FALSE(env.int8_tiled_a);
    }
}

TEST_CASE("values of the environment") {
    const Env env = parse({{"CKITCHEN_BACKEND", "cpu"},
                           {"CKITCHEN_LOG", "dispatch"},
                           {"CKITCHEN_THREADS", "3"},
                           {"CKITCHEN_DISABLE", "na3d"},
                           {"CKITCHEN_FORCE_VARIANT", "v"},
                           {"CKITCHEN_TUNING", "t"},
                           {"CKITCHEN_INT8_TILED_A", "1"},
                           {"CKITCHEN_CODE_OBJECT_DIR", "d"},
                           {"CKITCHEN_HIP_LIBRARY", "h"},
                           {"CKITCHEN_CUDA_LIBRARY", "c"},
                           {"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}});
    CHECK(env.status.ok());
    CHECK(env.backend == CK_BACKEND_CPU);
    CHECK(env.log_level == CK_LOG_DISPATCH);
    CHECK(env.threads == 3);
    CHECK(env.disable == "na3d");
    CHECK(env.force_variant == "v");
    CHECK(env.tuning == "t");
    CHECK(env.int8_tiled_a);
    CHECK_FALSE(parse({{"CKITCHEN_INT8_TILED_A", "0"}}).int8_tiled_a);
    CHECK(env.code_object_dir == "d");
    CHECK(env.hip_library == "h");
    CHECK(env.cuda_library == "c");
    CHECK(env.gfx_override);
}

TEST_CASE("where compiled code is kept") {
    const std::pair<const char*, const char*> home{"HOME", "/usr"}, cache{"XDG_CACHE_HOME", "/cache"};
    CHECK(parse({}).cache_dir.empty());
    CHECK(parse({home}).cache_dir == "/usr/.cache/ckitchen");
    CHECK(parse({home, cache}).cache_dir == "/cache/ckitchen");
    CHECK(parse({home, {"XDG_CACHE_HOME", "relative"}}).cache_dir == "/usr/.cache/ckitchen");
    CHECK(parse({home, {"XDG_CACHE_HOME", ""}}).cache_dir == "/usr/.cache/ckitchen");
    CHECK(parse({{"HOME", "/nonexistent"}}).cache_dir.empty());
    CHECK(parse({{"HOME", "/etc/passwd"}}).cache_dir.empty());
    CHECK(parse({{"HOME", "/nonexistent"}, cache}).cache_dir == "/cache/ckitchen");
    CHECK(parse({home, cache, {"CKITCHEN_CACHE_DIR", "d"}}).cache_dir == "d");
    CHECK(parse({home, cache, {"CKITCHEN_CACHE_DIR", "off"}}).cache_dir.empty());
}

TEST_CASE("a wrong value names the variable, the value and what is legal") {
    const std::pair<const char*, const char*> wrong[] = {
        {"CKITCHEN_BACKEND", "rocm"},   {"CKITCHEN_LOG", "loud"},         {"CKITCHEN_THREADS", "0"},
        {"CKITCHEN_INT8_TILED_A", "2"}, {"CKITCHEN_INT8_TILED_A", "yes"}, {"CKITCHEN_THREADS", "1025"},
        {"CKITCHEN_THREADS", "2x"},     {"CKITCHEN_THREADS", "-1"},
    };
    for (const auto& [name, value] : wrong) {
        const Env env = parse({{name, value}});
        INFO(name << "=" << value);
        CHECK(env.status.code() == CK_ERROR_INVALID_CONFIGURATION);
        CHECK(env.status.message().find(std::string(name) + " is '" + value + "'") != std::string::npos);
    }
}

TEST_CASE("every variable stands in the README") {
    std::ifstream file(CK_README, std::ios::binary);
    const std::string readme{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const EnvVariable& variable : env_variables()) {
        const std::string row =
            "| `" + std::string(variable.name) + "` | " + variable.values + " | " + variable.meaning + " |";
        INFO(row);
        CHECK(readme.find(row) != std::string::npos);
        CHECK(std::string(variable.name).rfind("CKITCHEN_", 0) == 0);
        CHECK(*variable.values);
        CHECK(*variable.meaning);
    }
}
