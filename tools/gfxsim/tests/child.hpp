// What is expected to end a process is tried in a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>

namespace {

/// A child process that ends as `body` does; its wait status.
template <class F>
int status_of_child(F body) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // The message of an expected abort is no news.
        std::signal(SIGABRT, SIG_DFL);
        if (!std::freopen("/dev/null", "w", stderr)) _exit(90);
        body();
        _exit(91);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

/// The signal that `body` ends a child process with; 0 when it returns.
template <class F>
int signal_of_child(F body) {
    const int status = status_of_child(body);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace
