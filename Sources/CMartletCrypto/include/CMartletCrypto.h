#pragma once

#include <stddef.h>
#include <stdint.h>

// OpenSSL's libcrypto on Linux, CommonCrypto on Apple systems.

enum { martlet_sha256_byte_count = 32 };

/// SHA-256 (FIPS 180-4) of `count` bytes into the 32 bytes at `digest`.
void martlet_sha256(const void *_Nullable bytes, size_t count, uint8_t *_Nonnull digest);

// Message authentication codes and key derivation.

/// HMAC-SHA-256 (RFC 2104) of `count` bytes into the 32 bytes at `code`. Returns 1, or 0 if the library fails.
int martlet_hmac_sha256(
    const void *_Nonnull key, size_t key_count, const void *_Nonnull bytes, size_t count, uint8_t *_Nonnull code);

/// PBKDF2 with HMAC-SHA-256 (RFC 8018 §5.2) into the `key_count` bytes at `key`. Returns 1, or 0 if the library fails.
int martlet_pbkdf2_hmac_sha256(
    const void *_Nonnull password, size_t password_count, const void *_Nonnull salt, size_t salt_count,
    uint32_t iterations, uint8_t *_Nonnull key, size_t key_count);

/// Returns 1 if the `count` bytes at `left` and `right` are equal, otherwise 0. Reads all of them in either case.
int martlet_equal_in_constant_time(const void *_Nonnull left, const void *_Nonnull right, size_t count);
