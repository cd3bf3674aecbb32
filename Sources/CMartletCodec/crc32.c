#include "CMartletCodec.h"

#include <string.h>
#include <zlib.h>

#include "fast_codec.h"

uint32_t martlet_crc32_zlib(uint32_t crc, const void *bytes, size_t count) {
    // A null pointer asks zlib for its starting value instead of continuing.
    if (count == 0) return crc;
    return (uint32_t)crc32_z(crc, bytes, count);
}

static uint32_t sum_by_library(uint32_t crc, const void *bytes, size_t count) {
#if MARTLET_HAS_LIBDEFLATE
    if (count == 0) return crc;
    return libdeflate_crc32(crc, bytes, count);
#else
    return martlet_crc32_zlib(crc, bytes, count);
#endif
}

#if defined(__x86_64__)
#include <immintrin.h>

// Short sums by carry-less multiplication, after Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ", Intel, 2009. Bits are reflected, G is the CRC's polynomial, and a product of reflected numbers carries
// one factor x of its own, so that constants are x^(n-1) mod G where x^n is meant.
#define MULTIPLIES __attribute__((target("pclmul,sse4.1")))

// The bytes of a body that are summed here: below, the library's tables do as well; beyond, its longer strides win.
enum { SHORTEST = 16, LONGEST = 512 };

// The sum of both halves of the state, each times a power of x.
MULTIPLIES static inline __m128i times(__m128i state, uint64_t first, uint64_t second) {
    const __m128i powers = _mm_set_epi64x((long long)second, (long long)first);
    return _mm_xor_si128(_mm_clmulepi64_si128(state, powers, 0x00), _mm_clmulepi64_si128(state, powers, 0x11));
}

// State * x^128: the state moved in front of the next 16 bytes.
MULTIPLIES static inline __m128i past_16(__m128i state) {
    return times(state, 0x65673B4600000000, 0x9BA54C6F00000000);
}

// State * x^512.
MULTIPLIES static inline __m128i past_64(__m128i state) {
    return times(state, 0x653D982200000000, 0xCAD38E8F00000000);
}

MULTIPLIES static inline __m128i load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

// At least 16 bytes, continuing `crc`, as 16 bytes that leave the same remainder.
MULTIPLIES static inline __m128i fold(uint32_t crc, const uint8_t *bytes, size_t count) {
    const uint8_t *const end = bytes + count;
    __m128i state = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128((int)~crc));
    bytes += 16;
    if (count >= 64) {
        __m128i second = load(bytes), third = load(bytes + 16), fourth = load(bytes + 32);
        for (bytes += 48; end - bytes >= 64; bytes += 64) {
            state = _mm_xor_si128(past_64(state), load(bytes));
            second = _mm_xor_si128(past_64(second), load(bytes + 16));
            third = _mm_xor_si128(past_64(third), load(bytes + 32));
            fourth = _mm_xor_si128(past_64(fourth), load(bytes + 48));
        }
        state = _mm_xor_si128(past_16(state), second);
        state = _mm_xor_si128(past_16(state), third);
        state = _mm_xor_si128(past_16(state), fourth);
    }
    for (; end - bytes >= 16; bytes += 16) state = _mm_xor_si128(past_16(state), load(bytes));
    if (bytes == end) return state;
    // Of the state and the rest behind it the last 16 bytes stay, and as many as the rest has go in front of them.
    // Indices from 0x80 on stand for a zero, and for a byte that is not the state's.
    static const uint8_t indices[48] = {
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
        0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    };
    const __m128i leaving = load(indices + (end - bytes)), staying = load(indices + 16 + (end - bytes));
    const __m128i last = _mm_blendv_epi8(_mm_shuffle_epi8(state, staying), load(end - 16), staying);
    return _mm_xor_si128(past_16(_mm_shuffle_epi8(state, leaving)), last);
}

// The sum of 24 bytes, W0 * x^160 + W1 * x^96 + W2 * x^32 of three words: brought below degree 96 by x^160 and x^96,
// and below degree 32 by Barrett reduction with floor(x^95 / G).
MULTIPLIES static inline uint32_t reduce(uint64_t first, uint64_t second, uint64_t third) {
    const __m128i barrett = _mm_set_epi64x(0x00000001DB710641, (long long)0xB4E5B025F7011641);
    const __m128i front = _mm_set_epi64x((long long)second, (long long)first);
    __m128i sum = _mm_slli_si128(_mm_cvtsi64_si128((long long)third), 4);
    sum = _mm_xor_si128(sum, times(front, 0xAE68919100000000, 0xCCAA009E00000000));
    const __m128i quotient = _mm_clmulepi64_si128(_mm_srli_si128(sum, 4), barrett, 0x00);
    const __m128i product = _mm_clmulepi64_si128(quotient, barrett, 0x10);
    return ~(uint32_t)(_mm_extract_epi32(product, 2) ^ _mm_extract_epi32(sum, 3));
}

MULTIPLIES static uint32_t sum_by_multiplication(uint32_t crc, const void *bytes, size_t count) {
    const __m128i state = fold(crc, bytes, count);
    return reduce(0, (uint64_t)_mm_cvtsi128_si64(state), (uint64_t)_mm_extract_epi64(state, 1));
}

MULTIPLIES static uint32_t sum_words(uint32_t crc, uint64_t first, uint64_t second, uint64_t third) {
    return reduce(first ^ (uint32_t)~crc, second, third);
}

// The body is not brought to a sum of its own first.
MULTIPLIES static uint32_t sum_frame(const uint8_t *header, const void *body, size_t count) {
    const __m128i state = _mm_xor_si128(past_16(fold(0, body, count)), load(header));
    uint64_t last;
    memcpy(&last, header + 16, sizeof last);
    return reduce((uint64_t)_mm_cvtsi128_si64(state), (uint64_t)_mm_extract_epi64(state, 1), last);
}

static inline bool multiplies(void) { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }
static inline bool is_short(size_t count) { return count >= SHORTEST && count <= LONGEST && multiplies(); }
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

uint32_t martlet_crc32(uint32_t crc, const void *bytes, size_t count) {
#if defined(__x86_64__)
    if (is_short(count)) return sum_by_multiplication(crc, bytes, count);
#endif
    return sum_by_library(crc, bytes, count);
}

uint32_t martlet_crc32_words(uint32_t crc, uint64_t first, uint64_t second, uint64_t third) {
#if defined(__x86_64__)
    if (multiplies()) return sum_words(crc, first, second, third);
#elif defined(__ARM_FEATURE_CRC32)
    return ~__crc32d(__crc32d(__crc32d(~crc, first), second), third);
#endif
    const uint64_t words[3] = {first, second, third};
    return sum_by_library(crc, words, sizeof words);
}

uint32_t martlet_crc32_frame(const void *header, const void *body, size_t count) {
#if defined(__x86_64__)
    if (is_short(count)) return sum_frame(header, body, count);
#endif
    uint64_t words[3];
    memcpy(words, header, sizeof words);
    return martlet_crc32_words(martlet_crc32(0, body, count), words[0], words[1], words[2]);
}
