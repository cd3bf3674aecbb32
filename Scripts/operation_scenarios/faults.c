// Faults of a system for one process, as a library for LD_PRELOAD: the wall clock is shifted, and the files below
// FAULT_FOLDER are read-only. The file FAULT_STATE contains the current state of both: the shift in nanoseconds, and
// whether the files are read-only, each as 64 bits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct state {
    volatile int64_t shift;
    volatile int64_t is_read_only;
};

static struct state none;
static struct state *state = &none;
static const char *folder = "";

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_STATE");
    if (getenv("FAULT_FOLDER")) folder = getenv("FAULT_FOLDER");
    int descriptor = path ? NEXT(open)(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *map = mmap(NULL, sizeof(struct state), PROT_READ, MAP_SHARED, descriptor, 0);
    if (map != MAP_FAILED) state = map;
    close(descriptor);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = NEXT(clock_gettime);
    int result = next(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t total = time->tv_sec * INT64_C(1000000000) + time->tv_nsec + state->shift;
        time->tv_sec = total / 1000000000;
        time->tv_nsec = total % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    value->tv_sec = now.tv_sec;
    value->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

static int is_denied(const char *path) {
    if (!state->is_read_only || !*folder || strncmp(path, folder, strlen(folder)) != 0) return 0;
    errno = EROFS;
    return 1;
}

static int is_denied_descriptor(int descriptor) {
    if (!state->is_read_only) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count < 0) return 0;
    path[count] = 0;
    return is_denied(path);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;                                      \
        va_end(list);                                                                                                  \
        if (flags & (O_WRONLY | O_RDWR | O_CREAT) && is_denied(path)) return -1;                                       \
        return NEXT(name)(path, flags, mode);                                                                          \
    }
OPEN(open)
OPEN(open64)

#define ON_DESCRIPTOR(type, name, parameters, arguments)                                                               \
    type name parameters {                                                                                             \
        if (is_denied_descriptor(descriptor)) return -1;                                                               \
        return NEXT(name) arguments;                                                                                   \
    }
ON_DESCRIPTOR(ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
ON_DESCRIPTOR(
    ssize_t, pwrite, (int descriptor, const void *bytes, size_t count, off_t at), (descriptor, bytes, count, at))
ON_DESCRIPTOR(
    ssize_t, pwrite64, (int descriptor, const void *bytes, size_t count, off64_t at), (descriptor, bytes, count, at))
ON_DESCRIPTOR(int, ftruncate, (int descriptor, off_t count), (descriptor, count))
ON_DESCRIPTOR(int, ftruncate64, (int descriptor, off64_t count), (descriptor, count))

int unlink(const char *path) { return is_denied(path) ? -1 : NEXT(unlink)(path); }
int rename(const char *from, const char *to) { return is_denied(from) ? -1 : NEXT(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return is_denied(path) ? -1 : NEXT(mkdir)(path, mode); }
