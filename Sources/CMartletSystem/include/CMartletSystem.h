// The system calls the transport needs, without errno: every function that can fail
// returns the negated error number, read before anything can overwrite it.
// Calls that a signal can interrupt are repeated here.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// An IP address and a port in host byte order. IPv4 lies in the low 32 bits of `low`.
struct martlet_address {
    uint64_t high;
    uint64_t low;
    uint32_t scope;
    uint16_t port;
    /// 4, 6, or 0 when the kernel gave something else.
    uint16_t family;
};

/// What to set on a socket; a negative value leaves the system's choice.
struct martlet_socket_options {
    int32_t unsent_low_water;
    int32_t user_timeout_milliseconds;
    int32_t send_buffer;
    int32_t receive_buffer;
    /// Nonzero: a stream with few packets under way repeats what is lost at an even pace.
    int32_t linear_timeouts;
    /// The most that the retransmission timeout may grow to.
    int32_t max_retransmission_timeout_milliseconds;
    /// The least that it leaves for the round trip to vary.
    int32_t min_retransmission_timeout_milliseconds;
};

// MARK: errors

/// Error numbers that the transport distinguishes, since the platforms number them differently.
enum martlet_error {
    martlet_error_other = 0,
    martlet_error_would_block,
    martlet_error_in_progress,
    martlet_error_refused,
    martlet_error_reset,
    martlet_error_timed_out,
    martlet_error_unreachable,
    martlet_error_descriptors,
    martlet_error_memory,
    martlet_error_address_in_use,
    martlet_error_address_not_available,
    martlet_error_permission,
};

/// Classifies a (positive) error number.
int32_t martlet_classify_error(int32_t number);
/// Writes the text of an error number, cut to fit and terminated.
void martlet_error_text(int32_t number, char *buffer, size_t count);

// MARK: sockets

/// Returns a descriptor that a call has opened. A failed call gives the negative errno. If only reserved descriptors
/// remain for the process, the descriptor is closed, and the result is -EMFILE.
int32_t martlet_unless_reserved(int32_t descriptor);
/// Opens a non-blocking, close-on-exec stream socket of family 4 or 6 that never raises SIGPIPE. `multipath`: of
/// multipath TCP (RFC 8684) where the system has it, else of plain TCP.
int32_t martlet_socket(int32_t family, int32_t multipath);
/// Sets TCP_NODELAY and the options asked for. Options the system lacks are passed over.
void martlet_socket_configure(int32_t descriptor, struct martlet_socket_options options);
/// Begins to connect: 0 when done already.
int32_t martlet_socket_connect(int32_t descriptor, const struct martlet_address *address);
/// Binds and listens, with SO_REUSEADDR. On family 6 IPv4 peers are taken too if `both_families` is not 0.
int32_t martlet_socket_listen(
    int32_t descriptor, const struct martlet_address *address, int32_t backlog, int32_t both_families);
/// Accepts one connection, non-blocking and close-on-exec.
int32_t martlet_socket_accept(int32_t descriptor, struct martlet_address *peer);
/// Prepares a listening stream socket of family 4 or 6 that the process has inherited: non-blocking, close-on-exec.
int32_t martlet_socket_inherit(int32_t descriptor, struct martlet_address *address);
/// Sends a datagram to the socket at a path, or at an abstract name of Linux, which begins with @.
int32_t martlet_notify(const char *path, const char *text);
/// Refuses new connections from now on, even while somebody still holds the descriptor.
void martlet_socket_stop_listening(int32_t descriptor);
/// Takes the socket's pending error: 0 when there is none.
int32_t martlet_socket_error(int32_t descriptor);
/// Whether TCP waits to repeat what it has sent and repeated before: 1 or 0; negative where the system does not report
/// it.
int32_t martlet_socket_stalled(int32_t descriptor);
/// Whether both directions are over, or an error is pending.
int32_t martlet_socket_hung_up(int32_t descriptor);
int32_t martlet_socket_local_address(int32_t descriptor, struct martlet_address *address);
int32_t martlet_socket_remote_address(int32_t descriptor, struct martlet_address *address);
int64_t martlet_socket_receive(int32_t descriptor, void *buffer, size_t count);
int64_t martlet_socket_send(int32_t descriptor, const void *buffer, size_t count);
/// Sends the end of the stream; the other direction stays open.
int32_t martlet_socket_finish(int32_t descriptor);
/// Makes the next close a reset, which frees the kernel's buffers at once.
void martlet_socket_reset_on_close(int32_t descriptor);
void martlet_close(int32_t descriptor);

// MARK: addresses

/// Parses a numeric address, with an IPv6 scope after `%`: 1 when it is one.
int32_t martlet_address_parse(const char *text, struct martlet_address *address);
/// Writes the numeric address (without port), terminated.
void martlet_address_format(const struct martlet_address *address, char *buffer, size_t count);
/// Looks a name up, blocking. Returns how many addresses were written, or 0 with `failure`
/// set to getaddrinfo's code (and `system_error` with EAI_SYSTEM).
int32_t martlet_resolve(
    const char *host, struct martlet_address *addresses, int32_t capacity, int32_t *failure, int32_t *system_error);
/// Writes the text of getaddrinfo's code, cut to fit and terminated.
void martlet_resolve_text(int32_t failure, char *buffer, size_t count);

// MARK: time and threads

/// Nanoseconds of the clock that goes on while the machine sleeps and is never set.
uint64_t martlet_clock(void);

/// Returns the value of a variable of the environment, which is valid until the environment changes; null without one.
const char *_Nullable martlet_environment(const char *name);
/// Milliseconds since 1970 of the clock that people set.
uint64_t martlet_wall_clock(void);
/// Writes a time in seconds since 1970, local or in UTC, in a format of strftime, and returns how many bytes; 0 when it
/// does not fit.
size_t martlet_time_text(int64_t seconds, int32_t is_local, const char *format, char *buffer, size_t count);
/// What this thread runs for; null when it runs no loop.
const void *_Nullable martlet_current_loop(void);
void martlet_set_current_loop(const void *_Nullable loop);
/// Starts a detached thread: 0 when it runs.
int32_t martlet_thread_start(const char *name, void (*body)(void *), void *context);
/// Suspends the calling thread for some microseconds.
void martlet_thread_pause(uint32_t microseconds);

/// Inform the thread sanitizer that what was done before the release at an address is seen after the next acquire
/// there. Without the sanitizer they do nothing.
void martlet_sanitizer_acquire(const void *address);
void martlet_sanitizer_release(const void *address);

// MARK: files

/// The number of arguments of the process, with its name; 0 where the system does not report it to a library.
int32_t martlet_argument_count(void);
/// An argument; NULL for an index out of range.
const char *_Nullable martlet_argument(int32_t index);

/// Reads at most `count` bytes from the start of a file.
int64_t martlet_file_read(const char *path, void *buffer, size_t count);
#ifdef __linux__
/// Reads an extended attribute of a file: its number of bytes, -ENODATA when the file has none.
int64_t martlet_file_attribute(const char *path, const char *name, void *buffer, size_t count);
int32_t martlet_file_set_attribute(int32_t descriptor, const char *name, const void *bytes, size_t count);
#endif

// MARK: memory

/// The use of resources by the process; -1 where the system does not tell.
struct martlet_process_use {
    int64_t cpu_microseconds;
    int64_t resident_bytes;
    int64_t threads;
    int64_t descriptors;
    int64_t max_descriptors;
};

void martlet_process_use(struct martlet_process_use *use);

/// A program to start, with default signals.
struct martlet_child {
    const char *path;
    /// The words of the command, the last of which is followed by NULL.
    char *_Nullable const *_Nonnull arguments;
    /// Lines NAME=VALUE, which replace or extend the environment of this process.
    const char *variables;
    /// The descriptors of its standard input, output and error; -1 for /dev/null. It inherits no others, except where
    /// the C library cannot close them (musl, glibc before 2.34). A descriptor below 3 must not be that of an earlier
    /// stream.
    int32_t streams[3];
    /// Whether it leads a process group.
    bool has_group;
};

/// Starts a program. Returns the number of the process, or a negated error.
int32_t martlet_spawn(const struct martlet_child *child);
/// Waits until a child has ended, and does not collect it.
void martlet_child_await(int32_t process);
/// Collects an ended child. Returns its exit code, or 256 and the number of the signal that has ended it; 255 if the
/// application has collected it, or ignores SIGCHLD.
int32_t martlet_child_status(int32_t process);

/// Lets threads that allocate for the first time share so many heaps, where the C library would give each its own
/// (glibc).
void martlet_heap_share(int32_t count);
/// Gives what was freed back to the system, where the C library keeps it to allocate from (glibc).
void martlet_heap_trim(void);

// MARK: Linux

#ifdef __linux__
enum {
    martlet_readable = 1,
    martlet_writable = 2,
    martlet_hung_up = 4,
};

struct martlet_event {
    uint64_t token;
    uint32_t readiness;
};

enum { martlet_event_capacity = 256 };

int32_t martlet_epoll_open(void);
/// Level-triggered interest in `readiness`.
int32_t martlet_epoll_add(int32_t epoll, int32_t descriptor, uint32_t readiness, uint64_t token);
int32_t martlet_epoll_change(int32_t epoll, int32_t descriptor, uint32_t readiness, uint64_t token);
int32_t martlet_epoll_remove(int32_t epoll, int32_t descriptor);
/// Edge-triggered readability, for the loop's own two descriptors, which are never read.
int32_t martlet_epoll_add_edge(int32_t epoll, int32_t descriptor, uint64_t token);
/// Waits for at most `martlet_event_capacity` events; for ever when `block` is not 0. An interrupted wait has none.
int32_t martlet_epoll_wait(int32_t epoll, struct martlet_event *events, int32_t block);

int32_t martlet_wake_open(void);
void martlet_wake(int32_t descriptor);
/// A timer on `martlet_clock`.
int32_t martlet_timer_open(void);
void martlet_timer_set(int32_t descriptor, uint64_t deadline);

/// A route socket that reports changes to links, addresses and routes.
int32_t martlet_netlink_open(void);
/// Asks for all links (18), addresses (22) or routes (26).
int32_t martlet_netlink_dump(int32_t descriptor, uint16_t type, uint32_t sequence);
/// Receives one datagram: 0 bytes when it is not from the kernel, -EMSGSIZE when it did not fit.
int64_t martlet_netlink_receive(int32_t descriptor, void *buffer, size_t count);
#endif

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif
