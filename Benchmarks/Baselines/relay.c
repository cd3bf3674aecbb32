// A relay that only forwards: it checks each frame's checksum, gives it the room's next number and a new checksum,
// copies it to the other members, and acknowledges cumulatively. No sessions, no memory of anything: an upper bound.
//
// usage: relay PORT
//
// A connection's first frame is `open`, whose session field names the room, and is echoed as `opened`. With the
// reliable flag in it, the connection is a member and gets what others send.
#define _GNU_SOURCE
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_BODY = 1 << 20, READ_SIZE = 256 << 10, MAX_EVENTS = 256, MAX_ROOMS = 65536, MAX_CONNECTIONS = 65536 };

struct connection {
    int fd;
    uint16_t room;
    bool is_member, waits, is_dirty, has_news;
    uint32_t received;
    uint8_t *rest;
    size_t rest_count;
    uint8_t *out;
    size_t out_start, out_count, out_room;
};

struct room {
    uint32_t head;
    struct connection **members;
    size_t count, capacity;
};

static struct room rooms[MAX_ROOMS];
static struct connection *dirty[MAX_CONNECTIONS];
static size_t dirty_count;
static int poller;
static uint8_t input[READ_SIZE + MAX_BODY + WIRE_HEADER];

static void *grown(void *p, size_t count) {
    p = realloc(p, count);
    if (p == NULL) abort();
    return p;
}

static uint8_t *space(struct connection *c, size_t count) {
    if (c->out_start + c->out_count + count > c->out_room) {
        memmove(c->out, c->out + c->out_start, c->out_count);
        c->out_start = 0;
        if (c->out_count + count > c->out_room) {
            c->out_room = (c->out_count + count) * 2;
            c->out = grown(c->out, c->out_room);
        }
    }
    if (!c->is_dirty) {
        c->is_dirty = true;
        dirty[dirty_count++] = c;
    }
    uint8_t *p = c->out + c->out_start + c->out_count;
    c->out_count += count;
    return p;
}

static void end(struct connection *c) {
    struct room *room = &rooms[c->room];
    for (size_t i = 0; i < room->count; i++)
        if (room->members[i] == c) room->members[i--] = room->members[--room->count];
    close(c->fd);
    c->fd = -1;
    c->out_count = 0;
}

static void forward(struct connection *from, const uint8_t *frame, uint32_t count, uint32_t body_sum) {
    struct room *room = &rooms[from->room];
    uint8_t head[WIRE_HEADER];
    wire_head(head, WIRE_DATA, ++room->head, 0, WIRE_RELIABLE | WIRE_HIGH, from->room, count, body_sum);
    for (size_t i = 0; i < room->count; i++) {
        if (room->members[i] == from) continue;
        uint8_t *p = space(room->members[i], WIRE_HEADER + count);
        memcpy(p, head, WIRE_HEADER);
        memcpy(p + WIRE_HEADER, frame + WIRE_HEADER, count);
    }
}

static bool take(struct connection *c, const uint8_t *frame, uint32_t count) {
    uint32_t body_sum = libdeflate_crc32(0, frame + WIRE_HEADER, count);
    if (libdeflate_crc32(body_sum, frame, 24) != get32(frame + 24)) return false;
    switch (get16(frame + 6)) {
    case WIRE_DATA:
        c->received += 1;
        c->has_news = true;
        forward(c, frame, count, body_sum);
        break;
    case WIRE_OPEN: {
        c->room = get16(frame + 18);
        c->is_member = (frame[16] & WIRE_RELIABLE) != 0;
        struct room *room = &rooms[c->room];
        if (c->is_member) {
            if (room->count == room->capacity) {
                room->capacity = room->capacity * 2 + 4;
                room->members = grown(room->members, room->capacity * sizeof *room->members);
            }
            room->members[room->count++] = c;
        }
        wire_head(space(c, WIRE_HEADER), WIRE_OPENED, 0, 0, 0, c->room, 0, 0);
        break;
    }
    default: break;
    }
    return true;
}

static void receive(struct connection *c) {
    memcpy(input, c->rest, c->rest_count);
    ssize_t got = recv(c->fd, input + c->rest_count, READ_SIZE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end(c);
    size_t count = c->rest_count + (size_t)got, offset = 0;
    while (count - offset >= WIRE_HEADER) {
        const uint8_t *frame = input + offset;
        if (!wire_head_ok(frame, MAX_BODY)) return end(c);
        uint32_t body = get32(frame + 20);
        if (count - offset < WIRE_HEADER + body) break;
        if (!take(c, frame, body)) return end(c);
        offset += WIRE_HEADER + body;
    }
    c->rest_count = count - offset;
    if (c->rest_count > 0) {
        c->rest = grown(c->rest, c->rest_count);
        memcpy(c->rest, input + offset, c->rest_count);
    }
    if (c->has_news) {
        uint8_t *p = space(c, WIRE_HEADER);
        wire_head(p, WIRE_ACK, c->received, 0, 0, c->room, 0, 0);
        c->has_news = false;
    }
}

static void transmit(struct connection *c) {
    if (c->fd < 0) return;
    while (c->out_count > 0) {
        ssize_t sent = send(c->fd, c->out + c->out_start, c->out_count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) return end(c);
        if (sent < 0) break;
        c->out_start += (size_t)sent;
        c->out_count -= (size_t)sent;
    }
    if (c->out_count == 0) c->out_start = 0;
    bool waits = c->out_count > 0;
    if (waits == c->waits) return;
    c->waits = waits;
    struct epoll_event event = {.events = EPOLLIN | (waits ? (uint32_t)EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void accept_from(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    c->fd = fd;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: relay PORT\n"), 2;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 4096) < 0)
        return perror("relay"), 1;
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    struct epoll_event events[MAX_EVENTS];
    for (;;) {
        int count = epoll_wait(poller, events, MAX_EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (c == NULL) accept_from(listener);
            else if (c->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(c);
            if (c != NULL && c->fd >= 0 && (events[i].events & EPOLLOUT) != 0) transmit(c);
        }
        for (size_t i = 0; i < dirty_count; i++) {
            dirty[i]->is_dirty = false;
            transmit(dirty[i]);
        }
        dirty_count = 0;
    }
}
