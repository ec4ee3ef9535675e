// ckitchen info: the library, its backends and devices, what would be used and why.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cases/problem.hpp"
#include "commands.hpp"
#include "text.hpp"

extern char** environ;

namespace ckitchen::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::array kBackends = {CK_BACKEND_HIP, CK_BACKEND_CUDA, CK_BACKEND_CPU};

// Variables of other programs that change what devices there are.
constexpr std::array kForeignVariables = {"HSA_OVERRIDE_GFX_VERSION", "HIP_VISIBLE_DEVICES",
                                          "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                          "CUDA_VISIBLE_DEVICES"};

std::string version_text() {
    const std::uint32_t version = ck_version();
    return format("%u.%u.%u", version / 1000000, version / 1000 % 1000, version % 1000);
}

// For each operator how many variants a device has; none: its features allow none.
ordered_json describe_operators(ck_backend backend, std::int32_t ordinal) {
    ordered_json out = ordered_json::object();
    ck_context_options options = CK_INIT(ck_context_options);
    options.backend = backend;
    options.ordinal = ordinal;
    ck_context* context = nullptr;
    check(ck_context_create(&options, &context), "cannot use the device");
    const std::unique_ptr<ck_context, void (*)(ck_context*)> owner(context, ck_context_destroy);
    for (const cases::Op& op : cases::all_ops()) out[op.name] = 0;
    std::uint64_t count = 0;
    check(ck_variant_count(context, &count), "cannot count the variants");
    for (std::uint64_t i = 0; i < count; ++i) {
        ck_variant_info variant = CK_INIT(ck_variant_info);
        check(ck_get_variant_info(context, i, &variant), "cannot describe a variant");
        for (const cases::Op& op : cases::all_ops()) {
            if (op.op == variant.op) out[op.name] = out[op.name].get<int>() + 1;
        }
    }
    return out;
}

ordered_json describe(const ck_device_properties& device) {
    ordered_json out;
    out["backend"] = backend_name(device.backend);
    out["ordinal"] = device.ordinal;
    out["name"] = device.name;
    out["arch"] = device.arch;
    out["features"] = device.features;
    out["compute_units"] = device.compute_units;
    out["memory_bytes"] = device.memory_bytes;
    out["shared_memory_bytes"] = device.shared_memory_bytes;
    out["integrated"] = (device.flags & CK_DEVICE_INTEGRATED) != 0;
    out["arch_overridden"] = (device.flags & CK_DEVICE_OVERRIDDEN) != 0;
    out["compiled"] = (device.flags & CK_DEVICE_COMPILED) != 0;
    out["usable"] = device.usable == CK_OK;
    if (device.usable != CK_OK) {
        out["status"] = ck_status_string(device.usable);
        out["reason"] = device.unusable_reason;
    }
    return out;
}

// A backend's devices, or why it has none.
ordered_json describe_backend(ck_backend backend) {
    ordered_json out;
    out["name"] = backend_name(backend);
    out["devices"] = ordered_json::array();
    std::int32_t count = 0;
    check(ck_device_count(backend, &count), "cannot count the devices of " + backend_name(backend));
    for (std::int32_t i = 0; i < count; ++i) {
        ck_device_properties device = CK_INIT(ck_device_properties);
        // One device that does not answer does not silence the others.
        const ck_status status = ck_device_info(backend, i, &device);
        if (status != CK_OK) {
            device.backend = backend;
            device.ordinal = i;
            device.usable = status;
        }
        ordered_json entry = describe(device);
        if (status != CK_OK) entry["reason"] = ck_last_error();
        if (device.usable == CK_OK) {
            try {
                entry["operators"] = describe_operators(backend, i);
            } catch (const Failure& failure) {
                entry["usable"] = false;
                entry["status"] = "";
                entry["reason"] = failure.what();
            }
        }
        out["devices"].push_back(std::move(entry));
    }
    if (count == 0) {
        ck_context_options options = CK_INIT(ck_context_options);
        options.backend = backend;
        ck_context* context = nullptr;
        const ck_status status = ck_context_create(&options, &context);
        out["status"] = ck_status_string(status);
        out["reason"] = status == CK_OK ? "" : ck_last_error();
        ck_context_destroy(context);
    }
    return out;
}

// What the options given would get, with the variants it could run.
ordered_json describe_choice(const BackendOptions& options) {
    ordered_json out;
    out["requested"] = options.backend;
    try {
        const Session session(options.session());
        ck_device_properties device = CK_INIT(ck_device_properties);
        check(ck_context_info(session.context(), &device), "cannot describe the device");
        out["device"] = describe(device);
        std::uint64_t count = 0;
        check(ck_variant_count(session.context(), &count), "cannot count the variants");
        out["variants"] = ordered_json::array();
        for (std::uint64_t i = 0; i < count; ++i) {
            ck_variant_info variant = CK_INIT(ck_variant_info);
            check(ck_get_variant_info(session.context(), i, &variant), "cannot describe a variant");
            out["variants"].push_back(variant.name);
        }
    } catch (const Failure& failure) {
        if (failure.status() != Exit::kBackend && failure.status() != Exit::kResources) throw;
        out["reason"] = failure.what();
    }
    return out;
}

ordered_json describe_environment() {
    ordered_json out = ordered_json::object();
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string name(text.substr(0, equals));
        bool is_wanted = name.starts_with("CKITCHEN_");
        for (const char* const foreign : kForeignVariables) is_wanted = is_wanted || name == foreign;
        if (is_wanted) out[name] = text.substr(equals + 1);
    }
    return out;
}

std::string field(const ordered_json& value, const char* name) {
    return printable(value.at(name).get<std::string>());
}

void print_device(const ordered_json& device) {
    std::string line = "  " + std::to_string(device.at("ordinal").get<int>()) + ": " + field(device, "name") +
                       ", " + field(device, "arch");
    line += ", " + std::to_string(device.at("compute_units").get<int>()) +
            (field(device, "backend") == "cpu" ? " threads" : " compute units");
    line += ", " + bytes_text(static_cast<std::uint64_t>(device.at("memory_bytes").get<std::int64_t>()));
    if (device.at("integrated").get<bool>()) line += ", integrated";
    if (device.at("arch_overridden").get<bool>()) line += ", arch overridden by HSA_OVERRIDE_GFX_VERSION";
    if (const std::string features = field(device, "features"); !features.empty()) line += "; " + features;
    std::printf("%s\n", line.c_str());
    if (!device.at("usable").get<bool>()) {
        const std::string status = field(device, "status");
        std::printf("     unusable: %s%s%s\n", status.c_str(), status.empty() ? "" : ": ",
                    field(device, "reason").c_str());
        return;
    }
    if (device.at("compiled").get<bool>())
        std::printf(
            "     no code for %s is built in: the HIP runtime compiles an operator on its first use\n",
            field(device, "arch").c_str());
    std::string runs, lacks;
    for (const auto& [name, variants] : device.at("operators").items()) {
        const int count = variants.get<int>();
        if (count == 0)
            lacks += (lacks.empty() ? "" : ", ") + name;
        else
            runs += (runs.empty() ? "" : ", ") + name +
                    (count > 1 ? " (" + std::to_string(count) + " variants)" : "");
    }
    std::printf("     runs %s\n", runs.empty() ? "nothing" : runs.c_str());
    if (!lacks.empty()) std::printf("     no kernel for its features: %s\n", lacks.c_str());
}

void print_table(const ordered_json& info) {
    std::printf("ckitchen %s\n", field(info, "version").c_str());
    const std::string targets = field(info, "builtin_targets");
    std::printf("built-in targets: %s\n", targets.empty() ? "none" : targets.c_str());
    for (const ordered_json& backend : info.at("backends")) {
        std::printf("backend %s:\n", field(backend, "name").c_str());
        for (const ordered_json& device : backend.at("devices")) print_device(device);
        if (backend.at("devices").empty()) {
            std::printf("  no device: %s: %s\n", field(backend, "status").c_str(),
                        field(backend, "reason").c_str());
        }
    }
    const ordered_json& choice = info.at("choice");
    if (choice.contains("device")) {
        std::printf("--backend %s uses: %s %s (%zu variants)\n", field(choice, "requested").c_str(),
                    field(choice.at("device"), "backend").c_str(), field(choice.at("device"), "name").c_str(),
                    choice.at("variants").size());
    } else {
        std::printf("--backend %s: %s\n", field(choice, "requested").c_str(),
                    choice.at("reason").get<std::string>().c_str());
    }
    std::printf("environment:%s\n", info.at("environment").empty() ? " nothing set" : "");
    for (const auto& [name, value] : info.at("environment").items()) {
        std::printf("  %s=%s\n", printable(name).c_str(), printable(value.get<std::string>()).c_str());
    }
}

struct InfoOptions {
    bool json = false;
    bool quiet = false;
    BackendOptions backend;
};

Exit info(const InfoOptions& options) {
    ordered_json out;
    out["version"] = version_text();
    out["builtin_targets"] = ck_builtin_targets();
    out["backends"] = ordered_json::array();
    for (const auto backend : kBackends) out["backends"].push_back(describe_backend(backend));
    out["choice"] = describe_choice(options.backend);
    out["environment"] = describe_environment();
    if (options.json) {
        std::printf("%s\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
    } else {
        print_table(out);
    }
    return out["choice"].contains("device") ? Exit::kOk : Exit::kBackend;
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
    auto options = std::make_shared<InfoOptions>();
    CLI::App& command =
        *app.add_subcommand("info", "show the version, backends, devices and what would be used");
    command.add_flag("--json", options->json, "as JSON");
    add_quiet(command, options->quiet);
    options->backend.add_to(command);
    command.footer(examples("  ckitchen info\n  ckitchen info --backend hip --json\n"));
    command.callback([options, &run] { run = [options] { return info(*options); }; });
}

}  // namespace ckitchen::cli
