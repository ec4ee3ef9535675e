// Catch2 of either major version.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#define CK_CATCH_VERSION 3
#else
#include <catch2/catch.hpp>
#define CK_CATCH_VERSION 2
#endif
