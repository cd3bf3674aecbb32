#pragma once

#include <stddef.h>
#include <stdint.h>

// OpenSSL's libcrypto on Linux, CommonCrypto on Apple systems.

/// A key that verifies signatures of one algorithm of RFC 7518 or RFC 8037. It is immutable and may be used by several
/// threads.
///
/// On Apple systems no key can be created: each of the functions returns NULL.
typedef struct martlet_signature_key martlet_signature_key;

/// The bounds of RSA keys.
enum {
    /// The minimum number of bits of a modulus (RFC 7518 §3.3).
    martlet_signature_min_rsa_bit_count = 2048,
    /// The maximum number of bits of a modulus.
    martlet_signature_max_rsa_bit_count = 8192,
    /// The maximum number of bits of an exponent.
    martlet_signature_max_rsa_exponent_bit_count = 64
};
/// The bytes of each coordinate of a point of P-256, and of an Ed25519 public key.
enum { martlet_signature_coordinate_byte_count = 32 };
/// The minimum number of bytes of a secret for HS256 (RFC 7518 §3.2).
enum { martlet_signature_min_secret_byte_count = 32 };

/// A key for RS256 from a modulus and an exponent, both big-endian without leading zeros.
///
/// Returns NULL if one of them is even or out of its bounds, or if the exponent is 1.
martlet_signature_key *_Nullable martlet_signature_key_create_rsa(
    const uint8_t *_Nonnull modulus, size_t modulus_count, const uint8_t *_Nonnull exponent, size_t exponent_count);
/// A key for ES256 from the coordinates of a point, 32 bytes each. Returns NULL if the point is not on P-256.
martlet_signature_key *_Nullable martlet_signature_key_create_p256(
    const uint8_t *_Nonnull x, size_t x_count, const uint8_t *_Nonnull y, size_t y_count);
/// A key for EdDSA from an Ed25519 public key of 32 bytes (RFC 8032 §5.1.5); NULL for a point of small order, and for
/// coordinates that are not reduced.
martlet_signature_key *_Nullable martlet_signature_key_create_ed25519(const uint8_t *_Nonnull x, size_t count);
/// A key for HS256 from a secret. Returns NULL if the secret has fewer than 32 bytes.
martlet_signature_key *_Nullable martlet_signature_key_create_secret(const uint8_t *_Nonnull secret, size_t count);
void martlet_signature_key_free(martlet_signature_key *_Nonnull key);

/// Returns 1 if `signature` is the key's signature of the message, in the form of RFC 7518 §3.2, §3.3 and §3.4 or
/// RFC 8037 §3.1, and 0 otherwise. The comparison for HS256 takes constant time.
int32_t martlet_signature_verify(
    const martlet_signature_key *_Nonnull key, const void *_Nonnull message, size_t count,
    const uint8_t *_Nonnull signature, size_t signature_count);

enum { martlet_md5_byte_count = 16 };

/// MD5 (RFC 1321) of `count` bytes into the 16 bytes at `digest`, for protocols that require it. Returns 0 if the
/// library does not permit it.
int32_t martlet_md5(const void *_Nullable bytes, size_t count, uint8_t *_Nonnull digest);

enum { martlet_sha1_byte_count = 20 };

/// SHA-1 (FIPS 180-4) of `count` bytes into the 20 bytes at `digest`, for protocols that require it.
void martlet_sha1(const void *_Nullable bytes, size_t count, uint8_t *_Nonnull digest);

enum { martlet_sha256_byte_count = 32 };

/// SHA-256 (FIPS 180-4) of `count` bytes into the 32 bytes at `digest`.
void martlet_sha256(const void *_Nullable bytes, size_t count, uint8_t *_Nonnull digest);

/// SHA-256 of bytes that are added one after another.
typedef struct martlet_sha256_stream martlet_sha256_stream;

martlet_sha256_stream *_Nonnull martlet_sha256_stream_create(void);
void martlet_sha256_stream_add(martlet_sha256_stream *_Nonnull stream, const void *_Nullable bytes, size_t count);
/// Writes the 32 bytes of the digest. The stream is not used thereafter.
void martlet_sha256_stream_finish(martlet_sha256_stream *_Nonnull stream, uint8_t *_Nonnull digest);
void martlet_sha256_stream_free(martlet_sha256_stream *_Nonnull stream);

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
