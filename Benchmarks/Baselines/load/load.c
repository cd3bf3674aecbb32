// Loads a server with messages and says what came of it, as one line of JSON.
//
// usage: load PROTOCOL [--port N] [--size B] [--window N] [--seconds S] [--rate N] [--fanout N] [--idle N]
//        [--senders N] [--messages N] ...
//
// One connection publishes, `fanout` connections receive, all on one thread. With a window, a message is in flight
// until it is acknowledged to the publisher (where the protocol has that) and delivered to every receiver. With a rate,
// it is sent when it is due, and its latency counts from then, so that a server that stalls is not spared.
//
// With messages, it ends when N are delivered to every receiver, and fails when they are not by the end of its time.
//
// With senders, N connections publish, each in a room of its own and one message after the other, and nobody receives.
#define _GNU_SOURCE
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 256 << 10, MAX_REST = 8 << 20, MAX_EVENTS = 512, BUCKETS = 64 * 64 };

struct options options = {.host = "127.0.0.1", .size = 64, .window = 1000, .seconds = 3, .warm_up = 0.5, .fanout = 1};

static const struct protocol *const protocols[] = {&martlet, &compact,   &bare,         &mqtt,
                                                   &nats,    &jetstream, &redis_pubsub, &redis_streams,
                                                   &xmpp,    &handshakes};
static int poller;
static uint8_t input[READ_SIZE + MAX_REST];
static struct connection **dirty;
static size_t dirty_count, dirty_room;
static struct connection *first_due, *last_due;
static uint64_t delivered, ready_count, histogram[BUCKETS], samples;
static bool measures;

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", options.protocol != NULL ? options.protocol->name : "", what);
    exit(1);
}

uint8_t *out_space(struct connection *c, size_t count) {
    if (c->out_start + c->out_count + count > c->out_room) {
        if (c->out_start > 0) memmove(c->out, c->out + c->out_start, c->out_count);
        c->out_start = 0;
        if (c->out_count + count > c->out_room) {
            c->out_room = (c->out_count + count) * 2;
            c->out = realloc(c->out, c->out_room);
            if (c->out == NULL) fail("no memory");
        }
    }
    if (!c->is_queued) {
        c->is_queued = true;
        if (dirty_count == dirty_room) {
            dirty_room = dirty_room * 2 + 64;
            dirty = realloc(dirty, dirty_room * sizeof *dirty);
        }
        dirty[dirty_count++] = c;
    }
    uint8_t *p = c->out + c->out_start + c->out_count;
    c->out_count += count;
    return p;
}

void out_text(struct connection *c, const char *text) {
    size_t count = strlen(text);
    memcpy(out_space(c, count), text, count);
}

void call_at(struct connection *c, uint64_t time) {
    if (c->due != 0) return;
    c->due = time;
    c->next_due = NULL;
    if (last_due != NULL) last_due->next_due = c;
    else first_due = c;
    last_due = c;
}

// The payload begins with when it was due, in hexadecimal: text for every protocol.
static void write_time(uint8_t *p, uint64_t time) {
    for (int i = 15; i >= 0; i--, time >>= 4) p[i] = (uint8_t)"0123456789abcdef"[time & 15];
}

static uint64_t read_time(const uint8_t *p) {
    uint64_t time = 0;
    for (int i = 0; i < 16; i++) time = time << 4 | (uint64_t)(p[i] <= '9' ? p[i] - '0' : p[i] - 'a' + 10);
    return time;
}

static void sample(uint64_t ns) {
    if (ns < 64) ns = 64;
    int shift = 63 - __builtin_clzll(ns) - 6;
    size_t bucket = (size_t)shift * 64 + (size_t)(ns >> shift & 63);
    histogram[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    samples++;
}

static double percentile(double share) {
    uint64_t rank = (uint64_t)((double)samples * share), seen = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        seen += histogram[i];
        if (seen > rank) return (double)((64 + i % 64) << (i / 64)) / 1000;
    }
    return 0;
}

void was_delivered(struct connection *c, const uint8_t *payload, size_t count) {
    c->delivered++;
    delivered++;
    if (measures && count >= 16 && (options.rate > 0 || options.window <= 1))
        sample(now_ns() - read_time(payload));
}

void was_acknowledged(struct connection *c, uint64_t count) { c->acknowledged += count; }

static void transmit(struct connection *c) {
    while (c->out_count > 0) {
        if (options.is_web) web_frame(c);
        const uint8_t *bytes = c->out + c->out_start;
        size_t count = options.is_web ? c->frame_rest : c->out_count;
        ssize_t sent = c->tls != NULL ? tls_send(c, bytes, count) : send(c->fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) fail("the server closed the connection");
        if (sent < 0) break;
        c->out_start += (size_t)sent;
        c->out_count -= (size_t)sent;
        if (options.is_web) c->frame_rest -= (size_t)sent;
    }
    if (c->out_count == 0) {
        c->out_start = 0;
        if (options.idle > 0) {
            free(c->out);
            c->out = NULL;
            c->out_room = 0;
        }
    }
    bool waits = c->out_count > 0;
    if (waits == c->waits) return;
    c->waits = waits;
    struct epoll_event event = {.events = EPOLLIN | (waits ? (uint32_t)EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void receive(struct connection *c) {
    if (c->rest_count > 0) memcpy(input, c->rest, c->rest_count);
    uint8_t *space = input + c->rest_count;
    ssize_t got = c->tls != NULL ? tls_receive(c, space, READ_SIZE) : recv(c->fd, space, READ_SIZE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) fail("the server ended the connection");
    if (options.is_web) got = (ssize_t)web_unframe(c, space, (size_t)got);
    size_t count = c->rest_count + (size_t)got;
    bool was_ready = c->is_ready;
    size_t taken = options.protocol->parse(c, input, count);
    if (!was_ready && c->is_ready) ready_count++;
    if (count - taken > MAX_REST) fail("more than it can hold");
    if (count - taken > c->rest_count || (c->rest != NULL && count == taken)) {
        c->rest = count == taken ? (free(c->rest), NULL) : realloc(c->rest, count - taken);
    }
    c->rest_count = count - taken;
    if (c->rest_count > 0) memcpy(c->rest, input + taken, c->rest_count);
    if (options.protocol->after_read != NULL) options.protocol->after_read(c, false);
}

static void turn(int timeout) {
    struct epoll_event events[MAX_EVENTS];
    if (first_due != NULL && timeout != 0) timeout = 1;
    int count = epoll_wait(poller, events, MAX_EVENTS, timeout);
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if ((events[i].events & EPOLLOUT) != 0) transmit(c);
        if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0) {
            do receive(c);
            while (c->tls != NULL && tls_has_input(c));
        }
    }
    if (first_due != NULL) {
        uint64_t now = now_ns();
        while (first_due != NULL && first_due->due <= now) {
            struct connection *c = first_due;
            first_due = c->next_due;
            if (first_due == NULL) last_due = NULL;
            c->due = 0;
            options.protocol->after_read(c, true);
        }
    }
}

static void flush(void) {
    for (size_t i = 0; i < dirty_count; i++) {
        dirty[i]->is_queued = false;
        transmit(dirty[i]);
    }
    dirty_count = 0;
}

static void connect_one(struct connection *c, uint32_t index, bool publishes) {
    c->index = index;
    c->publishes = publishes;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options.port)};
    inet_pton(AF_INET, options.host, &address.sin_addr);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0) fail("cannot connect");
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (options.is_secure) tls_connect(c);
    if (options.is_web) web_connect(c);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
    options.protocol->start(c);
    flush();
}

static void wait_ready(uint64_t count) {
    uint64_t deadline = now_ns() + 30000000000u;
    while (ready_count < count) {
        turn(50);
        flush();
        if (now_ns() > deadline) fail("the handshake takes more than 30 s");
    }
}

static double processor_seconds(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec)
        + (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static void run(struct connection *publisher, uint8_t *payload) {
    uint64_t begin = now_ns(), start = begin + (uint64_t)(options.warm_up * 1e9);
    uint64_t stop = start + (uint64_t)(options.seconds * 1e9), origin = 0, first_count = 0, last_count = 0;
    uint64_t first_time = 0, now = begin, stalled = 0;
    struct rusage before = {0}, after;
    // Latency is measured with the load's thread spinning, so that its own waking up does not count.
    bool spins = options.rate > 0 || options.window < 100;
    uint64_t rate_sent = 0, wanted = options.messages * options.fanout;
    while (now < stop && (wanted == 0 || delivered < wanted)) {
        now = now_ns();
        if (!measures && now >= start) {
            measures = true;
            first_time = now;
            first_count = delivered;
            getrusage(RUSAGE_SELF, &before);
            printf("begin\n");
            fflush(stdout);
        }
        if (options.rate > 0) {
            if (origin == 0) origin = now;
            uint64_t due = (uint64_t)((double)(now - origin) * options.rate / 1e9) + 1;
            while (rate_sent < due && options.protocol->may_publish(publisher)) {
                write_time(payload, origin + (uint64_t)((double)rate_sent * 1e9 / options.rate));
                options.protocol->publish(publisher, payload, options.size);
                publisher->published++;
                rate_sent++;
            }
            if (rate_sent < due) stalled++;
        } else {
            uint64_t done = delivered / options.fanout;
            if (publisher->acknowledged < done) done = publisher->acknowledged;
            uint64_t free = publisher->published - done;
            free = free < options.window ? options.window - free : 0;
            if (free > 0 && options.window <= 1) write_time(payload, now);
            while (free-- > 0 && options.protocol->may_publish(publisher)) {
                options.protocol->publish(publisher, payload, options.size);
                publisher->published++;
            }
        }
        flush();
        turn(spins ? 0 : 20);
        flush();
    }
    if (delivered < wanted) fail("not all messages were delivered");
    now = now_ns();
    last_count = delivered;
    getrusage(RUSAGE_SELF, &after);
    printf("end\n");
    fflush(stdout);
    double seconds = (double)(now - first_time) / 1e9;
    double busy = processor_seconds(&after) - processor_seconds(&before);
    printf(
        "{\"protocol\":\"%s\",\"deliveries\":%llu,\"seconds\":%.6f,\"perSecond\":%.1f,\"messages\":%.1f,"
        "\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f,\"samples\":%llu,\"loadBusy\":%.3f,\"stalls\":%llu}\n",
        options.protocol->name, (unsigned long long)(last_count - first_count), seconds,
        (double)(last_count - first_count) / seconds, (double)(last_count - first_count) / options.fanout,
        percentile(0.5), percentile(0.99), percentile(0.999), (unsigned long long)samples, busy / seconds,
        (unsigned long long)stalled);
}

/// Connections that say nothing but what keeps them alive. It is "ready" when a server has had time for all that it
/// does when somebody has joined.
static void idle(struct connection *all, uint32_t count) {
    uint64_t begin = now_ns(), ready = begin + 1000000000;
    uint64_t stop = ready + (uint64_t)(options.seconds * 1e9), beats = 0;
    bool is_ready = false;
    for (uint64_t now = begin; now < stop; now = now_ns()) {
        if (!is_ready && now >= ready) {
            printf("ready\n");
            fflush(stdout);
            is_ready = true;
        }
        turn(20);
        if (options.heartbeat > 0 && options.protocol->keep_alive != NULL) {
            uint64_t due = (uint64_t)((double)(now - begin) / 1e9 / options.heartbeat * count);
            for (; beats < due; beats++) options.protocol->keep_alive(&all[beats % count]);
        }
        flush();
    }
    printf("end\n{\"protocol\":\"%s\",\"idle\":%u,\"beats\":%llu}\n", options.protocol->name, count,
           (unsigned long long)beats);
}

/// Each connection publishes its next message when the last one was acknowledged.
static void send_alternately(struct connection *all, uint32_t count, uint8_t *payload) {
    uint64_t begin = now_ns(), start = begin + (uint64_t)(options.warm_up * 1e9);
    uint64_t stop = start + (uint64_t)(options.seconds * 1e9), sum = 0, first_sum = 0, first_time = 0, now = begin;
    while (now < stop) {
        now = now_ns();
        if (!measures && now >= start) {
            measures = true;
            first_time = now;
            first_sum = sum;
            printf("begin\n");
            fflush(stdout);
        }
        sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct connection *c = &all[i];
            sum += c->acknowledged;
            if (c->acknowledged < c->published || !options.protocol->may_publish(c)) continue;
            options.protocol->publish(c, payload, options.size);
            c->published++;
        }
        flush();
        turn(0);
        flush();
    }
    printf("end\n");
    double seconds = (double)(now_ns() - first_time) / 1e9;
    printf("{\"protocol\":\"%s\",\"senders\":%u,\"perSecond\":%.1f,\"messages\":%llu}\n", options.protocol->name, count,
           (double)(sum - first_sum) / seconds, (unsigned long long)(sum - first_sum));
}

static double number(int argc, char **argv, int i) {
    if (i >= argc) fail("a number is missing");
    return atof(argv[i]);
}

static void read_options(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof protocols / sizeof *protocols; i++)
        if (strcmp(argv[1], protocols[i]->name) == 0) options.protocol = protocols[i];
    if (options.protocol == NULL)
        fail("usage: load martlet|martlet-compact|bare|mqtt|nats|jetstream|redis-pubsub|redis-streams|xmpp|"
             "handshakes ...");
    options.port = options.protocol->port;
    for (int i = 2; i < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0) options.port = (uint16_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--size") == 0) options.size = (size_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--window") == 0) options.window = (uint64_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--seconds") == 0) options.seconds = number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--warm-up") == 0) options.warm_up = number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--rate") == 0) options.rate = number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--fanout") == 0) options.fanout = (uint32_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--idle") == 0) options.idle = (uint32_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--senders") == 0) options.senders = (uint32_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--messages") == 0) options.messages = (uint64_t)number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--heartbeat") == 0) options.heartbeat = number(argc, argv, i + 1);
        else if (strcmp(argv[i], "--disk") == 0) options.is_stream_on_disk = number(argc, argv, i + 1) != 0;
        else if (strcmp(argv[i], "--tls") == 0) options.is_secure = number(argc, argv, i + 1) != 0;
        else if (strcmp(argv[i], "--web") == 0) options.is_web = number(argc, argv, i + 1) != 0;
        else if (strcmp(argv[i], "--resume") == 0) options.resumes = number(argc, argv, i + 1) != 0;
        else if (strcmp(argv[i], "--check") == 0) options.checks = number(argc, argv, i + 1) != 0;
        else fail(argv[i]);
    }
    if (options.size < 16) fail("a payload has at least 16 bytes");
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    if (options.protocol == &handshakes) return run_handshakes(), 0;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    static char room[32];
    snprintf(room, sizeof room, "b%d", (int)getpid());
    options.room = room;
    poller = epoll_create1(EPOLL_CLOEXEC);
    uint8_t *payload = malloc(options.size);
    for (size_t i = 0; i < options.size; i++) payload[i] = (uint8_t)('a' + i * 7 % 26);
    write_time(payload, 0);
    uint32_t count = options.idle > 0 ? options.idle : options.senders > 0 ? options.senders : options.fanout + 1;
    struct connection *all = calloc(count, sizeof *all);
    if (options.idle > 0) {
        for (uint32_t i = 0; i < count; i++) {
            connect_one(&all[i], i, false);
            if (i % 64 == 63) wait_ready(i + 1);
        }
        wait_ready(count);
        idle(all, count);
        return 0;
    }
    if (options.senders > 0) {
        for (uint32_t i = 0; i < count; i++) {
            connect_one(&all[i], i, true);
            wait_ready(i + 1);
        }
        send_alternately(all, count, payload);
        return 0;
    }
    connect_one(&all[0], 0, true);
    wait_ready(1);
    for (uint32_t i = 1; i < count; i++) {
        connect_one(&all[i], i, false);
        if (i % 64 == 63) wait_ready(i + 1);
    }
    wait_ready(count);
    run(&all[0], payload);
    return 0;
}
