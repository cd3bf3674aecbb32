// An SQLite VFS for tests: it fails chosen calls, and simulates the loss of power.
//
// Counted calls are open, read, write, sync, truncate, delete, size, access, and maps of shared memory. The files are
// real ones, of the system's VFS; nothing is synced in fact. Connections of one VFS may be used by several threads.
#pragma once
#include <stdint.h>

typedef struct fault_vfs fault_vfs;

typedef enum {
    fault_none,
    fault_enospc,
    fault_eio,
    // The system call is interrupted once. SQLite repeats it, except a sync.
    fault_eintr,
    // Half of the bytes are written, then ENOSPC. Other calls fail with EIO.
    fault_short_write,
} fault_kind;

// Registers a VFS. NULL if memory is exhausted.
fault_vfs *fault_vfs_create(const char *name);

// Unregisters a VFS, whose connections are closed.
void fault_vfs_destroy(fault_vfs *vfs);

// The number of calls so far.
long fault_vfs_call_count(fault_vfs *vfs);

// Fails the call with this number, counted from the creation, and the `count - 1` calls after it.
void fault_vfs_fail(fault_vfs *vfs, long call, long count, fault_kind kind);

// The number of calls that have failed.
long fault_vfs_failed_count(fault_vfs *vfs);

// From this call on, every call fails, and no file changes.
void fault_vfs_cut_power(fault_vfs *vfs, long call);

// Writes what has survived: everything synced, and of each later write all, nothing or some sectors, as the seed
// chooses. All connections are closed before. The power is then on again. Returns 0, or -1 if a file cannot be written.
int fault_vfs_restore_power(fault_vfs *vfs, uint64_t seed);
