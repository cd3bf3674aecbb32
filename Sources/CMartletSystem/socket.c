#define _GNU_SOURCE
#include "CMartletSystem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

static uint64_t load_big_endian(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int index = 0; index < 8; index++) value = value << 8 | bytes[index];
    return value;
}

static void store_big_endian(uint64_t value, uint8_t *bytes) {
    for (int index = 7; index >= 0; index--, value >>= 8) bytes[index] = (uint8_t)value;
}

static socklen_t to_system(const struct martlet_address *address, struct sockaddr_storage *storage) {
    memset(storage, 0, sizeof *storage);
    if (address->family == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address->port);
        v4->sin_addr.s_addr = htonl((uint32_t)address->low);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address->port);
    v6->sin6_scope_id = address->scope;
    store_big_endian(address->high, v6->sin6_addr.s6_addr);
    store_big_endian(address->low, v6->sin6_addr.s6_addr + 8);
    return sizeof *v6;
}

static void from_system(const struct sockaddr *system, struct martlet_address *address) {
    memset(address, 0, sizeof *address);
    if (system->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)system;
        address->family = 4;
        address->port = ntohs(v4->sin_port);
        address->low = ntohl(v4->sin_addr.s_addr);
    } else if (system->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)system;
        address->family = 6;
        address->port = ntohs(v6->sin6_port);
        address->scope = v6->sin6_scope_id;
        address->high = load_big_endian(v6->sin6_addr.s6_addr);
        address->low = load_big_endian(v6->sin6_addr.s6_addr + 8);
        // An IPv4 peer of a socket of both families.
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            address->family = 4;
            address->high = 0;
            address->low &= 0xFFFFFFFFu;
            address->scope = 0;
        }
    }
}

#ifndef __linux__
static int32_t make_non_blocking(int32_t descriptor) {
    int on = 1;
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 || fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0
        || setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) != 0) {
        int32_t failure = -errno;
        close(descriptor);
        return failure;
    }
    return descriptor;
}
#endif

/// The maximum number of descriptors that sockets and files of attachments leave free: an eighth of the limit, at least
/// 4. Libraries trap or fail without one, such as libdispatch, which reads the states of its threads from a file
/// (Specs/hostile.md row 99).
enum { max_reserved_count = 64 };
enum { min_reserved_count = 4 };

static int is_reserved(int descriptor) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) return 0;
    int count = (int)limit.rlim_cur, reserve = count / 8;
    if (reserve < min_reserved_count) reserve = min_reserved_count;
    if (reserve > max_reserved_count) reserve = max_reserved_count;
    return descriptor >= count - reserve;
}

// The system assigns the lowest free number, so a reserved number shows that all others are in use.
int32_t martlet_unless_reserved(int32_t descriptor) {
    if (descriptor < 0) return -errno;
    if (!is_reserved(descriptor)) return descriptor;
    (void)close(descriptor);
    return -EMFILE;
}

int32_t martlet_socket(int32_t family, int32_t multipath) {
    int domain = family == 4 ? AF_INET : AF_INET6;
#ifdef __linux__
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
    int descriptor = multipath ? socket(domain, type, IPPROTO_MPTCP) : -1;
    if (descriptor < 0) descriptor = socket(domain, type, 0);
    return martlet_unless_reserved(descriptor);
#else
    (void)multipath;
    int descriptor = martlet_unless_reserved(socket(domain, SOCK_STREAM, 0));
    return descriptor < 0 ? descriptor : make_non_blocking(descriptor);
#endif
}

static void set(int32_t descriptor, int level, int name, int value) {
    (void)setsockopt(descriptor, level, name, &value, sizeof value);
}

void martlet_socket_configure(int32_t descriptor, struct martlet_socket_options options) {
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
#ifdef TCP_NOTSENT_LOWAT
    if (options.unsent_low_water >= 0) set(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, options.unsent_low_water);
#endif
#if defined(TCP_USER_TIMEOUT)
    if (options.user_timeout_milliseconds >= 0)
        set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_milliseconds);
#elif defined(TCP_RXT_CONNDROPTIME)
    if (options.user_timeout_milliseconds >= 0)
        set(descriptor, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, (options.user_timeout_milliseconds + 999) / 1000);
#endif
#ifdef TCP_THIN_LINEAR_TIMEOUTS
    if (options.linear_timeouts) set(descriptor, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
#endif
#ifdef __linux__
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44  // Linux 6.15
#endif
    if (options.max_retransmission_timeout_milliseconds >= 0)
        set(descriptor, IPPROTO_TCP, TCP_RTO_MAX_MS, options.max_retransmission_timeout_milliseconds);
#ifndef TCP_RTO_MIN_US
#define TCP_RTO_MIN_US 45  // Linux 6.15
#endif
    if (options.min_retransmission_timeout_milliseconds >= 0)
        set(descriptor, IPPROTO_TCP, TCP_RTO_MIN_US, options.min_retransmission_timeout_milliseconds * 1000);
#endif
    if (options.send_buffer >= 0) set(descriptor, SOL_SOCKET, SO_SNDBUF, options.send_buffer);
    if (options.receive_buffer >= 0) set(descriptor, SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
}

int32_t martlet_socket_connect(int32_t descriptor, const struct martlet_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = to_system(address, &storage);
    if (connect(descriptor, (struct sockaddr *)&storage, length) == 0) return 0;
    // An interrupted connect goes on by itself, as one in progress does.
    return errno == EINTR ? -EINPROGRESS : -errno;
}

int32_t martlet_socket_listen(
    int32_t descriptor, const struct martlet_address *address, int32_t backlog, int32_t both_families) {
    struct sockaddr_storage storage;
    socklen_t length = to_system(address, &storage);
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    if (address->family == 6) set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
    if (bind(descriptor, (struct sockaddr *)&storage, length) != 0) return -errno;
    return listen(descriptor, backlog) == 0 ? 0 : -errno;
}

int32_t martlet_socket_accept(int32_t descriptor, struct martlet_address *peer) {
    // A connection that is accepted and closed would be lost; in the backlog it waits.
    int32_t lowest = martlet_unless_reserved(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (lowest < 0) {
        struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
        return poll(&waiting, 1, 0) == 0 ? -EAGAIN : lowest;
    }
    (void)close(lowest);
    struct sockaddr_storage storage;
    storage.ss_family = AF_UNSPEC;
    socklen_t length = sizeof storage;
    int accepted;
    do {
#ifdef __linux__
        accepted = accept4(descriptor, (struct sockaddr *)&storage, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
        accepted = accept(descriptor, (struct sockaddr *)&storage, &length);
#endif
    } while (accepted < 0 && errno == EINTR);
    if (accepted < 0) return -errno;
    from_system((struct sockaddr *)&storage, peer);
#ifdef __linux__
    return accepted;
#else
    return make_non_blocking(accepted);
#endif
}

int32_t martlet_socket_inherit(int32_t descriptor, struct martlet_address *address) {
    int type = 0, listens = 0, flags = fcntl(descriptor, F_GETFL);
    struct sockaddr_storage storage;
    socklen_t length = sizeof type;
    if (flags < 0 || getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return -errno;
    length = sizeof listens;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) return -errno;
    length = sizeof storage;
    if (getsockname(descriptor, (struct sockaddr *)&storage, &length) != 0) return -errno;
    if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return -EAFNOSUPPORT;
    if (type != SOCK_STREAM || !listens) return -EINVAL;
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0)
        return -errno;
    from_system((struct sockaddr *)&storage, address);
    return 0;
}

int32_t martlet_notify(const char *path, const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t count = strlen(path);
    if (count < 2 || count >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) return -EINVAL;
    memcpy(address.sun_path, path, count);
    // The length of an abstract name includes no terminator.
    if (path[0] == '@') address.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (descriptor < 0) return -errno;
    (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count);
    ssize_t sent;
    do sent = sendto(descriptor, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    while (sent < 0 && errno == EINTR);
    int32_t result = sent < 0 ? -errno : 0;
    close(descriptor);
    return result;
}

void martlet_socket_stop_listening(int32_t descriptor) { (void)shutdown(descriptor, SHUT_RDWR); }

int32_t martlet_socket_error(int32_t descriptor) {
    int pending = 0;
    socklen_t length = sizeof pending;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &pending, &length) != 0) return -errno;
    return -pending;
}

int32_t martlet_socket_stalled(int32_t descriptor) {
#ifdef __linux__
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -errno;
    // A probe of the tail is counted as under way again, not as a timeout; a slow path has acknowledgements.
    return info.tcpi_unacked > 0 && (info.tcpi_retransmits > 0 || info.tcpi_retrans > 0)
        && info.tcpi_last_ack_recv >= 300;
#else
    (void)descriptor;
    return -ENOTSUP;
#endif
}

int32_t martlet_socket_hung_up(int32_t descriptor) {
    struct pollfd entry = {.fd = descriptor, .events = 0};
    return poll(&entry, 1, 0) > 0;
}

int32_t martlet_socket_local_address(int32_t descriptor, struct martlet_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getsockname(descriptor, (struct sockaddr *)&storage, &length) != 0) return -errno;
    from_system((struct sockaddr *)&storage, address);
    return 0;
}

int32_t martlet_socket_remote_address(int32_t descriptor, struct martlet_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getpeername(descriptor, (struct sockaddr *)&storage, &length) != 0) return -errno;
    from_system((struct sockaddr *)&storage, address);
    return 0;
}

int64_t martlet_socket_receive(int32_t descriptor, void *buffer, size_t count) {
    ssize_t received;
    do received = recv(descriptor, buffer, count, 0);
    while (received < 0 && errno == EINTR);
    return received < 0 ? -errno : received;
}

int64_t martlet_socket_send(int32_t descriptor, const void *buffer, size_t count) {
    ssize_t sent;
    do sent = send(descriptor, buffer, count, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

int32_t martlet_socket_finish(int32_t descriptor) { return shutdown(descriptor, SHUT_WR) == 0 ? 0 : -errno; }

void martlet_socket_reset_on_close(int32_t descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

int32_t martlet_address_parse(const char *text, struct martlet_address *address) {
    struct in_addr v4;
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &v4) == 1) {
        address->family = 4;
        address->low = ntohl(v4.s_addr);
        return 1;
    }
    char host[INET6_ADDRSTRLEN];
    const char *scope = strchr(text, '%');
    size_t length = scope ? (size_t)(scope - text) : strlen(text);
    if (length >= sizeof host) return 0;
    memcpy(host, text, length);
    host[length] = 0;
    struct in6_addr v6;
    if (inet_pton(AF_INET6, host, &v6) != 1) return 0;
    address->family = 6;
    address->high = load_big_endian(v6.s6_addr);
    address->low = load_big_endian(v6.s6_addr + 8);
    if (scope) {
        char *end;
        unsigned long number = strtoul(scope + 1, &end, 10);
        address->scope = scope[1] != 0 && *end == 0 ? (uint32_t)number : if_nametoindex(scope + 1);
        if (address->scope == 0) return 0;
    }
    return 1;
}

void martlet_address_format(const struct martlet_address *address, char *buffer, size_t count) {
    struct sockaddr_storage storage;
    to_system(address, &storage);
    char host[INET6_ADDRSTRLEN];
    const void *bytes = address->family == 4 ? (const void *)&((struct sockaddr_in *)&storage)->sin_addr
                                             : (const void *)&((struct sockaddr_in6 *)&storage)->sin6_addr;
    if (inet_ntop(storage.ss_family, bytes, host, sizeof host) == NULL) host[0] = 0;
    if (address->scope != 0)
        snprintf(buffer, count, "%s%%%u", host, address->scope);
    else
        snprintf(buffer, count, "%s", host);
}

int32_t martlet_resolve(
    const char *host, struct martlet_address *addresses, int32_t capacity, int32_t *failure, int32_t *system_error) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    *failure = getaddrinfo(host, NULL, &hints, &found);
    *system_error = *failure == EAI_SYSTEM ? errno : 0;
    if (*failure != 0) return 0;
    int32_t count = 0;
    for (struct addrinfo *entry = found; entry != NULL && count < capacity; entry = entry->ai_next) {
        from_system(entry->ai_addr, &addresses[count]);
        if (addresses[count].family != 0) count++;
    }
    freeaddrinfo(found);
    return count;
}

void martlet_resolve_text(int32_t failure, char *buffer, size_t count) {
    snprintf(buffer, count, "%s", gai_strerror(failure));
}
