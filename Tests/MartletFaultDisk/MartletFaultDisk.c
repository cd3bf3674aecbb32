// The functions of the C library are defined here, without their checked variants.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE

#include "MartletFaultDisk.h"

#if !defined(__linux__) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)

int fault_disk_is_available(void) { return 0; }
fault_disk *fault_disk_create(const char *folder) { (void)folder; return 0; }
void fault_disk_destroy(fault_disk *disk) { (void)disk; }
long fault_disk_call_count(fault_disk *disk) { (void)disk; return 0; }
long fault_disk_failed_count(fault_disk *disk) { (void)disk; return 0; }
long fault_disk_open_count(fault_disk *disk) { (void)disk; return 0; }
void fault_disk_fail(fault_disk *disk, long call, long count, disk_fault fault) {
    (void)disk, (void)call, (void)count, (void)fault;
}
void fault_disk_cut_power(fault_disk *disk, long call) { (void)disk, (void)call; }
int fault_disk_restore_power(fault_disk *disk, uint64_t seed) { (void)disk, (void)seed; return -1; }
void fault_disk_settle(fault_disk *disk) { (void)disk; }

#else

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "Images.h"

enum { maxDiskCount = 64, maxDescriptorCount = 65536 };

typedef struct {
    fault_disk *disk;
    // NULL for files without durable contents.
    node *node;
    // The name with which it was opened.
    entry *entry;
} descriptor;

static fault_disk *disks[maxDiskCount];
static descriptor *descriptors[maxDescriptorCount];

// MARK: Functions of the C library

#define NEXT(name) ((__typeof__(&name))next_function(&next_##name, #name))
#define FUNCTIONS(with) \
    with(open) with(close) with(read) with(pread) with(write) with(pwrite) with(ftruncate) with(fsync) \
    with(fdatasync) with(unlink) with(rename) with(mkdir) with(rmdir) with(opendir)
#define SLOT(name) static void *next_##name;
FUNCTIONS(SLOT)

static void *next_function(void **slot, const char *name) {
    void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (!found) __atomic_store_n(slot, found = dlsym(RTLD_NEXT, name), __ATOMIC_RELAXED);
    return found;
}

int fault_disk_is_available(void) { return 1; }

// MARK: Counting

// The disk of a path, locked; NULL if it is on none.
static fault_disk *disk_of(const char *path) {
    for (int index = 0; path && index < maxDiskCount; index++) {
        fault_disk *disk = __atomic_load_n(&disks[index], __ATOMIC_ACQUIRE);
        if (!disk || strncmp(path, disk->folder, disk->folderLength) != 0) continue;
        if (path[disk->folderLength] != '/' && path[disk->folderLength] != 0) continue;
        pthread_mutex_lock(&disk->mutex);
        return disk;
    }
    return NULL;
}

// A descriptor of a disk, which is locked; NULL for any other.
static descriptor *descriptor_of(int fd) {
    if (fd < 0 || fd >= maxDescriptorCount) return NULL;
    descriptor *found = __atomic_load_n(&descriptors[fd], __ATOMIC_ACQUIRE);
    if (found) pthread_mutex_lock(&found->disk->mutex);
    return found;
}

static void unlock(fault_disk *disk) {
    int number = errno;
    pthread_mutex_unlock(&disk->mutex);
    errno = number;
}

// What a call needs, so that a lack of it makes the call fail.
enum { needsNothing = 0, needsSpace = 1, needsDescriptor = 2, isInterruptible = 4 };

// Counts a call. Returns the number of its error, or 0. A short write has the number -1.
static int begin(fault_disk *disk, int needs) {
    long call = ++disk->callCount;
    int number = 0;
    if (disk->powerEnd > 0 && call >= disk->powerEnd) {
        number = EIO;
    } else if (disk->firstFailure > 0 && call >= disk->firstFailure
        && call - disk->firstFailure < disk->failureCount) {
        switch (disk->fault) {
        case disk_fault_enospc: number = needs & needsSpace ? ENOSPC : 0; break;
        case disk_fault_eio: number = EIO; break;
        case disk_fault_emfile: number = needs & needsDescriptor ? EMFILE : 0; break;
        case disk_fault_eintr: number = needs & isInterruptible ? EINTR : 0; break;
        case disk_fault_short_write:
            if (needs == (needsSpace | isInterruptible)) {
                number = -1;
                disk->fault = disk_fault_enospc;
            }
            break;
        case disk_fault_none: break;
        }
    }
    disk->failedCount += number != 0;
    return number;
}

static int failed(fault_disk *disk, int number) {
    errno = number;
    unlock(disk);
    return -1;
}

// MARK: Replaced functions

static int track(fault_disk *disk, int fd, entry *entry, node *node) {
    if (fd < 0 || fd >= maxDescriptorCount) return fd;
    descriptor *new = checked(calloc(1, sizeof *new));
    *new = (descriptor){.disk = disk, .node = node, .entry = entry};
    disk->openCount++;
    __atomic_store_n(&descriptors[fd], new, __ATOMIC_RELEASE);
    return fd;
}

static int open_file(const char *path, int flags, int mode) {
    fault_disk *disk = disk_of(path);
    if (!disk) return NEXT(open)(path, flags, mode);
    int isShared = is_shared_memory(path);
    entry *entry = entry_of(disk, path);
    int isNew = !entry->present && flags & O_CREAT;
    int number = begin(disk, needsDescriptor | isInterruptible | (isNew ? needsSpace : 0));
    if (number) return failed(disk, number);
    int fd = NEXT(open)(path, flags, mode);
    if (fd >= 0) {
        if (isNew && !isShared) change_name(disk, NULL, entry, add_node(disk, 0));
        node *node = isShared ? NULL : entry->present;
        if (flags & O_TRUNC) note(node, NULL, 0, 0);
        track(disk, fd, entry, node);
    }
    unlock(disk);
    return fd;
}

#define MODE(flags) \
    int mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode = va_arg(arguments, int); \
        va_end(arguments); \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return open_file(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags)
    return open_file(path, flags, mode);
}

#define FINISHED(result) \
    unlock(disk); \
    return result

int close(int fd) {
    descriptor *found = descriptor_of(fd);
    if (!found) return NEXT(close)(fd);
    fault_disk *disk = found->disk;
    __atomic_store_n(&descriptors[fd], NULL, __ATOMIC_RELEASE);
    free(found);
    int result = NEXT(close)(fd);
    disk->openCount--;
    FINISHED(result);
}

#define COUNTED(fd, needs, call) \
    descriptor *found = descriptor_of(fd); \
    if (!found) return call; \
    fault_disk *disk = found->disk; \
    int number = begin(disk, needs); \
    if (number > 0) return failed(disk, number);

ssize_t read(int fd, void *bytes, size_t count) {
    COUNTED(fd, isInterruptible, NEXT(read)(fd, bytes, count))
    ssize_t result = NEXT(read)(fd, bytes, count);
    FINISHED(result);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    COUNTED(fd, isInterruptible, NEXT(pread)(fd, bytes, count, offset))
    ssize_t result = NEXT(pread)(fd, bytes, count, offset);
    FINISHED(result);
}
ssize_t pread64(int fd, void *bytes, size_t count, off_t offset) { return pread(fd, bytes, count, offset); }

ssize_t write(int fd, const void *bytes, size_t count) {
    COUNTED(fd, needsSpace | isInterruptible, NEXT(write)(fd, bytes, count))
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t result = NEXT(write)(fd, bytes, number < 0 && count > 1 ? count / 2 : count);
    if (result > 0) note(found->node, bytes, result, offset);
    FINISHED(result);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    COUNTED(fd, needsSpace | isInterruptible, NEXT(pwrite)(fd, bytes, count, offset))
    ssize_t result = NEXT(pwrite)(fd, bytes, number < 0 && count > 1 ? count / 2 : count, offset);
    if (result > 0) note(found->node, bytes, result, offset);
    FINISHED(result);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) { return pwrite(fd, bytes, count, offset); }

int ftruncate(int fd, off_t length) {
    COUNTED(fd, needsSpace, NEXT(ftruncate)(fd, length))
    int result = NEXT(ftruncate)(fd, length);
    if (result == 0) note(found->node, NULL, 0, length);
    FINISHED(result);
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

static int synced(descriptor *found, fault_disk *disk) {
    if (found->node && found->node->isFolder) sync_names(disk, found->entry->path, NULL);
    else if (found->node) sync_file(disk, found->node);
    FINISHED(0);
}

int fsync(int fd) {
    COUNTED(fd, needsSpace, NEXT(fsync)(fd))
    return synced(found, disk);
}
int fdatasync(int fd) {
    COUNTED(fd, needsSpace, NEXT(fdatasync)(fd))
    return synced(found, disk);
}

#define NAMED(path, needs, call) \
    fault_disk *disk = disk_of(path); \
    if (!disk) return call; \
    entry *entry = entry_of(disk, path); \
    int number = begin(disk, needs); \
    if (number) return failed(disk, number);

int unlink(const char *path) {
    NAMED(path, needsNothing, NEXT(unlink)(path))
    int result = NEXT(unlink)(path);
    if (result == 0 && entry->present) change_name(disk, entry, NULL, NULL);
    FINISHED(result);
}

int rmdir(const char *path) {
    NAMED(path, needsNothing, NEXT(rmdir)(path))
    int result = NEXT(rmdir)(path);
    if (result == 0) change_name(disk, entry, NULL, NULL);
    FINISHED(result);
}

int mkdir(const char *path, mode_t mode) {
    NAMED(path, needsSpace, NEXT(mkdir)(path, mode))
    int result = NEXT(mkdir)(path, mode);
    if (result == 0) change_name(disk, NULL, entry, add_node(disk, 1));
    FINISHED(result);
}

int rename(const char *path, const char *other) {
    NAMED(path, needsSpace, NEXT(rename)(path, other))
    struct entry *target = entry_of(disk, other);
    int result = NEXT(rename)(path, other);
    if (result == 0) change_name(disk, entry, target, entry->present);
    FINISHED(result);
}

DIR *opendir(const char *path) {
    fault_disk *disk = disk_of(path);
    if (!disk) return NEXT(opendir)(path);
    int number = begin(disk, needsDescriptor | isInterruptible);
    if (number) {
        failed(disk, number);
        return NULL;
    }
    DIR *result = NEXT(opendir)(path);
    FINISHED(result);
}

// MARK: Disks

fault_disk *fault_disk_create(const char *folder) {
    fault_disk *disk = checked(calloc(1, sizeof *disk));
    disk->folder = checked(strdup(folder));
    disk->folderLength = strlen(folder);
    pthread_mutex_init(&disk->mutex, NULL);
    for (int index = 0; index < maxDiskCount; index++) {
        fault_disk *none = NULL;
        if (__atomic_compare_exchange_n(&disks[index], &none, disk, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return disk;
    }
    free(disk->folder);
    free(disk);
    return NULL;
}

void fault_disk_destroy(fault_disk *disk) {
    for (int index = 0; index < maxDiskCount; index++) {
        fault_disk *own = disk;
        __atomic_compare_exchange_n(&disks[index], &own, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    pthread_mutex_lock(&disk->mutex);
    for (int fd = 0; fd < maxDescriptorCount; fd++) {
        descriptor *found = __atomic_load_n(&descriptors[fd], __ATOMIC_ACQUIRE);
        if (found && found->disk == disk) __atomic_store_n(&descriptors[fd], NULL, __ATOMIC_RELEASE);
    }
    forget(disk);
    // The memory of the disk remains, because another thread may have begun a call.
    pthread_mutex_unlock(&disk->mutex);
}

static long locked(fault_disk *disk, const long *value) {
    pthread_mutex_lock(&disk->mutex);
    long result = *value;
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

long fault_disk_call_count(fault_disk *disk) { return locked(disk, &disk->callCount); }
long fault_disk_failed_count(fault_disk *disk) { return locked(disk, &disk->failedCount); }
long fault_disk_open_count(fault_disk *disk) { return locked(disk, &disk->openCount); }

void fault_disk_fail(fault_disk *disk, long call, long count, disk_fault fault) {
    pthread_mutex_lock(&disk->mutex);
    disk->firstFailure = call;
    disk->failureCount = count;
    disk->fault = fault;
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_cut_power(fault_disk *disk, long call) {
    pthread_mutex_lock(&disk->mutex);
    disk->powerEnd = call;
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_settle(fault_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    forget(disk);
    pthread_mutex_unlock(&disk->mutex);
}

// MARK: Loss of power

static int store(const entry *entry) {
    FILE *file = fopen(entry->path, "wb");
    // The name of a folder may not have survived, and then none of its files.
    if (!file) return errno == ENOENT ? 0 : -1;
    size_t written = entry->durable->length ? fwrite(entry->durable->bytes, 1, entry->durable->length, file) : 0;
    return fclose(file) == 0 && written == (size_t)entry->durable->length ? 0 : -1;
}

int fault_disk_restore_power(fault_disk *disk, uint64_t seed) {
    int result = 0;
    pthread_mutex_lock(&disk->mutex);
    uint64_t count = 0;
    for (rename_op *op = disk->ops; op; op = op->next) count++;
    uint64_t kept = draw(&seed, 3) ? draw(&seed, count + 1) : count * draw(&seed, 2);
    for (rename_op *op = disk->ops; op && kept > 0; op = op->next, kept--) make_durable(op);
    for (node *node = disk->nodes; node; node = node->next) {
        for (change *change = node->first; change; change = change->next) survive(node, change, &seed);
    }
    for (entry *entry = disk->entries; entry; entry = entry->next) {
        if (!entry->present || !entry->present->isFolder) NEXT(unlink)(entry->path);
    }
    for (entry *entry = disk->entries; entry; entry = entry->next) {
        if (is_shared_memory(entry->path) || !entry->durable) continue;
        if (entry->durable->isFolder) NEXT(mkdir)(entry->path, 0700);
    }
    for (entry *entry = disk->entries; entry; entry = entry->next) {
        if (is_shared_memory(entry->path)) continue;
        if (!entry->durable) NEXT(rmdir)(entry->path);
        else if (!entry->durable->isFolder && store(entry) != 0) result = -1;
    }
    forget(disk);
    disk->powerEnd = 0;
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

#endif
