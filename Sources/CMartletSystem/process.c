#include "CMartletSystem.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/// Counts the entries of a folder without those that begin with a period; -1 if it cannot be read.
static int64_t count_of(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return -1;
    int64_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

void martlet_process_use(struct martlet_process_use *use) {
    struct rusage usage;
    struct rlimit limit;
    *use = (struct martlet_process_use){-1, -1, -1, -1, -1};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        use->cpu_microseconds = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
            + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) use->max_descriptors = (int64_t)limit.rlim_cur;
    use->threads = count_of("/proc/self/task");
    // The descriptor of the folder itself does not count.
    use->descriptors = count_of("/proc/self/fd") - 1;
    char text[64] = {0};
    long long pages;
    if (martlet_file_read("/proc/self/statm", text, sizeof text - 1) > 0 && sscanf(text, "%*s %lld", &pages) == 1)
        use->resident_bytes = pages * sysconf(_SC_PAGESIZE);
}
