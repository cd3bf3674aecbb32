#include "MartletFaultVFS.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

// A change of a file that is not synced. Without bytes it sets the length of the file.
typedef struct change {
    struct change *next;
    sqlite3_int64 offset;
    int length;
    unsigned char *bytes;
} change;

// The durable contents of a file, and its changes since the last sync.
typedef struct image {
    struct image *next;
    char *path;
    int exists;
    // Whether the file was deleted, and the entry of its folder not synced.
    int is_deleted;
    unsigned char *bytes;
    sqlite3_int64 length;
    change *first, *last;
} image;

struct fault_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
    pthread_mutex_t mutex;
    char *name;
    long call_count, failed_count;
    long first_failure, failure_count, power_end;
    fault_kind kind;
    image *images;
};

typedef struct {
    sqlite3_file base;
    fault_vfs *vfs;
    image *image;
    sqlite3_file *real;
} fault_file;

// MARK: System calls
//
// The fault of the system call that this thread performs next. Only calls of this VFS set it.
static _Thread_local fault_kind next_fault;

static int (*real_open)(const char *, int, int);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);

static int takes_fault(void) {
    fault_kind kind = next_fault;
    if (kind == fault_none) return 0;
    next_fault = fault_none;
    errno = kind == fault_enospc ? ENOSPC : kind == fault_eintr ? EINTR : EIO;
    return 1;
}

static size_t shortened(size_t count) {
    if (next_fault != fault_short_write || count < 2) return count;
    next_fault = fault_enospc;
    return count / 2;
}

static int faulty_open(const char *path, int flags, int mode) {
    return takes_fault() ? -1 : real_open(path, flags, mode);
}
static ssize_t faulty_read(int fd, void *bytes, size_t count) {
    return takes_fault() ? -1 : real_read(fd, bytes, count);
}
static ssize_t faulty_pread(int fd, void *bytes, size_t count, off_t offset) {
    return takes_fault() ? -1 : real_pread(fd, bytes, count, offset);
}
static ssize_t faulty_write(int fd, const void *bytes, size_t count) {
    size_t part = shortened(count);
    if (part < count) return real_write(fd, bytes, part);
    return takes_fault() ? -1 : real_write(fd, bytes, count);
}
static ssize_t faulty_pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    size_t part = shortened(count);
    if (part < count) return real_pwrite(fd, bytes, part, offset);
    return takes_fault() ? -1 : real_pwrite(fd, bytes, count, offset);
}
static int faulty_ftruncate(int fd, off_t length) {
    return takes_fault() ? -1 : real_ftruncate(fd, length);
}

static void replace(sqlite3_vfs *vfs, const char *name, void *real, sqlite3_syscall_ptr faulty) {
    sqlite3_syscall_ptr present = vfs->xGetSystemCall(vfs, name);
    if (!present) return;
    memcpy(real, &present, sizeof present);
    vfs->xSetSystemCall(vfs, name, faulty);
}

static void replace_system_calls(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    replace(vfs, "open", &real_open, (sqlite3_syscall_ptr)faulty_open);
    replace(vfs, "read", &real_read, (sqlite3_syscall_ptr)faulty_read);
    replace(vfs, "pread", &real_pread, (sqlite3_syscall_ptr)faulty_pread);
    replace(vfs, "pread64", &real_pread, (sqlite3_syscall_ptr)faulty_pread);
    replace(vfs, "write", &real_write, (sqlite3_syscall_ptr)faulty_write);
    replace(vfs, "pwrite", &real_pwrite, (sqlite3_syscall_ptr)faulty_pwrite);
    replace(vfs, "pwrite64", &real_pwrite, (sqlite3_syscall_ptr)faulty_pwrite);
    replace(vfs, "ftruncate", &real_ftruncate, (sqlite3_syscall_ptr)faulty_ftruncate);
}

// MARK: Counting

// Counts a call. Returns whether the power is off; otherwise sets the fault of its system call.
static int begin(fault_vfs *vfs) {
    pthread_mutex_lock(&vfs->mutex);
    long call = ++vfs->call_count;
    int is_off = vfs->power_end > 0 && call >= vfs->power_end;
    int fails = vfs->first_failure > 0 && call >= vfs->first_failure
        && call - vfs->first_failure < vfs->failure_count;
    next_fault = fails && !is_off ? vfs->kind : fault_none;
    vfs->failed_count += fails || is_off;
    pthread_mutex_unlock(&vfs->mutex);
    return is_off;
}

static image *find(fault_vfs *vfs, const char *path) {
    image *found = vfs->images;
    while (found && strcmp(found->path, path) != 0) found = found->next;
    return found;
}

static image *add(fault_vfs *vfs, const char *path) {
    image *new = calloc(1, sizeof *new);
    if (!new || !(new->path = strdup(path))) abort();
    new->next = vfs->images;
    vfs->images = new;
    FILE *file = fopen(path, "rb");
    if (!file) return new;
    new->exists = 1;
    fseek(file, 0, SEEK_END);
    new->length = ftell(file);
    rewind(file);
    if (new->length && !(new->bytes = malloc(new->length))) abort();
    if (fread(new->bytes, 1, new->length, file) != (size_t)new->length) abort();
    fclose(file);
    return new;
}

static void set_length(image *image, sqlite3_int64 length) {
    if (length > image->length) {
        image->bytes = realloc(image->bytes, length);
        if (!image->bytes) abort();
        memset(image->bytes + image->length, 0, length - image->length);
    }
    image->length = length;
}

static void apply_part(image *image, const change *change, int from, int to) {
    if (from >= to) return;
    if (change->offset + to > image->length) set_length(image, change->offset + to);
    memcpy(image->bytes + change->offset + from, change->bytes + from, to - from);
}

static void apply(image *image, const change *change) {
    if (change->bytes) apply_part(image, change, 0, change->length);
    else set_length(image, change->offset);
}

static void note(fault_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    if (!file->image) return;
    change *new = calloc(1, sizeof *new);
    if (!new) abort();
    new->offset = offset;
    new->length = length;
    if (bytes) {
        new->bytes = malloc(length ? length : 1);
        if (!new->bytes) abort();
        memcpy(new->bytes, bytes, length);
    }
    pthread_mutex_lock(&file->vfs->mutex);
    if (file->image->last) file->image->last->next = new;
    else file->image->first = new;
    file->image->last = new;
    pthread_mutex_unlock(&file->vfs->mutex);
}

static void discard_changes(image *image) {
    while (image->first) {
        change *next = image->first->next;
        free(image->first->bytes);
        free(image->first);
        image->first = next;
    }
    image->last = NULL;
}

static void discard_images(fault_vfs *vfs) {
    while (vfs->images) {
        image *image = vfs->images;
        vfs->images = image->next;
        discard_changes(image);
        free(image->bytes);
        free(image->path);
        free(image);
    }
}

// MARK: Files

#define FILE_OF(file) fault_file *self = (fault_file *)(file); sqlite3_file *real = self->real
#define FORWARD(name, ...) return real->pMethods->name(real, ##__VA_ARGS__)

static int file_close(sqlite3_file *file) { FILE_OF(file); FORWARD(xClose); }

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    FILE_OF(file);
    if (begin(self->vfs)) return SQLITE_IOERR_READ;
    int result = real->pMethods->xRead(real, bytes, count, offset);
    next_fault = fault_none;
    return result;
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    FILE_OF(file);
    if (begin(self->vfs)) return SQLITE_IOERR_WRITE;
    int fails = next_fault != fault_none && next_fault != fault_eintr;
    int written = !fails ? count : next_fault == fault_short_write ? count / 2 : 0;
    int result = real->pMethods->xWrite(real, bytes, count, offset);
    next_fault = fault_none;
    if (written) note(self, bytes, written, offset);
    return result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 length) {
    FILE_OF(file);
    if (begin(self->vfs)) return SQLITE_IOERR_TRUNCATE;
    int result = real->pMethods->xTruncate(real, length);
    next_fault = fault_none;
    if (result == SQLITE_OK) note(self, NULL, 0, length);
    return result;
}

static int file_sync(sqlite3_file *file, int flags) {
    fault_file *self = (fault_file *)file;
    (void)flags;
    if (begin(self->vfs)) return SQLITE_IOERR_FSYNC;
    int fails = next_fault != fault_none;
    next_fault = fault_none;
    if (fails) return SQLITE_IOERR_FSYNC;
    image *image = self->image;
    if (!image) return SQLITE_OK;
    pthread_mutex_lock(&self->vfs->mutex);
    for (change *change = image->first; change; change = change->next) apply(image, change);
    discard_changes(image);
    image->exists = 1;
    image->is_deleted = 0;
    pthread_mutex_unlock(&self->vfs->mutex);
    return SQLITE_OK;
}

// Counts a call without a system call of its own that can be interrupted. Returns whether it fails.
static int fails(fault_vfs *vfs) {
    if (begin(vfs)) return 1;
    int fails = next_fault != fault_none && next_fault != fault_eintr;
    next_fault = fault_none;
    return fails;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    FILE_OF(file);
    if (fails(self->vfs)) return SQLITE_IOERR_FSTAT;
    FORWARD(xFileSize, size);
}
static int file_lock(sqlite3_file *file, int level) { FILE_OF(file); FORWARD(xLock, level); }
static int file_unlock(sqlite3_file *file, int level) { FILE_OF(file); FORWARD(xUnlock, level); }
static int file_check(sqlite3_file *file, int *result) { FILE_OF(file); FORWARD(xCheckReservedLock, result); }
static int file_control(sqlite3_file *file, int op, void *arg) {
    FILE_OF(file);
    // A hint to allocate would change the length of the file without a counted call.
    if (op == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
    FORWARD(xFileControl, op, arg);
}
static int file_sector(sqlite3_file *file) { FILE_OF(file); FORWARD(xSectorSize); }
static int file_device(sqlite3_file *file) { FILE_OF(file); FORWARD(xDeviceCharacteristics); }
static int file_shm_map(sqlite3_file *file, int page, int size, int extends, void volatile **result) {
    FILE_OF(file);
    if (fails(self->vfs)) return SQLITE_IOERR_SHMSIZE;
    FORWARD(xShmMap, page, size, extends, result);
}
static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags) {
    FILE_OF(file);
    FORWARD(xShmLock, offset, n, flags);
}
static void file_shm_barrier(sqlite3_file *file) { FILE_OF(file); real->pMethods->xShmBarrier(real); }
static int file_shm_unmap(sqlite3_file *file, int deletes) { FILE_OF(file); FORWARD(xShmUnmap, deletes); }

static const sqlite3_io_methods methods = {
    .iVersion = 2, .xClose = file_close, .xRead = file_read, .xWrite = file_write, .xTruncate = file_truncate,
    .xSync = file_sync, .xFileSize = file_size, .xLock = file_lock, .xUnlock = file_unlock,
    .xCheckReservedLock = file_check, .xFileControl = file_control, .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device, .xShmMap = file_shm_map, .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier, .xShmUnmap = file_shm_unmap,
};

// MARK: The VFS

static int vfs_open(sqlite3_vfs *base, sqlite3_filename path, sqlite3_file *file, int flags, int *out) {
    fault_vfs *vfs = (fault_vfs *)base;
    fault_file *self = (fault_file *)file;
    memset(self, 0, sizeof *self);
    if (begin(vfs)) return SQLITE_CANTOPEN;
    self->vfs = vfs;
    self->real = (sqlite3_file *)(self + 1);
    if (path) {
        pthread_mutex_lock(&vfs->mutex);
        self->image = find(vfs, path);
        if (!self->image) self->image = add(vfs, path);
        // A deleted file that is created again does not reappear.
        if (self->image->is_deleted) self->image->is_deleted = self->image->exists = 0, self->image->length = 0;
        pthread_mutex_unlock(&vfs->mutex);
    }
    int result = vfs->real->xOpen(vfs->real, path, self->real, flags, out);
    next_fault = fault_none;
    if (self->real->pMethods) self->base.pMethods = &methods;
    return result;
}

static int vfs_delete(sqlite3_vfs *base, const char *path, int syncs) {
    fault_vfs *vfs = (fault_vfs *)base;
    if (begin(vfs)) return SQLITE_IOERR_DELETE;
    int fails = next_fault != fault_none && next_fault != fault_eintr;
    next_fault = fault_none;
    if (fails) return SQLITE_IOERR_DELETE;
    int result = vfs->real->xDelete(vfs->real, path, 0);
    pthread_mutex_lock(&vfs->mutex);
    image *image = result == SQLITE_OK ? find(vfs, path) : NULL;
    if (image) {
        discard_changes(image);
        image->is_deleted = 1;
        if (syncs) image->exists = 0, image->length = 0;
    }
    pthread_mutex_unlock(&vfs->mutex);
    return result;
}

static int vfs_access(sqlite3_vfs *base, const char *path, int flags, int *result) {
    fault_vfs *vfs = (fault_vfs *)base;
    if (fails(vfs)) return SQLITE_IOERR_ACCESS;
    return vfs->real->xAccess(vfs->real, path, flags, result);
}

fault_vfs *fault_vfs_create(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sqlite3_initialize();
    pthread_once(&once, replace_system_calls);
    fault_vfs *vfs = calloc(1, sizeof *vfs);
    if (!vfs || !(vfs->name = strdup(name))) return NULL;
    vfs->real = sqlite3_vfs_find(NULL);
    // The remaining functions do not use the VFS that they receive.
    vfs->base = *vfs->real;
    vfs->base.pNext = NULL;
    vfs->base.zName = vfs->name;
    vfs->base.szOsFile = sizeof(fault_file) + vfs->real->szOsFile;
    vfs->base.xOpen = vfs_open;
    vfs->base.xDelete = vfs_delete;
    vfs->base.xAccess = vfs_access;
    pthread_mutex_init(&vfs->mutex, NULL);
    sqlite3_vfs_register(&vfs->base, 0);
    return vfs;
}

void fault_vfs_destroy(fault_vfs *vfs) {
    sqlite3_vfs_unregister(&vfs->base);
    discard_images(vfs);
    pthread_mutex_destroy(&vfs->mutex);
    free(vfs->name);
    free(vfs);
}

static long locked(fault_vfs *vfs, const long *value) {
    pthread_mutex_lock(&vfs->mutex);
    long result = *value;
    pthread_mutex_unlock(&vfs->mutex);
    return result;
}

long fault_vfs_call_count(fault_vfs *vfs) { return locked(vfs, &vfs->call_count); }
long fault_vfs_failed_count(fault_vfs *vfs) { return locked(vfs, &vfs->failed_count); }

void fault_vfs_fail(fault_vfs *vfs, long call, long count, fault_kind kind) {
    pthread_mutex_lock(&vfs->mutex);
    vfs->first_failure = call;
    vfs->failure_count = count;
    vfs->kind = kind;
    pthread_mutex_unlock(&vfs->mutex);
}

void fault_vfs_cut_power(fault_vfs *vfs, long call) {
    pthread_mutex_lock(&vfs->mutex);
    vfs->power_end = call;
    pthread_mutex_unlock(&vfs->mutex);
}

// MARK: Loss of power

// SplitMix64.
static uint64_t draw(uint64_t *seed, uint64_t bound) {
    uint64_t value = *seed += 0x9E3779B97F4A7C15;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return (value ^ (value >> 31)) % bound;
}

// Applies all, nothing or some sectors of a change.
static void survive(image *image, const change *change, uint64_t *seed) {
    switch (draw(seed, 4)) {
    case 0: return;
    case 1: break;
    default: apply(image, change); return;
    }
    for (int from = 0; change->bytes && from < change->length; from += 512) {
        int to = from + 512 < change->length ? from + 512 : change->length;
        if (draw(seed, 2)) apply_part(image, change, from, to);
    }
}

static int store(const image *image) {
    FILE *file = fopen(image->path, "wb");
    if (!file) return -1;
    size_t written = fwrite(image->bytes, 1, image->length, file);
    return fclose(file) == 0 && written == (size_t)image->length ? 0 : -1;
}

int fault_vfs_restore_power(fault_vfs *vfs, uint64_t seed) {
    int result = 0;
    pthread_mutex_lock(&vfs->mutex);
    for (image *image = vfs->images; image; image = image->next) {
        char shared[4096];
        snprintf(shared, sizeof shared, "%s-shm", image->path);
        unlink(shared);
        int was_written = image->first != NULL;
        for (change *change = image->first; change; change = change->next) survive(image, change, &seed);
        // Without a sync, the entry of a new or deleted file may have been written or not.
        int changes = image->is_deleted ? 1 : !image->exists && was_written;
        int exists = changes ? (int)draw(&seed, 2) && (image->exists || was_written) : image->exists;
        if (!exists) unlink(image->path);
        else if (store(image) != 0) result = -1;
    }
    discard_images(vfs);
    vfs->power_end = 0;
    pthread_mutex_unlock(&vfs->mutex);
    return result;
}
