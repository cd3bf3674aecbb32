"""Random frames for differential.py: most are valid, many almost valid."""

import struct
import zlib

from martlet_basics import Sessions
from martlet_frames import BODIES, OF_RELAY
from martlet_registry import CLIENT, RULES, SERVER, VALUES, Flags, FrameType, Tag
from martlet_tlv import children, is_container, tlv
from martlet_wire import FRAGMENTABLE, Header

KINDS = list(RULES)
TAGS = sorted({tag for body in BODIES.values() for tag in body.table()})
CHARACTERS = "abcXYZ 09~é\u00a0ßЖ漢\U0001f426"
# Almost valid names and text: refused characters and their neighbours, and bytes that are not UTF-8.
ODD = ["\x00", "\x1f", "\x7f", "\x80", "\x9f", " ", "  ", "\u00a0", "\u00ad", "\u200b", "\u2010", "\u2028", "\u202e",
       "\u2066", "\u2070", "\ufe0f", "\ufeff", "\ufff9", "\ufffc", "\uffff", "\U000e0001", "\U000f0000"]
BROKEN = [b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xff", b"\xf0\x80\x80\x80"]


class Maker:
    """A generator with a `random.Random`."""

    def __init__(self, random):
        self.random = random

    def frame(self):
        """(sender, frame): a frame of a type with most of its fields, sometimes with a change."""
        pick = self.random.random()
        sender = CLIENT if pick < 0.5 else SERVER
        kind = self.random.choice(KINDS)
        if sender not in RULES[kind].senders and pick > 0.02:
            sender = RULES[kind].senders[0]
        return sender, self.frame_of(kind, sender)

    def frame_of(self, kind, sender):
        """A frame of a type and a sender."""
        tlvs = self.fields(BODIES[kind], sender)
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            self.change(tlvs)
        body = b"".join(tlv(tag, value) for tag, value in tlvs)
        if self.random.random() < 0.1:
            body = self.damaged(body)
        return self.framed(kind, sender, body)

    def stream(self, count):
        """(sender, frames) of one direction: sometimes a handshake, then frames of few sessions and a message in
        fragments."""
        random = self.random
        sender = random.choice((CLIENT, SERVER))
        frames = []
        if random.random() < 0.4:
            begin = FrameType.HELLO if sender == CLIENT else random.choice((FrameType.WELCOME, FrameType.REJECT))
            frames.append(self.frame_of(begin, sender))
        kinds = [kind for kind in KINDS if sender in RULES[kind].senders and kind & 0xFF00 != 0x4000]
        cut = random.choice(FRAGMENTABLE)
        while len(frames) < count:
            if random.random() < 0.6:
                frames.append(self.fragment(cut if random.random() < 0.9 else random.choice(FRAGMENTABLE)))
            else:
                frames.append(self.frame_of(random.choice(kinds), sender))
        return sender, frames

    def fragment(self, kind):
        random = self.random
        body, compression = random.randbytes(random.randrange(30)), 0
        if random.random() < 0.3:
            body, compression = self.compressed(body), 1
        return Header(
            type=int(kind), session=random.choice((1, 1, 1, 3)), sequence=random.getrandbits(32),
            flags=0x09 | random.choice((0, 2, 2)), compression=compression).encoded(body) + body

    def framed(self, kind, sender, body):
        random = self.random
        rule = RULES[kind]
        session = 0 if rule.session == Sessions.LINK else random.choice((1, 2, 3, 65_534, 65_535))
        if kind == FrameType.OPEN:
            session = session | 1 if sender == CLIENT else (session & 0xFFFE) or 2
        flags = 0x08 | random.choice((0, 0x10, 0x20, 0x30)) | (Flags.RELIABLE if rule.is_reliable else 0)
        fields = {
            "session": session, "flags": flags, "sequence": random.getrandbits(32) if rule.is_reliable else 0,
            "timestamp": random.getrandbits(32), "minor": random.choice((0, 0, 0, 1, 255)), "compression": 0}
        if random.random() < 0.2:
            fields["compression"], body = 1, self.compressed(body)
        if random.random() < 0.05:
            self.change_header(fields)
        if random.random() < 0.02:
            kind = random.choice((0, 0x1002, 0x7000, 0x8000, 0xF000, random.getrandbits(16), int(kind) ^ 0x8000))
        return Header(type=int(kind), **fields).encoded(body) + body

    def change_header(self, fields):
        random = self.random
        name = random.choice(("session", "flags", "flags", "sequence", "compression"))
        fields[name] = {
            "session": random.choice((0, 1, 2)), "flags": fields["flags"] ^ random.choice((1, 2, 4, 8, 0x40, 0x80)),
            "sequence": random.choice((0, 1)), "compression": random.choice((1, 2, 3, 255)),
        }[name]

    def compressed(self, body):
        random = self.random
        stream = zlib.compressobj(random.choice((0, 1, 6, 9)), wbits=random.choice((9, 12, 15)))
        data = stream.compress(body)
        if random.random() < 0.3:
            data += stream.flush(zlib.Z_FULL_FLUSH)
        data += stream.flush()
        if random.random() < 0.3:
            data = self.damaged(data)
        return data

    def damaged(self, data):
        """Bytes with a flipped bit, truncated, partly duplicated, or extended."""
        random = self.random
        data = bytearray(data)
        at = random.randrange(len(data) + 1)
        pick = random.randrange(5)
        if pick == 0 or at == len(data):
            data += random.randbytes(random.choice((1, 2, 6, 7)))
        elif pick == 1:
            del data[at:]
        elif pick == 2:
            data[at:at] = data[at : at + random.randrange(1, 9)]
        else:
            data[at] ^= 1 << random.randrange(8)
        return bytes(data)

    def changed(self, body):
        """A body with a change in its bytes or in a field."""
        try:
            tlvs = children(body)
        except struct.error:
            tlvs = []
        if not tlvs or self.random.random() < 0.3:
            return self.damaged(body)
        self.change(tlvs)
        return b"".join(tlv(tag, value) for tag, value in tlvs)

    # Fields

    def fields(self, cls, sender):
        """The fields of a type: the required ones, and some of the others."""
        tlvs = []
        for tag, (name, rule) in cls.table().items():
            count = self.random.randrange(4) if "repeats" in rule else self.random.randrange(2)
            tlvs += [(tag, self.value(tag, rule, sender)) for _ in range(max(count, rule["least"]))]
        name = cls.__name__
        if name == "Data" and self.random.random() < 0.97:
            tlvs = [field for field in tlvs if field[0] not in OF_RELAY]
            if sender == SERVER:
                tlvs = [(tag, self.value(tag, None, sender)) for tag in OF_RELAY] + tlvs
        elif name == "Transient" and self.random.random() < 0.9:
            keep = self.random.choice(((Tag.TYPING,), (Tag.PRESENCE,), (Tag.KIND, Tag.CONTENT)))
            tlvs = [(tag, self.value(tag, None, sender)) for tag in keep]
        elif name == "Receipt" and self.random.random() < 0.9:
            kind, keep = self.random.choice((
                (1, (Tag.UP_TO,)), (2, (Tag.UP_TO, Tag.SENDER)), (3, (Tag.COUNTER, Tag.CODE))))
            tlvs = [(Tag.RECEIPT_KIND, bytes([kind]))] + [(tag, self.value(tag, None, sender)) for tag in keep]
        elif name == "Gap" and self.random.random() < 0.9:
            first, last = sorted((self.number(8), self.number(8)))
            tlvs = [(Tag.FIRST, first), (Tag.UP_TO, last)]
        elif name == "Update" and self.random.random() < 0.9:
            required = (Tag.ROOM, Tag.MEMBERSHIP, Tag.HEAD, Tag.FIRST)
            tlvs = [field for field in tlvs if field[0] not in required]
            tlvs = [(tag, self.value(tag, None, sender)) for tag in required] + tlvs
        return tlvs

    def value(self, tag, rule, sender):
        random = self.random
        if rule is not None and not isinstance(rule["kind"], tuple):
            return b"".join(tlv(*field) for field in self.fields(rule["kind"], sender))
        made = getattr(self, f"value_{Tag(tag).name.lower()}", None)
        if made is not None:
            return made()
        kind, least, most, sizes = VALUES[tag]
        if kind in ("name", "text"):
            return self.text(least, most, ODD if kind == "name" else ())
        if most is not None:
            return bytes([random.randrange(most + (random.random() < 0.05) + 1)])
        if least > 1:
            return struct.pack(">I", random.choice((least, least, 65_536, 0xFFFFFFFF, least - 1)))
        return self.number(sum(sizes))

    def number(self, size):
        if size == 0:
            return b""
        pick = self.random.randrange(6)
        number = (0, 1, (1 << 8 * size) - 1)[pick] if pick < 3 else self.random.getrandbits(8 * size)
        return number.to_bytes(size, "big")

    def text(self, least, most, odd=()):
        random = self.random
        pick = random.random()
        if pick < 0.02:
            return b"a" * random.choice((0, most, most + 1))
        found = "".join(random.choices(CHARACTERS, k=random.randrange(int(least), 9)))
        if pick < 0.04 and odd:
            found += random.choice(odd)
        data = found.encode()
        return data + random.choice(BROKEN) if 0.04 <= pick < 0.06 else data

    def value_spoken_version(self):
        return self.random.randbytes(2)

    def value_credential(self):
        return self.random.randbytes(self.random.choice((0, 5, 40)))

    def value_resume_token(self):
        return self.random.randbytes(self.random.choice((32, 32, 32, 32, 31)))

    def value_session_position(self):
        return struct.pack(">HQ", self.random.randrange(40), self.random.getrandbits(64))

    def value_session_ack(self):
        random = self.random
        at = random.getrandbits(random.choice((8, 40, 63)))
        data = struct.pack(">HQQ", random.randrange(9), at, random.getrandbits(64))
        for _ in range(random.randrange(4)):
            first = at + random.choice((1, 2, 2, 2, 9))
            at = first + random.choice((0, 1, 7, 7, -1))
            data += struct.pack(">QQ", first, at)
        return data

    def value_accepted_run(self):
        random = self.random
        high = (1 << 64) - 1
        count = random.choice((0, 1, 1, 2, 1000, 0xFFFFFFFF))
        edge = random.choice((0, 1, 1, 50, high - count, high - count + 1, random.getrandbits(63)))
        offset = random.choice((0, 1, 12, min(high - count + 1, high)))
        return struct.pack(">QIQ", min(max(edge, 0), high), count, offset)

    def value_content(self):
        random = self.random
        if random.random() < 0.5:
            return tlv(Tag.TEXT, self.text(1, 200)) + self.content(2)
        return self.content(0)

    def content(self, depth):
        random = self.random
        parts = []
        for _ in range(random.randrange(4)):
            if depth < 9 and random.random() < 0.3:
                parts.append(tlv(random.choice((0x0100, Tag.CONTENT, 0x01FF, 0x8150)), self.content(depth + 1)))
            else:
                tag = random.choice((Tag.TEXT, Tag.DATA, 0x8001, 0x4000))
                parts.append(tlv(tag, random.randbytes(random.randrange(9))))
        return b"".join(parts)

    # Changes of a body

    def change(self, tlvs):
        """Fields with a change that a faulty or hostile peer could make."""
        random = self.random
        at = random.randrange(len(tlvs) + 1)
        pick = random.randrange(10)
        if pick == 0 or at == len(tlvs):
            tlvs.insert(at, (random.choice((0x3000, 0x4000, 0x8001, 0x0150, 0x8150, random.choice(TAGS))), b""))
        elif pick == 1:
            tlvs.insert(at, (0x0150, self.content(0)))
        elif pick == 2:
            tlvs.insert(at, tlvs[at])
        elif pick == 3:
            del tlvs[at]
        elif pick == 4:
            random.shuffle(tlvs)
        elif pick == 5:
            tlvs[at] = (random.choice(TAGS), tlvs[at][1])
        elif pick == 6:
            tag = random.choice(TAGS)
            tlvs.insert(at, (tag, self.random.randbytes(random.choice((0, 1, 2, 4, 8)))))
        elif pick == 7 and is_container(tlvs[at][0]):
            try:
                inside = children(tlvs[at][1])
            except struct.error:
                return
            self.change(inside)
            tlvs[at] = (tlvs[at][0], b"".join(tlv(tag, value) for tag, value in inside))
        elif pick == 8 and random.random() < 0.03:
            tlvs += [(0x3000, b"")] * random.choice((1020, 1024))
        else:
            tlvs[at] = (tlvs[at][0], self.damaged(tlvs[at][1]))


def cut_up(maker, data):
    """A complete frame as bytes, sometimes flipped, truncated, extended, or with a wrong length or checksum."""
    random = maker.random
    pick = random.random()
    if pick < 0.95:
        return data
    if pick < 0.97:
        return maker.damaged(data)
    data = bytearray(data)
    at = random.randrange(28)
    data[at] ^= 1 << random.randrange(8)
    return bytes(data)
