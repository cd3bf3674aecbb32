// NATS: the core without acknowledgements, and JetStream with an acknowledgement of each message to its publisher.
#define _GNU_SOURCE
#include "load.h"

static bool is_jetstream(void) { return options.protocol == &jetstream; }

static void subject(struct connection *c, char *text, size_t room) {
    if (options.idle > 0) snprintf(text, room, "%s.%u", options.room, c->index);
    else snprintf(text, room, "%s.s", options.room);
}

// state[0]: answers that come before the first acknowledgement
static void start(struct connection *c) {
    char text[512], config[256], name[64];
    out_text(c, "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\",\"protocol\":1}\r\n");
    subject(c, name, sizeof name);
    if (c->publishes && is_jetstream()) {
        snprintf(
            config, sizeof config,
            "{\"name\":\"%s\",\"subjects\":[\"%s\"],\"storage\":\"%s\",\"max_msgs\":100000,"
            "\"retention\":\"limits\",\"discard\":\"old\"}", options.room, name,
            options.is_stream_on_disk ? "file" : "memory");
        snprintf(
            text, sizeof text, "SUB _INBOX.%s.* 1\r\nPUB $JS.API.STREAM.CREATE.%s _INBOX.%s.c %zu\r\n%s\r\n",
            options.room, options.room, options.room,
            strlen(config), config);
        c->state[0] = 1;
        out_text(c, text);
    } else if (!c->publishes && is_jetstream()) {
        snprintf(
            config, sizeof config,
            "{\"stream_name\":\"%s\",\"config\":{\"deliver_subject\":\"d%u.%s\",\"ack_policy\":\"none\","
            "\"deliver_policy\":\"all\"}}", options.room, c->index, options.room);
        snprintf(
            text, sizeof text,
            "SUB d%u.%s 2\r\nSUB _INBOX.s%u.%s 1\r\nPUB $JS.API.CONSUMER.CREATE.%s _INBOX.s%u.%s %zu\r\n%s\r\n",
            c->index, options.room, c->index, options.room, options.room, c->index, options.room,
            strlen(config), config);
        c->state[0] = 1;
        out_text(c, text);
    } else if (!c->publishes) {
        snprintf(text, sizeof text, "SUB %s 2\r\n", name);
        out_text(c, text);
    }
    out_text(c, "PING\r\n");
}

static void take(struct connection *c, char sid, const uint8_t *payload, size_t count) {
    if (sid == '2') return was_delivered(c, payload, count);
    bool is_error = memmem(payload, count, "\"error\"", 7) != NULL;
    if (is_error) fail("JetStream refused");
    if (c->state[0] > 0) {
        c->state[0]--;
        c->is_ready = true;
    } else {
        was_acknowledged(c, 1);
    }
}

static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    while (offset < count) {
        const uint8_t *p = bytes + offset, *end = memchr(p, '\n', count - offset);
        if (end == NULL) break;
        size_t line = (size_t)(end - p) + 1;
        if (p[0] == 'M') {
            // MSG subject sid [reply] count: the sid stands behind the second blank, the count at the end
            const uint8_t *sid = memchr(p + 4, ' ', line - 4);
            size_t length = 0, unit = 1;
            for (const uint8_t *digit = end - 2; *digit != ' '; digit--, unit *= 10)
                length += (size_t)(*digit - '0') * unit;
            if (count - offset < line + length + 2) break;
            take(c, (char)sid[1], p + line, length);
            line += length + 2;
        } else if (p[0] == 'P' && p[1] == 'I') {
            out_text(c, "PONG\r\n");
        } else if (p[0] == 'P' && c->state[0] == 0) {
            c->is_ready = true;
        } else if (p[0] == '-') {
            fail("the server reports an error");
        }
        offset += line;
    }
    return offset;
}

static bool may_publish(struct connection *c) { return true; }

static void publish(struct connection *c, const uint8_t *payload, size_t count) {
    static char head[128];
    static int head_count;
    if (head_count == 0) {
        head_count = is_jetstream()
            ? snprintf(head, sizeof head, "PUB %s.s _INBOX.%s.a %zu\r\n", options.room, options.room, count)
            : snprintf(head, sizeof head, "PUB %s.s %zu\r\n", options.room, count);
    }
    uint8_t *p = out_space(c, (size_t)head_count + count + 2);
    memcpy(p, head, (size_t)head_count);
    memcpy(p + head_count, payload, count);
    memcpy(p + (size_t)head_count + count, "\r\n", 2);
    if (!is_jetstream()) was_acknowledged(c, 1);
}

static void keep_alive(struct connection *c) { out_text(c, "PING\r\n"); }

const struct protocol nats = {"nats", 4222, start, parse, may_publish, publish, NULL, keep_alive};
const struct protocol jetstream = {"jetstream", 4222, start, parse, may_publish, publish, NULL, keep_alive};
