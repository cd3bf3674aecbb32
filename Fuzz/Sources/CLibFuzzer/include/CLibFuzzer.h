#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer's own loop, for a program that has a main of its own. It comes with -sanitize=fuzzer.
///
/// It reads its options from the arguments, and calls `run` with one input after another until one makes the process
/// end, or until its time is up.
int LLVMFuzzerRunDriver(
    int *_Nonnull argc, char *_Nullable *_Nonnull *_Nonnull argv,
    int (*_Nonnull run)(const uint8_t *_Nullable bytes, size_t count));
