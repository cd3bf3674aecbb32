// Redis: publish and subscribe without acknowledgements, and streams with XADD and a blocking XREAD.
#include "load.h"

static bool is_stream(void) { return options.protocol == &redis_streams; }

static void key(struct connection *c, char *text, size_t room) {
    if (options.idle > 0) snprintf(text, room, "%s.%u", options.room, c->index);
    else snprintf(text, room, "%s", options.room);
}

// state[]: where in the answer to XREAD the parser is
enum { PHASE, ENTRIES };

static void read_more(struct connection *c, const char *last) {
    char text[256], name[64];
    key(c, name, sizeof name);
    snprintf(
        text, sizeof text,
        "*8\r\n$5\r\nXREAD\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n$5\r\nBLOCK\r\n$1\r\n0\r\n$7\r\nSTREAMS\r\n"
        "$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(name), name, strlen(last), last);
    out_text(c, text);
}

static void start(struct connection *c) {
    char text[256], name[64];
    key(c, name, sizeof name);
    out_text(c, "*1\r\n$4\r\nPING\r\n");
    if (c->publishes) return;
    if (is_stream()) return;
    snprintf(text, sizeof text, "*2\r\n$9\r\nSUBSCRIBE\r\n$%zu\r\n%s\r\n", strlen(name), name);
    out_text(c, text);
}

// One bulk string: its content, and how many bytes it takes; 0 when it is not all there.
static size_t bulk(const uint8_t *p, size_t count, const uint8_t **content, size_t *length) {
    const uint8_t *end = memchr(p, '\n', count);
    if (end == NULL) return 0;
    if (p[0] != '$') fail("an answer that was not expected");
    *length = (size_t)strtoul((const char *)p + 1, NULL, 10);
    *content = end + 1;
    size_t total = (size_t)(end + 1 - p) + *length + 2;
    return total <= count ? total : 0;
}

// *1 *2 $stream *N, then N times: *2 $id *2 $field $value
static size_t parse_stream(struct connection *c, const uint8_t *p, size_t count) {
    const uint8_t *content;
    size_t length, used = 0, part;
    const uint8_t *end = memchr(p, '\n', count);
    if (c->state[PHASE] == 0) {
        for (int i = 0; i < 2; i++) {
            if ((end = memchr(p + used, '\n', count - used)) == NULL) return 0;
            used = (size_t)(end + 1 - p);
        }
        if (count == used || (part = bulk(p + used, count - used, &content, &length)) == 0) return 0;
        used += part;
        if (count == used || (end = memchr(p + used, '\n', count - used)) == NULL) return 0;
        c->state[ENTRIES] = strtoul((const char *)p + used + 1, NULL, 10);
        c->state[PHASE] = 1;
        return (size_t)(end + 1 - p);
    }
    const uint8_t *id = NULL;
    size_t id_length = 0;
    for (int i = 0; i < 5; i++) {
        if (count == used) return 0;
        if (i == 0 || i == 2) {
            if ((end = memchr(p + used, '\n', count - used)) == NULL) return 0;
            used = (size_t)(end + 1 - p);
        } else {
            if ((part = bulk(p + used, count - used, &content, &length)) == 0) return 0;
            used += part;
            if (i == 1) id = content, id_length = length;
        }
    }
    was_delivered(c, content, length);
    if (--c->state[ENTRIES] == 0) {
        c->state[PHASE] = 0;
        snprintf(c->text, sizeof c->text, "%.*s", (int)id_length, (const char *)id);
        read_more(c, c->text);
    }
    return used;
}

// *3 $message $channel $payload, or the confirmation of the subscription: *3 $subscribe $channel :1
static size_t parse_pushed(struct connection *c, const uint8_t *p, size_t count) {
    const uint8_t *end = memchr(p, '\n', count), *kind, *content;
    if (end == NULL) return 0;
    size_t used = (size_t)(end + 1 - p), part, length;
    if (p[0] != '*') return used;
    if (used == count || (part = bulk(p + used, count - used, &kind, &length)) == 0) return 0;
    used += part;
    if (used == count || (part = bulk(p + used, count - used, &content, &length)) == 0) return 0;
    used += part;
    if (used == count) return 0;
    if (kind[0] == 's') {
        if ((end = memchr(p + used, '\n', count - used)) == NULL) return 0;
        c->is_ready = true;
        return (size_t)(end + 1 - p);
    }
    if ((part = bulk(p + used, count - used, &content, &length)) == 0) return 0;
    was_delivered(c, content, length);
    return used + part;
}

static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    while (offset < count) {
        const uint8_t *p = bytes + offset, *end;
        size_t used;
        if (!c->publishes && (c->is_ready || !is_stream())) {
            used = is_stream() ? parse_stream(c, p, count - offset) : parse_pushed(c, p, count - offset);
        } else if (p[0] == '$') {
            const uint8_t *content;
            size_t length;
            used = bulk(p, count - offset, &content, &length);
            if (used > 0) was_acknowledged(c, 1);
        } else {
            if (p[0] == '-') fail("the server reports an error");
            end = memchr(p, '\n', count - offset);
            used = end == NULL ? 0 : (size_t)(end + 1 - p);
            if (used > 0 && p[0] == ':') was_acknowledged(c, 1);
            if (used > 0 && p[0] == '+') {
                c->is_ready = true;
                if (!c->publishes) read_more(c, "0");
            }
        }
        if (used == 0) break;
        offset += used;
    }
    return offset;
}

static bool may_publish(struct connection *c) { return true; }

static void publish(struct connection *c, const uint8_t *payload, size_t count) {
    static char head[160];
    static int head_count;
    if (head_count == 0) {
        head_count = is_stream()
            ? snprintf(
                  head, sizeof head,
                  "*8\r\n$4\r\nXADD\r\n$%zu\r\n%s\r\n$6\r\nMAXLEN\r\n$1\r\n~\r\n$6\r\n100000\r\n$1\r\n*\r\n"
                  "$1\r\np\r\n$%zu\r\n", strlen(options.room), options.room, count)
            : snprintf(
                  head, sizeof head, "*3\r\n$7\r\nPUBLISH\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(options.room),
                  options.room, count);
    }
    uint8_t *p = out_space(c, (size_t)head_count + count + 2);
    memcpy(p, head, (size_t)head_count);
    memcpy(p + head_count, payload, count);
    memcpy(p + (size_t)head_count + count, "\r\n", 2);
}

static void keep_alive(struct connection *c) { out_text(c, "*1\r\n$4\r\nPING\r\n"); }

const struct protocol redis_pubsub = {"redis-pubsub", 6379, start, parse, may_publish, publish, NULL, keep_alive};
const struct protocol redis_streams = {"redis-streams", 6379, start, parse, may_publish, publish, NULL, keep_alive};
