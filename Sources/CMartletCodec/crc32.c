#include "CMartletCodec.h"

#include <string.h>
#include <zlib.h>

#include "fast_codec.h"

uint32_t martlet_crc32_zlib(uint32_t crc, const void *bytes, size_t count) {
    // A null pointer asks zlib for its starting value instead of continuing.
    if (count == 0) return crc;
    return (uint32_t)crc32_z(crc, bytes, count);
}

uint32_t martlet_crc32(uint32_t crc, const void *bytes, size_t count) {
#if MARTLET_HAS_LIBDEFLATE
    if (count == 0) return crc;
    return libdeflate_crc32(crc, bytes, count);
#else
    return martlet_crc32_zlib(crc, bytes, count);
#endif
}

#if defined(__x86_64__)
#include <immintrin.h>

// With W the 24 bytes as three 64-bit polynomials, bits reflected, and G the CRC's polynomial:
// W0 * x^160 + W1 * x^96 + W2 * x^32 is brought below degree 96 by x^159 mod G and x^95 mod G (a product of reflected
// numbers carries one factor x of its own), and below degree 32 by Barrett reduction with floor(x^95 / G).
// After Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel, 2009.
__attribute__((target("pclmul,sse4.1")))
static uint32_t sum_by_multiplication(uint32_t crc, uint64_t first, uint64_t second, uint64_t third) {
    const __m128i powers = _mm_set_epi64x((long long)0xCCAA009E00000000, (long long)0xAE68919100000000);
    const __m128i barrett = _mm_set_epi64x(0x00000001DB710641, (long long)0xB4E5B025F7011641);
    const __m128i front = _mm_set_epi64x((long long)second, (long long)(first ^ (uint32_t)~crc));
    __m128i sum = _mm_slli_si128(_mm_cvtsi64_si128((long long)third), 4);
    sum = _mm_xor_si128(sum, _mm_clmulepi64_si128(front, powers, 0x00));
    sum = _mm_xor_si128(sum, _mm_clmulepi64_si128(front, powers, 0x11));
    const __m128i quotient = _mm_clmulepi64_si128(_mm_srli_si128(sum, 4), barrett, 0x00);
    const __m128i product = _mm_clmulepi64_si128(quotient, barrett, 0x10);
    return ~(uint32_t)(_mm_extract_epi32(product, 2) ^ _mm_extract_epi32(sum, 3));
}
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

uint32_t martlet_crc32_words(uint32_t crc, uint64_t first, uint64_t second, uint64_t third) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("pclmul")) return sum_by_multiplication(crc, first, second, third);
#elif defined(__ARM_FEATURE_CRC32)
    return ~__crc32d(__crc32d(__crc32d(~crc, first), second), third);
#endif
    const uint64_t words[3] = {first, second, third};
    return martlet_crc32(crc, words, sizeof words);
}

uint32_t martlet_crc32_frame(const void *header, const void *body, size_t count) {
    uint64_t words[3];
    memcpy(words, header, sizeof words);
    return martlet_crc32_words(martlet_crc32(0, body, count), words[0], words[1], words[2]);
}
