#include "commands.hpp"

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
    return {parse_backend(backend), device, threads};
}

std::string examples(const std::string& lines) {
    return "Examples:\n" + lines;
}

}  // namespace ckitchen::cli
