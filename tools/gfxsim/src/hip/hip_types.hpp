#pragma once

#include <cstddef>
#include <cstdint>

// The runtime's C types as their ABI has them: every handle a pointer, every enum four bytes.
#define GFXSIM_API extern "C" __attribute__((visibility("default")))

namespace ckitchen::gfxsim {

/// Release that this library imitates: 52, 63 or 71.
#ifndef GFXSIM_FLAVOR
#define GFXSIM_FLAVOR 63
#endif
constexpr int kFlavor = GFXSIM_FLAVOR;

enum HipError : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kInvalidConfiguration = 9,
    kInvalidPitchValue = 12,
    kInvalidSymbol = 13,
    kInvalidDevicePointer = 17,
    kInvalidDeviceFunction = 98,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kNoBinaryForGpu = 209,
    kInvalidKernelFile = 218,
    kFileNotFound = 301,
    kSharedObjectInitFailed = 303,
    kInvalidHandle = 400,
    kIllegalState = 401,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchOutOfResources = 701,
    kContextIsDestroyed = 709,
    kLaunchFailure = 719,
    kNotSupported = 801,
    kStreamCaptureUnsupported = 900,
    kStreamCaptureInvalidated = 901,
    kStreamCaptureMerge = 902,
    kStreamCaptureUnmatched = 903,
    kStreamCaptureUnjoined = 904,
    kStreamCaptureIsolation = 905,
    kStreamCaptureImplicit = 906,
    kCapturedEvent = 907,
    kStreamCaptureWrongThread = 908,
    kUnknownError = 999,
};

enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CopyKind : int {
    kHostToHost = 0,
    kHostToDevice = 1,
    kDeviceToHost = 2,
    kDeviceToDevice = 3,
    kCopyDefault = 4
};

}  // namespace ckitchen::gfxsim
