#include "CMartletCrypto.h"

#ifdef __APPLE__
martlet_signature_key *martlet_signature_key_create_rsa(
    const uint8_t *modulus, size_t modulus_count, const uint8_t *exponent, size_t exponent_count) {
    return NULL;
}

martlet_signature_key *martlet_signature_key_create_p256(
    const uint8_t *x, size_t x_count, const uint8_t *y, size_t y_count) {
    return NULL;
}

martlet_signature_key *martlet_signature_key_create_ed25519(const uint8_t *x, size_t count) { return NULL; }

martlet_signature_key *martlet_signature_key_create_secret(const uint8_t *secret, size_t count) { return NULL; }

void martlet_signature_key_free(martlet_signature_key *key) {}

int32_t martlet_signature_verify(
    const martlet_signature_key *key, const void *message, size_t count, const uint8_t *signature,
    size_t signature_count) {
    return 0;
}
#else
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

enum kind { kind_rsa, kind_p256, kind_ed25519, kind_secret };

struct martlet_signature_key {
    enum kind kind;
    /// NULL for a secret.
    EVP_PKEY *public_key;
    /// 0 unless this is a secret.
    size_t secret_count;
    uint8_t secret[];
};

// MARK: - Keys

/// Takes the public key, also on failure. NULL gives NULL.
static martlet_signature_key *wrap(enum kind kind, EVP_PKEY *public_key) {
    martlet_signature_key *key = public_key ? calloc(1, sizeof *key) : NULL;
    if (!key) {
        EVP_PKEY_free(public_key);
        ERR_clear_error();
        return NULL;
    }
    key->kind = kind;
    key->public_key = public_key;
    return key;
}

static EVP_PKEY *make_public_key(const char *type, OSSL_PARAM *parameters) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (parameters && context && EVP_PKEY_fromdata_init(context) == 1)
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    return key;
}

/// The counts of bytes limit both numbers from above.
static int is_acceptable_rsa(const BIGNUM *modulus, const BIGNUM *exponent) {
    return BN_num_bits(modulus) >= martlet_signature_min_rsa_bit_count && BN_is_odd(modulus) && BN_is_odd(exponent)
        && !BN_is_one(exponent);
}

martlet_signature_key *martlet_signature_key_create_rsa(
    const uint8_t *modulus, size_t modulus_count, const uint8_t *exponent, size_t exponent_count) {
    if (!modulus_count || modulus_count > martlet_signature_max_rsa_bit_count / 8 || !modulus[0]) return NULL;
    if (!exponent_count || exponent_count > martlet_signature_max_rsa_exponent_bit_count / 8 || !exponent[0])
        return NULL;
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_count, NULL);
    BIGNUM *e = BN_bin2bn(exponent, (int)exponent_count, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *parameters = NULL;
    if (n && e && builder && is_acceptable_rsa(n, e)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
        parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY *public_key = parameters ? make_public_key("RSA", parameters) : NULL;
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    BN_free(e);
    BN_free(n);
    return wrap(kind_rsa, public_key);
}

martlet_signature_key *martlet_signature_key_create_p256(
    const uint8_t *x, size_t x_count, const uint8_t *y, size_t y_count) {
    enum { coordinate = martlet_signature_coordinate_byte_count };
    if (x_count != coordinate || y_count != coordinate) return NULL;
    // The uncompressed form of SEC 1 §2.3.3.
    uint8_t point[1 + 2 * coordinate] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, x, coordinate);
    memcpy(point + 1 + coordinate, y, coordinate);
    char group[] = "prime256v1";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point),
        OSSL_PARAM_construct_end(),
    };
    // OpenSSL refuses a point that is not on the curve. Any other has the order of the group, whose cofactor is 1.
    return wrap(kind_p256, make_public_key("EC", parameters));
}

/// The coordinates y of the points of order 8, little-endian. Those of the orders 1, 2 and 4 are 1, -1 and 0.
static const uint8_t order_8[2][martlet_signature_coordinate_byte_count] = {
    {0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
     0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05},
    {0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
     0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A},
};

/// Whether a public key is a point of small order, for which anyone can make signatures, or not reduced
/// (Specs/hostile.md row 92). The highest bit is the sign of x.
static int is_weak_ed25519(const uint8_t *x) {
    uint8_t y[martlet_signature_coordinate_byte_count];
    memcpy(y, x, sizeof y);
    y[sizeof y - 1] &= 0x7F;
    int is_small = y[0] <= 1, is_large = y[0] >= 0xEC && y[sizeof y - 1] == 0x7F;
    for (size_t index = 1; index < sizeof y; index++) is_small &= y[index] == 0;
    for (size_t index = 1; index < sizeof y - 1; index++) is_large &= y[index] == 0xFF;
    return is_small || is_large || !memcmp(y, order_8[0], sizeof y) || !memcmp(y, order_8[1], sizeof y);
}

martlet_signature_key *martlet_signature_key_create_ed25519(const uint8_t *x, size_t count) {
    if (count != martlet_signature_coordinate_byte_count || is_weak_ed25519(x)) return NULL;
    return wrap(kind_ed25519, EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, count));
}

martlet_signature_key *martlet_signature_key_create_secret(const uint8_t *secret, size_t count) {
    if (count < martlet_signature_min_secret_byte_count || count > INT_MAX) return NULL;
    martlet_signature_key *key = calloc(1, sizeof *key + count);
    if (!key) return NULL;
    key->kind = kind_secret;
    key->secret_count = count;
    memcpy(key->secret, secret, count);
    return key;
}

void martlet_signature_key_free(martlet_signature_key *key) {
    EVP_PKEY_free(key->public_key);
    OPENSSL_cleanse(key->secret, key->secret_count);
    free(key);
}

// MARK: - Verification

/// PKCS #1 (RFC 8017 §8.2.2) and Ed25519 (RFC 8032 §5.1.7) use the signature as it is, ECDSA as DER.
static int is_valid_of_public_key(
    const martlet_signature_key *key, const void *message, size_t count, const uint8_t *signature,
    size_t signature_count) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *options = NULL;
    // Ed25519 hashes the message itself.
    const EVP_MD *digest = key->kind == kind_ed25519 ? NULL : EVP_sha256();
    int is_valid = context && EVP_DigestVerifyInit(context, &options, digest, NULL, key->public_key) == 1
        && (key->kind != kind_rsa || EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PADDING) == 1)
        && EVP_DigestVerify(context, signature, signature_count, message, count) == 1;
    EVP_MD_CTX_free(context);
    return is_valid;
}

/// `signature` is r and s, 32 bytes each (RFC 7518 §3.4).
static int is_valid_of_p256(
    const martlet_signature_key *key, const void *message, size_t count, const uint8_t *signature,
    size_t signature_count) {
    enum { number = martlet_signature_coordinate_byte_count };
    if (signature_count != 2 * number) return 0;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, number, NULL);
    BIGNUM *s = BN_bin2bn(signature + number, number, NULL);
    if (!pair || !r || !s || ECDSA_SIG_set0(pair, r, s) != 1) {
        BN_free(r);
        BN_free(s);
        ECDSA_SIG_free(pair);
        return 0;
    }
    uint8_t *encoded = NULL;
    int encoded_count = i2d_ECDSA_SIG(pair, &encoded);
    int is_valid =
        encoded_count > 0 && is_valid_of_public_key(key, message, count, encoded, (size_t)encoded_count);
    OPENSSL_free(encoded);
    ECDSA_SIG_free(pair);
    return is_valid;
}

/// HMAC-SHA-256 (RFC 2104).
static int is_valid_of_secret(
    const martlet_signature_key *key, const void *message, size_t count, const uint8_t *signature,
    size_t signature_count) {
    uint8_t code[martlet_sha256_byte_count];
    if (signature_count != sizeof code) return 0;
    return martlet_hmac_sha256(key->secret, key->secret_count, message, count, code)
        && martlet_equal_in_constant_time(code, signature, sizeof code);
}

int32_t martlet_signature_verify(
    const martlet_signature_key *key, const void *message, size_t count, const uint8_t *signature,
    size_t signature_count) {
    int is_valid = 0;
    switch (key->kind) {
    case kind_rsa:
    case kind_ed25519:
        is_valid = is_valid_of_public_key(key, message, count, signature, signature_count);
        break;
    case kind_p256:
        is_valid = is_valid_of_p256(key, message, count, signature, signature_count);
        break;
    case kind_secret:
        is_valid = is_valid_of_secret(key, message, count, signature, signature_count);
        break;
    }
    // The error queue belongs to the thread, and TLS reads it too.
    if (!is_valid) ERR_clear_error();
    return is_valid;
}
#endif
