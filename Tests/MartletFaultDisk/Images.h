// The contents and names of the files of a disk: what is durable, and the changes since then.
#pragma once
#include "MartletFaultDisk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { sectorByteCount = 512 };

// A change of a file that is not synced. Without bytes it sets the length of the file.
typedef struct change {
    struct change *next;
    off_t offset;
    size_t length;
    unsigned char *bytes;
} change;

// The durable contents of a file, and its changes since the last sync.
typedef struct node {
    struct node *next;
    int isFolder;
    unsigned char *bytes;
    off_t length;
    change *first, *last;
} node;

// A name of a file, with its current node and its durable node, if any.
typedef struct entry {
    struct entry *next;
    char *path;
    node *present, *durable;
} entry;

// A change of a name that is not synced. A new name has no origin, a removed one no target.
typedef struct rename_op {
    struct rename_op *next;
    entry *from, *to;
    node *node;
} rename_op;

struct fault_disk {
    pthread_mutex_t mutex;
    char *folder;
    size_t folderLength;
    long callCount, failedCount, openCount;
    long firstFailure, failureCount, powerEnd;
    disk_fault fault;
    node *nodes;
    entry *entries;
    rename_op *ops;
};

// MARK: Contents

static void *checked(void *memory) {
    if (!memory) abort();
    return memory;
}

static void set_length(node *node, off_t length) {
    if (length > node->length) {
        node->bytes = checked(realloc(node->bytes, length));
        memset(node->bytes + node->length, 0, length - node->length);
    }
    node->length = length;
}

static void apply_part(node *node, const change *change, size_t from, size_t to) {
    if (from >= to) return;
    if (change->offset + (off_t)to > node->length) set_length(node, change->offset + to);
    memcpy(node->bytes + change->offset + from, change->bytes + from, to - from);
}

static void apply(node *node, const change *change) {
    if (change->bytes) apply_part(node, change, 0, change->length);
    else set_length(node, change->offset);
}

static void note(node *node, const void *bytes, size_t length, off_t offset) {
    if (!node || (bytes && !length)) return;
    change *new = checked(calloc(1, sizeof *new));
    new->offset = offset;
    new->length = length;
    if (bytes) new->bytes = memcpy(checked(malloc(length)), bytes, length);
    if (node->last) node->last->next = new;
    else node->first = new;
    node->last = new;
}

static void discard_changes(node *node) {
    while (node->first) {
        change *next = node->first->next;
        free(node->first->bytes);
        free(node->first);
        node->first = next;
    }
    node->last = NULL;
}

static node *add_node(fault_disk *disk, int isFolder) {
    node *new = checked(calloc(1, sizeof *new));
    new->isFolder = isFolder;
    new->next = disk->nodes;
    return disk->nodes = new;
}

// The entry of a path. An existing file of which nothing is known is durable.
static entry *entry_of(fault_disk *disk, const char *path) {
    for (entry *found = disk->entries; found; found = found->next) {
        if (strcmp(found->path, path) == 0) return found;
    }
    entry *new = checked(calloc(1, sizeof *new));
    new->path = checked(strdup(path));
    new->next = disk->entries;
    disk->entries = new;
    struct stat status;
    if (lstat(path, &status) != 0) return new;
    new->present = new->durable = add_node(disk, S_ISDIR(status.st_mode));
    FILE *file = new->present->isFolder ? NULL : fopen(path, "rb");
    if (!file) return new;
    set_length(new->present, status.st_size);
    if (fread(new->present->bytes, 1, status.st_size, file) != (size_t)status.st_size) abort();
    fclose(file);
    return new;
}

static void forget(fault_disk *disk) {
    while (disk->ops) {
        rename_op *op = disk->ops;
        disk->ops = op->next;
        free(op);
    }
    while (disk->entries) {
        entry *entry = disk->entries;
        disk->entries = entry->next;
        free(entry->path);
        free(entry);
    }
    while (disk->nodes) {
        node *node = disk->nodes;
        disk->nodes = node->next;
        discard_changes(node);
        free(node->bytes);
        free(node);
    }
}

// MARK: Names

static int is_shared_memory(const char *path) {
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-shm") == 0;
}

static int is_in(const entry *entry, const char *folder) {
    size_t length = strlen(folder);
    return entry && strncmp(entry->path, folder, length) == 0 && entry->path[length] == '/'
        && !strchr(entry->path + length + 1, '/');
}

static void change_name(fault_disk *disk, entry *from, entry *to, node *node) {
    if (from) from->present = NULL;
    if (to) to->present = node;
    rename_op *new = checked(calloc(1, sizeof *new));
    *new = (rename_op){.from = from, .to = to, .node = node};
    rename_op **end = &disk->ops;
    while (*end) end = &(*end)->next;
    *end = new;
}

static void make_durable(rename_op *op) {
    if (op->from) op->from->durable = NULL;
    if (op->to) op->to->durable = op->node;
}

// Makes the changes of names in a folder durable, up to one of them or all.
static void sync_names(fault_disk *disk, const char *folder, const rename_op *last) {
    for (rename_op **place = &disk->ops; *place;) {
        rename_op *op = *place;
        int isLast = op == last;
        if (is_in(op->to, folder) || is_in(op->from, folder)) {
            make_durable(op);
            *place = op->next;
            free(op);
        } else {
            place = &op->next;
        }
        if (isLast) return;
    }
}

// A sync of a file includes the entry of a new file, as in usual file systems, but no later name of it.
static void sync_file(fault_disk *disk, node *node) {
    for (change *change = node->first; change; change = change->next) apply(node, change);
    discard_changes(node);
    for (rename_op *op = disk->ops; op; op = op->next) {
        if (op->from || op->node != node) continue;
        char *folder = checked(strdup(op->to->path));
        *strrchr(folder, '/') = 0;
        sync_names(disk, folder, op);
        free(folder);
        return;
    }
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
static void survive(node *node, const change *change, uint64_t *seed) {
    switch (draw(seed, 4)) {
    case 0: return;
    case 1: break;
    default: apply(node, change); return;
    }
    for (size_t from = 0; change->bytes && from < change->length; from += sectorByteCount) {
        size_t to = from + sectorByteCount < change->length ? from + sectorByteCount : change->length;
        if (draw(seed, 2)) apply_part(node, change, from, to);
    }
}
