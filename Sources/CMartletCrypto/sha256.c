#include "CMartletCrypto.h"

#ifdef __APPLE__
#include <CommonCrypto/CommonDigest.h>

void martlet_sha256(const void *bytes, size_t count, uint8_t *digest) {
    CC_SHA256(bytes, (CC_LONG)count, digest);
}
#else
#include <openssl/sha.h>

void martlet_sha256(const void *bytes, size_t count, uint8_t *digest) {
    SHA256(bytes, count, digest);
}
#endif
