#include "CMartletCrypto.h"

#include <stdlib.h>

#ifdef __APPLE__
#include <CommonCrypto/CommonDigest.h>

void martlet_sha256(const void *bytes, size_t count, uint8_t *digest) {
    CC_SHA256(bytes, (CC_LONG)count, digest);
}

struct martlet_sha256_stream {
    CC_SHA256_CTX context;
};

martlet_sha256_stream *martlet_sha256_stream_create(void) {
    martlet_sha256_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) abort();
    CC_SHA256_Init(&stream->context);
    return stream;
}

void martlet_sha256_stream_add(martlet_sha256_stream *stream, const void *bytes, size_t count) {
    CC_SHA256_Update(&stream->context, bytes, (CC_LONG)count);
}

void martlet_sha256_stream_finish(martlet_sha256_stream *stream, uint8_t *digest) {
    CC_SHA256_Final(digest, &stream->context);
}

void martlet_sha256_stream_free(martlet_sha256_stream *stream) { free(stream); }
#else
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

// OpenSSL frees its tables at exit() otherwise, while other threads still use them.
__attribute__((constructor)) static void keep_at_exit(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

void martlet_sha256(const void *bytes, size_t count, uint8_t *digest) {
    SHA256(bytes, count, digest);
}

struct martlet_sha256_stream {
    EVP_MD_CTX *context;
};

martlet_sha256_stream *martlet_sha256_stream_create(void) {
    martlet_sha256_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) abort();
    stream->context = EVP_MD_CTX_new();
    if (stream->context == NULL || EVP_DigestInit_ex(stream->context, EVP_sha256(), NULL) != 1) abort();
    return stream;
}

void martlet_sha256_stream_add(martlet_sha256_stream *stream, const void *bytes, size_t count) {
    if (EVP_DigestUpdate(stream->context, bytes, count) != 1) abort();
}

void martlet_sha256_stream_finish(martlet_sha256_stream *stream, uint8_t *digest) {
    if (EVP_DigestFinal_ex(stream->context, digest, NULL) != 1) abort();
}

void martlet_sha256_stream_free(martlet_sha256_stream *stream) {
    EVP_MD_CTX_free(stream->context);
    free(stream);
}
#endif
