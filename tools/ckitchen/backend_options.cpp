#include "commands.hpp"

#include "text.hpp"

namespace ckitchen::cli {

void BackendOptions::add_to(CLI::App& command) {
    command.add_option("--backend", backend, "auto, cpu, hip or cuda")->capture_default_str();
    command.add_option("--device", device, "number of the device of that backend")
        ->check(CLI::Range(0, 1023))
        ->capture_default_str();
    command.add_option("--threads", threads, "threads of the CPU backend; 0 = all that this process may use")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
}

SessionOptions BackendOptions::session() const {
    const ck_backend chosen = parse_backend(backend);
    if (chosen == CK_BACKEND_AUTO && device != 0) {
        throw Failure(Exit::kUsage,
                      format("--device %d: auto chooses the device itself; name the backend whose "
                             "device is meant, for example --backend hip",
                             device));
    }
    return {chosen, device, threads};
}

void add_quiet(CLI::App& command, bool& quiet) {
    command.add_flag("-q,--quiet", quiet, "no progress on stderr, warnings and errors only");
}

std::string examples(const std::string& lines) {
    return "Examples:\n" + lines;
}

}  // namespace ckitchen::cli
