#define _GNU_SOURCE
#include "CBaselines.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

// The program replaces the functions of the allocator, so that the libraries that it loads are counted too. All
// threads share one counter, because the work for a message is done on several.

static atomic_bool is_counting;
static atomic_uint_fast64_t allocations;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static inline void count(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *p, size_t size) {
    count();
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size) {
    count();
    *p = __libc_memalign(alignment, size);
    return *p == NULL ? ENOMEM : 0;
}

void measure_allocations_begin(void) {
    atomic_store(&allocations, 0);
    atomic_store(&is_counting, true);
}

uint64_t measure_allocations_end(void) {
    atomic_store(&is_counting, false);
    return atomic_load(&allocations);
}

uint64_t measure_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) void measure_counted(void (*work)(void *), void *context) {
    work(context);
    __asm__ volatile("" ::: "memory");
}

void measure_keep(uint64_t value) { __asm__ volatile("" ::"r"(value) : "memory"); }

void *baseline_library_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

void *baseline_library_symbol(void *library, const char *name) { return dlsym(library, name); }
