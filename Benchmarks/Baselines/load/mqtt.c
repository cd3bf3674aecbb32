// MQTT 3.1.1 at QoS 1: publish and puback on both legs.
#include "load.h"

static void start(struct connection *c) {
    uint8_t *p = out_space(c, 14 + 16);
    static const uint8_t head[] = {0x10, 28, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 16};
    memcpy(p, head, sizeof head);
    char name[17];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)(now_ns() << 16 | (c->index & 0xFFFF)));
    memcpy(p + 14, name, 16);
}

static void topic_name(struct connection *c, char *topic, size_t room) {
    if (options.idle > 0) snprintf(topic, room, "%s.%u", options.room, c->index);
    else snprintf(topic, room, "%s", options.room);
}

static void subscribe(struct connection *c) {
    char topic[64];
    topic_name(c, topic, sizeof topic);
    uint8_t count = (uint8_t)strlen(topic), *p = out_space(c, 7u + count);
    p[0] = 0x82;
    p[1] = (uint8_t)(5 + count);
    put16(p + 2, 1);
    put16(p + 4, count);
    memcpy(p + 6, topic, count);
    p[6 + count] = 1;
}

static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    while (count - offset >= 2) {
        const uint8_t *p = bytes + offset;
        size_t length = 0, head = 1;
        for (int shift = 0;; shift += 7) {
            if (head >= count - offset) return offset;
            length |= (size_t)(p[head] & 127) << shift;
            if ((p[head++] & 128) == 0) break;
        }
        if (count - offset < head + length) break;
        offset += head + length;
        const uint8_t *body = p + head;
        switch (p[0] >> 4) {
        case 2:
            if (body[1] != 0) fail("the connection was refused");
            if (c->publishes) c->is_ready = true;
            else subscribe(c);
            break;
        case 9: c->is_ready = true; break;
        case 4: was_acknowledged(c, 1); break;
        case 13: break;
        case 3: {
            size_t topic = get16(body);
            uint8_t *ack = out_space(c, 4);
            ack[0] = 0x40;
            ack[1] = 2;
            memcpy(ack + 2, body + 2 + topic, 2);
            was_delivered(c, body + 4 + topic, length - 4 - topic);
            break;
        }
        default: fail("a packet that was not expected");
        }
    }
    return offset;
}

static bool may_publish(struct connection *c) { return c->published - c->acknowledged < 65535; }

static void publish(struct connection *c, const uint8_t *payload, size_t count) {
    size_t topic = strlen(options.room), length = 4 + topic + count, head = length < 128 ? 2 : 3;
    uint8_t *p = out_space(c, head + length);
    p[0] = 0x32;
    p[1] = (uint8_t)(head == 2 ? length : (length & 127) | 128);
    if (head == 3) p[2] = (uint8_t)(length >> 7);
    p += head;
    put16(p, (uint16_t)topic);
    memcpy(p + 2, options.room, topic);
    put16(p + 2 + topic, (uint16_t)(c->published % 65535 + 1));
    memcpy(p + 4 + topic, payload, count);
}

static void keep_alive(struct connection *c) {
    uint8_t *p = out_space(c, 2);
    p[0] = 0xC0;
    p[1] = 0;
}

const struct protocol mqtt = {"mqtt", 1883, start, parse, may_publish, publish, NULL, keep_alive};
