// ckitchen quantize: a checkpoint in, a quantized one out.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "convert.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

struct QuantizeOptions {
    std::string input;
    std::string output;
    std::string format;
    std::string rotate = "auto";
    std::string levels = "codebook";
    int group_size = 16;
    bool has_w4a8_options = false;  // --group-size or --levels
    std::string seed;
    std::vector<std::string> loras;
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    std::string report;
    bool dry_run = false;
    bool quiet = false;
    BackendOptions backend;
};

constexpr const char* kLoraHelp =
    "LoRA files: W + STRENGTH * (alpha / rank) * up * down in float32, not rounded before it is quantized; a "
    "kept\n"
    "matrix is rounded once to its own dtype. Tensors X.lora_up.weight and X.lora_down.weight, or "
    "X.lora_B.weight\n"
    "and X.lora_A.weight, and X.alpha (the rank when absent). X is the name of a layer, where the prefixes\n"
    "  base_model.model.  model.diffusion_model.  diffusion_model.  transformer.  unet.  model.\n"
    "may be there or not, in the LoRA as in the checkpoint; or one of the prefixes\n"
    "  lora_unet_  lora_transformer_  lycoris_\n"
    "and the name with _ for every dot. What matches no layer is named on stderr and in the report; a file "
    "of "
    "which\n"
    "nothing matches is an error.\n\n";

std::string keep_help() {
    constexpr std::size_t kColumns = 110;
    std::string text =
        "Kept as they are: what is no matrix of F32, F16 or BF16 named X.weight, widths that do not fit, "
        "and, "
        "unless\n--include finds them, names with a part between dots that is, without regard to case,\n ";
    std::size_t column = 1;
    for (const std::string_view pattern : default_keep_patterns()) {
        if (column + 2 + pattern.size() > kColumns) {
            text += "\n ";
            column = 1;
        }
        text += " " + std::string(pattern);
        column += 1 + pattern.size();
    }
    return text + "\n\n";
}

std::optional<int> parse_rotate(const std::string& text) {
    if (text == "auto") return std::nullopt;
    if (text == "none") return 0;
    if (text == "16") return 16;
    if (text == "64") return 64;
    if (text == "256") return 256;
    throw Failure(Exit::kUsage, "--rotate " + in_quotes(text) + ": must be auto, none, 16, 64 or 256");
}

PlanOptions plan_options(const QuantizeOptions& options) {
    PlanOptions plan;
    if (options.format == "w4a8") {
        plan.format = TargetFormat::kW4a8;
    } else if (options.format == "int8") {
        plan.format = TargetFormat::kInt8;
    } else {
        throw Failure(Exit::kUsage, "--format " + in_quotes(options.format) + ": must be w4a8 or int8");
    }
    if (options.has_w4a8_options && plan.format != TargetFormat::kW4a8) {
        throw Failure(Exit::kUsage,
                      "--group-size and --levels are for --format w4a8: an INT8 row has one scale");
    }
    plan.rotate = parse_rotate(options.rotate);
    plan.group_size = options.group_size;
    if (options.levels != "codebook" && options.levels != "uniform") {
        throw Failure(Exit::kUsage,
                      "--levels " + in_quotes(options.levels) + ": must be codebook or uniform");
    }
    plan.uniform = options.levels == "uniform";
    for (const std::string& pattern : options.include) plan.include.emplace_back("--include", pattern);
    for (const std::string& pattern : options.exclude) plan.exclude.emplace_back("--exclude", pattern);
    return plan;
}

// 0 when stochastic rounding is off. It is on when LoRA files are merged: most of what they add is below a
// step of four bits, which rounding to nearest drops and stochastic rounding keeps in expectation.
std::uint64_t parse_seed(const QuantizeOptions& options) {
    const std::string& text = options.seed;
    if (text.empty()) return options.format == "w4a8" && !options.loras.empty() ? 1 : 0;
    if (text == "none") return 0;
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size() || seed == 0) {
        throw Failure(Exit::kUsage, "--stochastic " + in_quotes(text) +
                                        ": must be none or a seed, 1 to 18446744073709551615");
    }
    if (options.format != "w4a8") {
        throw Failure(Exit::kUsage, "--stochastic: only --format w4a8 rounds stochastically");
    }
    return seed;
}

bool is_same_path(const std::string& a, const std::string& b) {
    std::error_code error;
    const auto first = std::filesystem::weakly_canonical(output_target(a), error);
    const auto second = std::filesystem::weakly_canonical(output_target(b), error);
    return a == b || (!error && first == second);
}

void write_json(OutputFile& file, const nlohmann::ordered_json& value) {
    // Paths need not be UTF-8; what cannot be said in JSON is replaced rather than refused.
    const std::string text =
        value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    file.write(0, std::as_bytes(std::span(text)));
    file.commit();
}

Exit quantize(const QuantizeOptions& options) {
    PlanOptions plan = plan_options(options);
    std::vector<LoraChoice> loras;
    for (const std::string& lora : options.loras) loras.push_back(parse_lora(lora));
    ConvertOptions convert_options;  // the clock starts
    convert_options.seed = parse_seed(options);
    if (!options.dry_run && options.output.empty())
        throw Failure(Exit::kUsage, "-o is required (or --dry-run)");
    if (options.dry_run && !options.report.empty()) {
        throw Failure(Exit::kUsage, "--report needs a conversion; --dry-run makes none");
    }
    if (!options.report.empty() && is_same_path(options.report, options.output)) {
        throw Failure(Exit::kUsage, "--report and -o name the same file");
    }
    const Checkpoint input(options.input);
    for (const LoraChoice& lora : loras) plan.loras.push_back(std::make_shared<const LoraFile>(lora));
    if (options.dry_run) {
        const Plan planned = make_plan(input, plan);
        Progress progress(ProgressStyle::kQuiet, 0);
        for (const std::string& notice : planned.notices) progress.notice(notice);
        std::fputs(plan_table(planned).c_str(), stdout);
        return Exit::kOk;
    }
    // Opened first: a report that cannot be written should not be found out after an hour.
    std::optional<OutputFile> report_file;
    if (!options.report.empty()) {
        std::vector<FileId> inputs = input.file_ids();
        for (const auto& lora : plan.loras) inputs.push_back(lora->id());
        report_file.emplace(options.report, inputs);
    }

    convert_options.output = options.output;
    convert_options.plan = plan;
    convert_options.threads = options.backend.threads;
    convert_options.progress = options.quiet ? ProgressStyle::kQuiet : detect_progress_style();
    const auto session = std::async(std::launch::async, [&options] {
                             return std::make_unique<const Session>(options.backend.session());
                         }).share();
    const Conversion conversion = convert(
        input, [&]() -> const Session& { return *session.get(); }, convert_options);
    if (report_file) write_json(*report_file, report_json(conversion.plan, conversion.report));
    std::fputs(report_table(conversion.plan, conversion.report).c_str(), stdout);
    flush_standard_output_after(options.output);
    for (const PlannedTensor& tensor : conversion.plan.tensors) {
        if (!tensor.quantize && (tensor.reason == Keep::kNonFinite || tensor.reason == Keep::kMagnitude)) {
            return Exit::kKept;
        }
    }
    return Exit::kOk;
}

}  // namespace

void add_quantize(CLI::App& app, Run& run) {
    auto options = std::make_shared<QuantizeOptions>();
    CLI::App& command = *app.add_subcommand("quantize", "convert a checkpoint to W4A8 or INT8");
    command
        .add_option("input", options->input,
                    "a .safetensors file, a .safetensors.index.json, or their directory")
        ->required();
    command.add_option("-o,--output", options->output, kOutputHelp);
    command.add_option("--format", options->format, "w4a8 or int8")->required();
    command
        .add_option(
            "--rotate", options->rotate,
            "ConvRot group: auto (the largest of 256, 64, 16 that divides the width), none (int8 only), 16, "
            "64 or 256")
        ->capture_default_str();
    const CLI::Option* const group_size =
        command
            .add_option("--group-size", options->group_size,
                        "w4a8: columns that share a scale: 4, 8 or a multiple of 16")
            ->check(CLI::Range(4, 1 << 20))
            ->capture_default_str();
    const CLI::Option* const levels =
        command
            .add_option("--levels", options->levels, "w4a8: codebook (16 levels for each tensor) or uniform")
            ->capture_default_str();
    command.add_option(
        "--stochastic", options->seed,
        "w4a8: round stochastically with this seed (1 to 2^64-1), or none: to nearest; none unless given, "
        "with --lora 1 (the whole checkpoint then)");
    command
        .add_option("--lora", options->loras,
                    "add this LoRA, times STRENGTH (1 unless given), to the weights before they are "
                    "quantized; may be "
                    "repeated, added in that order; see below")
        ->type_name("FILE[:STRENGTH]")
        ->allow_extra_args(false);
    command
        .add_option("--include", options->include,
                    "quantize names that this regular expression (as of grep -E) finds, whatever the "
                    "default list says; may be repeated")
        ->allow_extra_args(false);
    command
        .add_option("--exclude", options->exclude,
                    "keep names that this regular expression finds; may be repeated; "
                    "stronger than --include")
        ->allow_extra_args(false);
    command.add_flag("--dry-run", options->dry_run, "print what would be done with each tensor");
    command.add_option("--report", options->report, "write the results to this JSON file");
    add_quiet(command, options->quiet);
    options->backend.add_to(command);
    command.footer(
        kLoraHelp + keep_help() +
        examples(
            "  ckitchen quantize model.safetensors -o model-w4a8.safetensors --format w4a8\n"
            "  ckitchen quantize model.safetensors.index.json -o out.safetensors --format int8 --report "
            "r.json\n"
            "  ckitchen quantize model.safetensors --format w4a8 --dry-run --exclude '^blocks\\.0\\.'\n"
            "  ckitchen quantize model.safetensors -o out.safetensors --format w4a8 --lora a.safetensors "
            "--lora b.safetensors:0.5\n"));
    command.callback([options, group_size, levels, &run] {
        options->has_w4a8_options = group_size->count() + levels->count() > 0;
        run = [options] { return quantize(*options); };
    });
}

}  // namespace ckitchen::cli
