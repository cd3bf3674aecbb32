#include "CMartletCrypto.h"

#ifdef __APPLE__
#include <CommonCrypto/CommonDigest.h>

// RFC 7616 requires MD5 for proxies that offer nothing else.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

int32_t martlet_md5(const void *bytes, size_t count, uint8_t *digest) {
    CC_MD5(bytes, (CC_LONG)count, digest);
    return 1;
}
#else
#include <openssl/evp.h>

int32_t martlet_md5(const void *bytes, size_t count, uint8_t *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_md5(), NULL) == 1;
}
#endif
