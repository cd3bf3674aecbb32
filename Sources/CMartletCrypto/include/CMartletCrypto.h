#pragma once

#include <stddef.h>
#include <stdint.h>

// OpenSSL's libcrypto on Linux, CommonCrypto on Apple systems.

enum { martlet_sha256_byte_count = 32 };

/// SHA-256 (FIPS 180-4) of `count` bytes into the 32 bytes at `digest`.
void martlet_sha256(const void *_Nullable bytes, size_t count, uint8_t *_Nonnull digest);
