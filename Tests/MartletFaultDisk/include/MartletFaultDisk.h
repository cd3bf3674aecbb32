// A simulated disk for tests: the files below a folder, whose calls fail on request, and which loses its power.
//
// The functions of the C library for files are replaced in the whole process. They affect only paths below the folder
// of a disk, so SQLite, plain files and folders have the same faults. The files are real ones; nothing is synced in
// fact. The replacement works on Linux, without a sanitizer.
//
// Counted calls are open, read, pread, write, pwrite, ftruncate, fsync, fdatasync, unlink, rename, mkdir, rmdir and
// opendir. A disk may be used by several threads.
#pragma once
#include <stdint.h>

typedef struct fault_disk fault_disk;

typedef enum {
    disk_fault_none,
    // Calls that need space fail: writes, syncs, and new files and folders.
    disk_fault_enospc,
    // All calls fail.
    disk_fault_eio,
    // Calls that need a descriptor fail.
    disk_fault_emfile,
    // A signal interrupts reads, writes and opens.
    disk_fault_eintr,
    // The first write stores half of its bytes. Later writes fail with ENOSPC.
    disk_fault_short_write,
} disk_fault;

// Whether the functions are replaced.
int fault_disk_is_available(void);

// A disk with the files below a folder. NULL if there are too many disks.
fault_disk *fault_disk_create(const char *folder);

// Ends the simulation. The files remain as they are.
void fault_disk_destroy(fault_disk *disk);

// The number of calls so far, and the number of those that have failed.
long fault_disk_call_count(fault_disk *disk);
long fault_disk_failed_count(fault_disk *disk);

// The number of open files below the folder.
long fault_disk_open_count(fault_disk *disk);

// Fails the call with this number, counted from the creation, and the `count - 1` calls after it.
void fault_disk_fail(fault_disk *disk, long call, long count, disk_fault fault);

// From this call on, every call fails, and no file changes.
void fault_disk_cut_power(fault_disk *disk, long call);

// Writes what has survived: everything synced; of the later changes of names a first part; of each later write all,
// nothing or some sectors, as the seed chooses. All files are closed before. The power is then on again. Returns 0, or
// -1 if a file cannot be written.
int fault_disk_restore_power(fault_disk *disk, uint64_t seed);

// All files are closed, and what they contain now is durable. The caller has changed files itself.
void fault_disk_settle(fault_disk *disk);
