"""The encoder of compact frames (Specs/wire.md 15.3 to 15.5), which chooses the shortest form of a frame."""

from typing import NamedTuple

from martlet_compact import (
    ACK_CREDIT, ACK_CUMULATIVE, ACK_ECHO, ACK_LINK_CREDIT, ACK_SESSION, COMPRESSION, DEFINED, FLAGS, FORM_OF_TYPE,
    HAS_FIELDS, HAS_LENGTH, IN_UTF16, MAX_SENDER, NEVER, SEQUENCE, SESSION, TIMESTAMP, TYPE, accepted_body, ack_body,
    delivery_body, is_on_link, text_body, usual_flags,
)
from martlet_compact_tlv import SHAPES, U32, U64, compacted, numbers_of, signed, varint, whole_children
from martlet_context import AUTHORS, MAX_SESSIONS, changes_of_run
from martlet_header import MAJOR, MINOR, NONE
from martlet_registry import Flags, Form, FrameType, Tag

FRESH = (FrameType.PING, FrameType.PONG)  # They announce their timestamp always (W-83).
TEXT_TAGS = [Tag.COUNTER, Tag.KIND, Tag.CONTENT]
DELIVERY_TAGS = [Tag.OFFSET, Tag.ACCEPTED_AT, Tag.DEVICE, Tag.SENDER, *TEXT_TAGS]


class Written(NamedTuple):
    """A compact frame with an optional length, without which it extends to the end of the payload."""

    form: int
    fields: bytes  # With the byte of fields, empty without.
    body: bytes
    has_end: bool  # Says itself how long it is.
    changes: list

    def encoded(self, is_last):
        first = self.form | (HAS_FIELDS if self.fields else 0)
        if is_last or self.has_end:
            return bytes([first]) + self.fields + self.body
        return bytes([first | HAS_LENGTH]) + self.fields + varint(len(self.body)) + self.body


class FrameWriter:
    """Writes compact frames for a context. The owner updates the context after a frame is sent."""

    def __init__(self, context):
        self.context = context
        self._next_place = 0

    def written(self, header, body):
        """The compact form of the frame, or None if it must be sent in the plain form of 3."""
        flags = header.flags
        if (header.major, header.minor) != (MAJOR, MINOR) or header.type in NEVER:
            return None
        if not flags & Flags.CHECKSUMMED or flags & Flags.RESERVED or not self.knows(header.session):
            return None
        ways = [self.way(header, *found) for found in self.bodies(header, body)]
        return min(ways, key=lambda way: len(way.encoded(False)))

    def knows(self, session):
        return session in self.context.sessions or len(self.context.sessions) < MAX_SESSIONS

    def entry(self, session):
        return self.context.of(session)

    def bodies(self, header, body):
        """(form, body, whether the body has its own end, changes, compression) of each form that can represent the
        body."""
        form = FORM_OF_TYPE.get(header.type, Form.ANNOUNCED_TYPE)
        yield form, body, False, [], header.compression
        if header.compression != NONE:
            return
        if (found := compacted(body)) is not None:
            yield form, found, False, [], None
        special = {FrameType.DATA: self.data, FrameType.ACCEPTED: self.accepted, FrameType.ACK: self.ack}
        if header.type in special:
            yield from special[header.type](header, body)

    def way(self, header, form, body, has_end, changes, compression):
        context, entry = self.context, self.entry(header.session)
        bits, parts = 0, []

        def announce(bit, data):
            nonlocal bits
            bits |= bit
            parts.append(data)

        on_link = is_on_link(header.type)
        if header.session != (0 if on_link else context.session) or not header.session and not on_link:
            announce(SESSION, varint(header.session))
        if header.sequence != (entry.next if header.is_reliable else 0):
            announce(SEQUENCE, header.sequence.to_bytes(4, "big"))
        if header.timestamp != context.timestamp or header.type in FRESH:
            announce(TIMESTAMP, varint(header.timestamp - context.timestamp & U32))
        if header.flags != usual_flags(header.type, entry.priority):
            announce(FLAGS, bytes([header.flags]))
        if form == Form.ANNOUNCED_TYPE:
            announce(TYPE, header.type.to_bytes(2, "big"))
        if compression is not None:
            announce(COMPRESSION, bytes([compression]))
        return Written(form, bytes([bits]) + b"".join(parts) if bits else b"", body, has_end, changes)

    # Bodies with their own form (W-86)

    def data(self, header, body):
        fields = numbers_by_tag(body)
        tags = list(fields)
        if tags not in (TEXT_TAGS, DELIVERY_TAGS):
            return
        text, counter = fields[Tag.CONTENT][6:], fields[Tag.COUNTER]
        if tags == TEXT_TAGS:
            if text_body(counter, text) == body:
                beyond, changes = counter - self.context.counter - 1 & U64, [(None, "counter", counter)]
                if not beyond:
                    yield Form.TEXT, text, False, changes, None
                    if (units := utf16(text)) is not None:
                        yield Form.TEXT16, units, False, changes, None
                yield Form.TEXT_AT, signed(beyond) + text, False, changes, None
            return
        offset, accepted_at, device, sender = (fields[tag] for tag in DELIVERY_TAGS[:4])
        if not 1 <= len(sender) <= MAX_SENDER:
            return
        if delivery_body(offset, accepted_at, device, sender, counter, text) != body:
            return
        place, front, last, changes = self.author(device, sender)
        numbers = (
            signed(offset - self.entry(header.session).delivered - 1), signed(accepted_at - self.context.accepted_at),
            signed(counter - last - 1))
        changes += [((place,), "counter", counter), (None, "accepted_at", accepted_at),
                    (header.session, "delivered", offset)]
        rest = front[1:] + b"".join(numbers)
        yield Form.DELIVERY, front[:1] + rest + text, False, changes, None
        if (units := utf16(text)) is not None:
            yield Form.DELIVERY, bytes([front[0] | IN_UTF16]) + rest + units, False, changes, None

    def author(self, device, sender):
        """The index of the author, its encoding, the previous counter, and the changes of the context."""
        authors = self.context.authors
        for place, author in enumerate(authors):
            if (author.device, author.sender) == (device, sender):
                return place, bytes([place]), author.counter, []
        place = next((place for place, author in enumerate(authors) if author.sender is None), self._next_place)
        self._next_place = (place + 1) % AUTHORS
        front = bytes([DEFINED | place]) + device.to_bytes(8, "big") + varint(len(sender)) + sender
        return place, front, 0, [((place,), "device", device), ((place,), "sender", sender)]

    def accepted(self, header, body):
        if len(body) != 26 or (run := numbers_of(Tag.ACCEPTED_RUN, body[6:])) is None or accepted_body(*run) != body:
            return
        entry, (counter, count, offset) = self.entry(header.session), run
        beyond, changes = (counter - entry.counter - 1, offset - entry.offset - 1), changes_of_run(header.session, *run)
        if beyond == (0, 0) and count == 1:
            yield Form.ACCEPTED_NEXT, b"", True, changes, None
        yield Form.ACCEPTED, signed(beyond[0]) + signed(beyond[1]) + varint(count), True, changes, None

    def ack(self, header, body):
        fields = numbers_by_tag(body)
        acked, link_credit, echo = fields.get(Tag.SESSION_ACK), fields.get(Tag.LINK_CREDIT), fields.get(Tag.ECHO)
        if acked is None or link_credit is None or len(acked) != 3 or ack_body(echo, link_credit, *acked) != body:
            return
        context, (session, cumulative, credit) = self.context, acked
        if not self.knows(session):
            return
        entry = self.entry(session)
        beyond = [now - last & U64 for now, last in (
            (cumulative, entry.cumulative), (credit, entry.credit), (link_credit, context.link_credit))]
        changes = [(session, "cumulative", cumulative), (session, "credit", credit), (None, "link_credit", link_credit)]
        is_usual = session == context.session and session
        if is_usual and beyond == [1, 0, 0] and not echo:
            yield Form.ACK_NEXT, b"", True, changes, None
        parts = b"" if is_usual else varint(session)
        bits = 0 if is_usual else ACK_SESSION
        for bit, number, usual in zip((ACK_CUMULATIVE, ACK_CREDIT, ACK_LINK_CREDIT), beyond, (1, 0, 0)):
            if number != usual:
                bits, parts = bits | bit, parts + varint(number)
        if echo:
            bits, parts = bits | ACK_ECHO, parts + varint(echo[0] - context.echoed & U32) + varint(echo[1])
            changes = changes + [(None, "echoed", echo[0])]
        yield Form.ACK, bytes([bits]) + parts, True, changes, None


def utf16(text):
    """The text in UTF-16, or None if it is not valid text."""
    try:
        return text.decode().encode("utf-16-be")
    except UnicodeDecodeError:
        return None


def numbers_by_tag(body):
    """The values by their tags: a number, several numbers, or bytes. Empty if a tag is repeated or a value does not
    have the shape of its tag."""
    try:
        whole = whole_children(body)
    except ValueError:
        return {}
    found = {}
    for tag, value in whole:
        numbers = numbers_of(tag, value)
        if tag in found or tag in SHAPES and numbers is None:
            return {}
        found[tag] = value if numbers is None else numbers[0] if len(numbers) == 1 else numbers
    return found
