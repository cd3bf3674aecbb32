#include "CMartletCrypto.h"

#ifdef __APPLE__
#include <CommonCrypto/CommonDigest.h>

// RFC 6455 requires SHA-1, and does not rely on its security.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

void martlet_sha1(const void *bytes, size_t count, uint8_t *digest) {
    CC_SHA1(bytes, (CC_LONG)count, digest);
}
#else
#include <openssl/sha.h>

void martlet_sha1(const void *bytes, size_t count, uint8_t *digest) {
    SHA1(bytes, count, digest);
}
#endif
