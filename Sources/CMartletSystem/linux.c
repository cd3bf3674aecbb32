#ifdef __linux__
#define _GNU_SOURCE
#include "CMartletSystem.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <unistd.h>

int32_t martlet_epoll_open(void) {
    int descriptor = epoll_create1(EPOLL_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

static int32_t control(int32_t epoll, int operation, int32_t descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : -errno;
}

static uint32_t events_for(uint32_t readiness) {
    return (readiness & martlet_readable ? EPOLLIN : 0) | (readiness & martlet_writable ? EPOLLOUT : 0);
}

int32_t martlet_epoll_add(int32_t epoll, int32_t descriptor, uint32_t readiness, uint64_t token) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, events_for(readiness), token);
}

int32_t martlet_epoll_change(int32_t epoll, int32_t descriptor, uint32_t readiness, uint64_t token) {
    return control(epoll, EPOLL_CTL_MOD, descriptor, events_for(readiness), token);
}

int32_t martlet_epoll_remove(int32_t epoll, int32_t descriptor) {
    return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0);
}

int32_t martlet_epoll_add_edge(int32_t epoll, int32_t descriptor, uint64_t token) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN | EPOLLET, token);
}

int32_t martlet_epoll_wait(int32_t epoll, struct martlet_event *events, int32_t block) {
    struct epoll_event ready[martlet_event_capacity];
    int count = epoll_wait(epoll, ready, martlet_event_capacity, block ? -1 : 0);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int index = 0; index < count; index++) {
        uint32_t bits = ready[index].events;
        events[index].token = ready[index].data.u64;
        events[index].readiness = (bits & EPOLLIN ? martlet_readable : 0) | (bits & EPOLLOUT ? martlet_writable : 0)
            | (bits & (EPOLLERR | EPOLLHUP) ? martlet_hung_up : 0);
    }
    return count;
}

int32_t martlet_wake_open(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

void martlet_wake(int32_t descriptor) {
    uint64_t one = 1;
    (void)!write(descriptor, &one, sizeof one);
}

int32_t martlet_timer_open(void) {
    int descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

void martlet_timer_set(int32_t descriptor, uint64_t deadline) {
    // A deadline of 0 would disarm it; the kernel's seconds are signed.
    uint64_t seconds = deadline / 1000000000u;
    if (seconds > INT32_MAX) seconds = INT32_MAX;
    struct itimerspec time = {.it_value = {(time_t)seconds, (long)(deadline % 1000000000u)}};
    if (deadline == 0) time.it_value.tv_nsec = 1;
    (void)timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &time, NULL);
}

int32_t martlet_netlink_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -errno;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int32_t failure = -errno;
    close(descriptor);
    return failure;
}

int32_t martlet_netlink_dump(int32_t descriptor, uint16_t type, uint32_t sequence) {
    struct {
        struct nlmsghdr header;
        struct rtgenmsg body;
    } request;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.body);
    request.header.nlmsg_type = type;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.header.nlmsg_seq = sequence;
    request.body.rtgen_family = AF_UNSPEC;
    return send(descriptor, &request, request.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

int64_t martlet_netlink_receive(int32_t descriptor, void *buffer, size_t count) {
    struct sockaddr_nl sender;
    memset(&sender, 0, sizeof sender);
    struct iovec piece = {.iov_base = buffer, .iov_len = count};
    struct msghdr message = {
        .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &piece, .msg_iovlen = 1};
    ssize_t received;
    do received = recvmsg(descriptor, &message, 0);
    while (received < 0 && errno == EINTR);
    if (received < 0) return -errno;
    if (message.msg_flags & MSG_TRUNC) return -EMSGSIZE;
    return sender.nl_pid == 0 ? received : 0;
}

int64_t martlet_file_attribute(const char *path, const char *name, void *buffer, size_t count) {
    ssize_t result = getxattr(path, name, buffer, count);
    return result < 0 ? -errno : result;
}

int32_t martlet_file_set_attribute(int32_t descriptor, const char *name, const void *bytes, size_t count) {
    return fsetxattr(descriptor, name, bytes, count, 0) < 0 ? -errno : 0;
}
#endif
