#include "CMartletSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/// Splits the lines of `text` into `lines`, behind the variables of this process.
static char **environment(char *text) {
    size_t count = 2;
    for (char **variable = environ; *variable; variable++) count++;
    for (char *at = text; *at; at++) count += *at == '\n';
    char **variables = malloc(count * sizeof *variables);
    if (!variables) return NULL;
    size_t used = 0;
    for (char **variable = environ; *variable; variable++) variables[used++] = *variable;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) variables[used++] = line;
    variables[used] = NULL;
    return variables;
}

int32_t martlet_spawn(const char *path, const char *text) {
    char *copy = strdup(text);
    char **variables = copy ? environment(copy) : NULL;
    if (!variables) {
        free(copy);
        return -ENOMEM;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    char *const arguments[] = {(char *)path, NULL};
    pid_t process;
    int result = posix_spawn(&process, path, &files, &attributes, arguments, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(variables);
    free(copy);
    return result == 0 ? (int32_t)process : -result;
}

static int32_t wait_for(int32_t process, int options) {
    int status;
    pid_t ended;
    do ended = waitpid(process, &status, options);
    while (ended < 0 && errno == EINTR);
    if (ended == 0) return -1;
    // Nothing is known about a child that the application has waited for.
    if (ended < 0) return 0;
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

int32_t martlet_child_status(int32_t process) { return wait_for(process, WNOHANG); }

void martlet_kill_child(int32_t process) {
    kill(-process, SIGKILL);
    wait_for(process, 0);
}
