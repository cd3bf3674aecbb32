#include "CMartletCrypto.h"

#include <limits.h>

#ifdef __APPLE__
#include <CommonCrypto/CommonHMAC.h>
#include <CommonCrypto/CommonKeyDerivation.h>

int martlet_hmac_sha256(const void *key, size_t key_count, const void *bytes, size_t count, uint8_t *code) {
    CCHmac(kCCHmacAlgSHA256, key, key_count, bytes, count, code);
    return 1;
}

int martlet_pbkdf2_hmac_sha256(
    const void *password, size_t password_count, const void *salt, size_t salt_count, uint32_t iterations, uint8_t *key,
    size_t key_count) {
    return CCKeyDerivationPBKDF(
               kCCPBKDF2, password, password_count, salt, salt_count, kCCPRFHmacAlgSHA256, iterations, key, key_count)
        == kCCSuccess;
}
#else
#include <openssl/evp.h>
#include <openssl/hmac.h>

int martlet_hmac_sha256(const void *key, size_t key_count, const void *bytes, size_t count, uint8_t *code) {
    if (key_count > INT_MAX) return 0;
    return HMAC(EVP_sha256(), key, (int)key_count, bytes, count, code, NULL) != NULL;
}

int martlet_pbkdf2_hmac_sha256(
    const void *password, size_t password_count, const void *salt, size_t salt_count, uint32_t iterations, uint8_t *key,
    size_t key_count) {
    if (password_count > INT_MAX || salt_count > INT_MAX || iterations > INT_MAX || key_count > INT_MAX) return 0;
    return PKCS5_PBKDF2_HMAC(
               password, (int)password_count, salt, (int)salt_count, (int)iterations, EVP_sha256(), (int)key_count, key)
        == 1;
}
#endif

int martlet_equal_in_constant_time(const void *left, const void *right, size_t count) {
    const volatile uint8_t *one = left, *other = right;
    uint8_t difference = 0;
    for (size_t index = 0; index < count; index++) difference |= one[index] ^ other[index];
    return difference == 0;
}
