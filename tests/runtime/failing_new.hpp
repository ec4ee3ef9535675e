// operator new that fails on demand, for the whole process.
#pragma once

// Allocations of this thread that succeed before one fails; negative: none fails.
extern thread_local long allocations_left;

// Allocations from the code of a loaded library neither fail nor count: the one that has this address.
extern const void* spared_library;
