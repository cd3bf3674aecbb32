#define _GNU_SOURCE
#include "CMartletSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/// Whether a line has the name of a variable, up to the sign of equality.
static bool has_name(const char *line, const char *variable) {
    size_t length = strcspn(variable, "=");
    return strncmp(line, variable, length) == 0 && line[length] == '=';
}

/// Splits the lines of `text`, and adds the variables of this process whose names no line has.
static char **environment(char *text) {
    size_t count = 2;
    for (char **variable = environ; *variable; variable++) count++;
    for (char *at = text; *at; at++) count += *at == '\n';
    char **variables = malloc(count * sizeof *variables);
    if (!variables) return NULL;
    size_t used = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) variables[used++] = line;
    size_t own = used;
    for (char **variable = environ; *variable; variable++) {
        size_t line = 0;
        while (line < own && !has_name(variables[line], *variable)) line++;
        if (line == own) variables[used++] = *variable;
    }
    variables[used] = NULL;
    return variables;
}

int32_t martlet_spawn(const struct martlet_child *child) {
    char *copy = strdup(child->variables);
    char **variables = copy ? environment(copy) : NULL;
    if (!variables) {
        free(copy);
        return -ENOMEM;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (int stream = 0; stream < 3; stream++) {
        if (child->streams[stream] < 0)
            posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
        else
            posix_spawn_file_actions_adddup2(&files, child->streams[stream], stream);
    }
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
#ifdef __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#elif defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
#endif
#endif
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    if (child->has_group) {
        posix_spawnattr_setpgroup(&attributes, 0);
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    posix_spawnattr_setflags(&attributes, flags);
    pid_t process;
    int result = posix_spawn(&process, child->path, &files, &attributes, child->arguments, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(variables);
    free(copy);
    return result == 0 ? (int32_t)process : -result;
}

void martlet_child_await(int32_t process) {
    siginfo_t information;
    while (waitid(P_PID, (id_t)process, &information, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
}

int32_t martlet_child_status(int32_t process) {
    int status;
    pid_t ended;
    do ended = waitpid(process, &status, 0);
    while (ended < 0 && errno == EINTR);
    // The status of a child that was collected elsewhere is unknown. It does not count as a success.
    if (ended < 0) return 255;
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}
