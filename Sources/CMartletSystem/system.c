#define _GNU_SOURCE
#include "CMartletSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

int32_t martlet_classify_error(int32_t number) {
    switch (number) {
    case EAGAIN: return martlet_error_would_block;
    case EINPROGRESS: return martlet_error_in_progress;
    case ECONNREFUSED: return martlet_error_refused;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return martlet_error_reset;
    case ETIMEDOUT: return martlet_error_timed_out;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EAFNOSUPPORT: return martlet_error_unreachable;
    case EMFILE:
    case ENFILE: return martlet_error_descriptors;
    case ENOBUFS:
    case ENOMEM: return martlet_error_memory;
    case EADDRINUSE: return martlet_error_address_in_use;
    case EADDRNOTAVAIL: return martlet_error_address_not_available;
    case EACCES:
    case EPERM: return martlet_error_permission;
    default: return martlet_error_other;
    }
}

void martlet_error_text(int32_t number, char *buffer, size_t count) {
#if defined(__GLIBC__)
    snprintf(buffer, count, "%s", strerror_r(number, buffer, count));
#else
    if (strerror_r(number, buffer, count) != 0) snprintf(buffer, count, "error %d", number);
#endif
}

void martlet_close(int32_t descriptor) {
    // Never repeated: after EINTR the descriptor is gone, and may be someone else's already.
    close(descriptor);
}

uint64_t martlet_clock(void) {
    struct timespec time;
#ifdef __linux__
    clock_gettime(CLOCK_BOOTTIME, &time);  // C-53
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t martlet_wall_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u;
}

static _Thread_local const void *current_loop;

const void *martlet_current_loop(void) { return current_loop; }

void martlet_set_current_loop(const void *loop) { current_loop = loop; }

struct thread_start {
    void (*body)(void *);
    void *context;
    char name[16];
};

static void *thread_main(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
#ifdef __linux__
    pthread_setname_np(pthread_self(), start.name);
#else
    pthread_setname_np(start.name);
#endif
    start.body(start.context);
    return NULL;
}

size_t martlet_time_text(int64_t seconds, int32_t is_local, const char *format, char *buffer, size_t count) {
    time_t time = (time_t)seconds;
    struct tm parts;
    if ((is_local ? localtime_r(&time, &parts) : gmtime_r(&time, &parts)) == NULL) return 0;
    return strftime(buffer, count, format, &parts);
}

void martlet_thread_pause(uint32_t microseconds) {
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = (long)(microseconds % 1000000) * 1000};
    nanosleep(&time, NULL);
}

int32_t martlet_thread_start(const char *name, void (*body)(void *), void *context) {
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL) return -ENOMEM;
    start->body = body;
    start->context = context;
    snprintf(start->name, sizeof start->name, "%s", name);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int result = pthread_create(&thread, &attributes, thread_main, start);
    pthread_attr_destroy(&attributes);
    if (result != 0) free(start);
    return -result;
}

#ifdef __GLIBC__
void martlet_heap_share(int32_t count) {
    mallopt(M_ARENA_MAX, count);
    // Large blocks are mapped by themselves, and the free end of a heap is given back: without these two glibc raises
    // both limits to what was freed last.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

void martlet_heap_trim(void) { malloc_trim(0); }
#else
void martlet_heap_share(int32_t count) { (void)count; }

void martlet_heap_trim(void) {}
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MARTLET_THREAD_SANITIZER 1
#endif
#endif

#ifdef MARTLET_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);

void martlet_sanitizer_acquire(const void *address) { __tsan_acquire((void *)address); }

void martlet_sanitizer_release(const void *address) { __tsan_release((void *)address); }
#else
void martlet_sanitizer_acquire(const void *address) { (void)address; }

void martlet_sanitizer_release(const void *address) { (void)address; }
#endif

int64_t martlet_file_read(const char *path, void *buffer, size_t count) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    size_t used = 0;
    int64_t result = 0;
    while (used < count) {
        ssize_t part = read(descriptor, (char *)buffer + used, count - used);
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) result = -errno;
        if (part <= 0) break;
        used += (size_t)part;
    }
    close(descriptor);
    return result < 0 ? result : (int64_t)used;
}

const char *martlet_environment(const char *name) { return getenv(name); }
