"""The parser of compact frames (Specs/wire.md 15.3 to 15.5).

It was written from the specification alone, with the standard library of Python.
"""

import struct

from martlet_basics import Sessions
from martlet_compact_tlv import U32, U64, Cursor, expanded, fault
from martlet_context import changes_of_run
from martlet_header import NONE, ZLIB, Header
from martlet_registry import RULES, TYPE_OF_FORM, ContentKind, ErrorCode, Flags, Form, FrameType, Tag
from martlet_tlv import tlv

HAS_LENGTH, HAS_FIELDS, FORM = 0x80, 0x40, 0x3F
SESSION, SEQUENCE, TIMESTAMP, FLAGS, TYPE, COMPRESSION, NO_FIELDS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0xC0
FORM_OF_TYPE = {kind: form for form, kind in TYPE_OF_FORM.items() if form < Form.TEXT}
WITHOUT_LENGTH = (Form.ACCEPTED_NEXT, Form.ACCEPTED, Form.ACK_NEXT, Form.ACK)
NEVER = (FrameType.HELLO, FrameType.WELCOME, FrameType.REJECT, FrameType.GOAWAY, FrameType.AUTH)
TEXT_KIND = tlv(Tag.KIND, ContentKind.TEXT.to_bytes(2, "big"))
DEFINED, IN_UTF16, PLACE = 0x80, 0x40, 0x07
MAX_SENDER = 128
ACK_SESSION, ACK_CUMULATIVE, ACK_CREDIT, ACK_LINK_CREDIT, ACK_ECHO, NO_ACK = 0x01, 0x02, 0x04, 0x08, 0x10, 0xE0


def is_on_link(kind):
    return kind in RULES and RULES[kind].session == Sessions.LINK


def usual_flags(kind, priority):
    return Flags.CHECKSUMMED | priority << 4 | (Flags.RELIABLE if kind in RULES and RULES[kind].is_reliable else 0)


def text_body(counter, text):
    return tlv(Tag.COUNTER, counter.to_bytes(8, "big")) + TEXT_KIND + tlv(Tag.CONTENT, tlv(Tag.TEXT, text))


def delivery_body(offset, accepted_at, device, sender, counter, text):
    front = ((Tag.OFFSET, offset), (Tag.ACCEPTED_AT, accepted_at), (Tag.DEVICE, device))
    return b"".join(tlv(tag, number.to_bytes(8, "big")) for tag, number in front) + tlv(Tag.SENDER, sender) + \
        text_body(counter, text)


def accepted_body(counter, count, offset):
    return tlv(Tag.ACCEPTED_RUN, struct.pack(">QIQ", counter, count, offset))


def ack_body(echo, link_credit, session, cumulative, credit):
    front = tlv(Tag.ECHO, struct.pack(">II", *echo)) if echo else b""
    return front + tlv(Tag.LINK_CREDIT, link_credit.to_bytes(8, "big")) + tlv(
        Tag.SESSION_ACK, struct.pack(">HQQ", session, cumulative, credit))


# Parsing


def read(cursor, context, max_body):
    """The next compact frame as a header and a body. The context is updated."""
    first = cursor.integer(1)
    form, fields = first & FORM, cursor.integer(1) if first & HAS_FIELDS else 0
    if fields & NO_FIELDS or bool(fields & TYPE) != (form == Form.ANNOUNCED_TYPE) or form and form not in TYPE_OF_FORM:
        raise fault()
    session = cursor.varint(0xFFFF) if fields & SESSION else None
    sequence = cursor.integer(4) if fields & SEQUENCE else None
    timestamp = context.timestamp + (cursor.varint() if fields & TIMESTAMP else 0) & U32
    flags = cursor.integer(1) if fields & FLAGS else None
    kind = cursor.integer(2) if fields & TYPE else TYPE_OF_FORM[form]
    compression = cursor.integer(1) if fields & COMPRESSION else None
    if kind in NEVER or compression is not None and form >= Form.TEXT:
        raise fault()
    if compression not in (None, NONE, ZLIB):
        raise fault(ErrorCode.COMPRESSION_NOT_ALLOWED)
    if session is None:
        session = 0 if is_on_link(kind) else context.session
        if not session and not is_on_link(kind):
            raise fault()
    entry = context.of(session)
    if flags is None:
        flags = usual_flags(kind, entry.priority)
    if not flags & Flags.CHECKSUMMED or flags & Flags.RESERVED:
        raise fault()
    if sequence is None:
        sequence = entry.next if flags & Flags.RELIABLE else 0
        if sequence is None:
            raise fault()
    header = Header(kind, session, sequence, timestamp, flags, compression or NONE)
    if form in WITHOUT_LENGTH:
        if first & HAS_LENGTH:
            raise fault()
        body, changes = READ_SHORT[form](cursor, context, header)
    else:
        data = cursor.take(cursor.varint() if first & HAS_LENGTH else cursor.rest)
        if compression is not None:
            body, changes = data, []
        elif form in (Form.TEXT, Form.TEXT_AT, Form.TEXT16):
            body, changes = read_text(Cursor(data), context, form)
        elif form == Form.DELIVERY:
            body, changes = read_delivery(Cursor(data), context, header)
        else:
            body, changes = expanded(data, max_body), []
    if len(body) > max_body:
        raise fault(ErrorCode.FRAME_TOO_LARGE)
    context.learn(header, changes)
    return header, body


def read_text(cursor, context, form):
    counter = context.counter + 1 + (cursor.signed() if form == Form.TEXT_AT else 0) & U64
    return text_body(counter, words(cursor, form == Form.TEXT16)), [(None, "counter", counter)]


def words(cursor, in_utf16):
    """The text at the end of a body."""
    data = cursor.take(cursor.rest)
    try:
        return data.decode("utf-16-be").encode() if in_utf16 else data
    except UnicodeDecodeError:
        raise fault() from None


def read_delivery(cursor, context, header):
    bits = cursor.integer(1)
    if bits & ~(DEFINED | IN_UTF16 | PLACE):
        raise fault()
    place = bits & PLACE
    author, changes = context.authors[place], []
    device, sender, last = author.device, author.sender, author.counter
    if bits & DEFINED:
        device, sender, last = cursor.integer(8), cursor.take(cursor.varint(MAX_SENDER)), 0
        changes = [((place,), "device", device), ((place,), "sender", sender)]
    if not sender:
        raise fault()
    offset = context.of(header.session).delivered + 1 + cursor.signed() & U64
    accepted_at = context.accepted_at + cursor.signed() & U64
    counter = last + 1 + cursor.signed() & U64
    changes += [((place,), "counter", counter), (None, "accepted_at", accepted_at),
                (header.session, "delivered", offset)]
    return delivery_body(offset, accepted_at, device, sender, counter, words(cursor, bits & IN_UTF16)), changes


def read_accepted_next(cursor, context, header):
    entry = context.of(header.session)
    run = entry.counter + 1 & U64, 1, entry.offset + 1 & U64
    return accepted_body(*run), changes_of_run(header.session, *run)


def read_accepted(cursor, context, header):
    entry = context.of(header.session)
    counter, offset = entry.counter + 1 + cursor.signed() & U64, entry.offset + 1 + cursor.signed() & U64
    run = counter, cursor.varint(U32), offset
    return accepted_body(*run), changes_of_run(header.session, *run)


def read_ack_next(cursor, context, header):
    return ack_of(context, header, context.session or None)


def read_ack(cursor, context, header):
    bits = cursor.integer(1)
    if bits & NO_ACK:
        raise fault()
    session = cursor.varint(0xFFFF) if bits & ACK_SESSION else context.session or None
    cumulative = cursor.varint() if bits & ACK_CUMULATIVE else 1
    credit = cursor.varint() if bits & ACK_CREDIT else 0
    link_credit = cursor.varint() if bits & ACK_LINK_CREDIT else 0
    echo = (context.echoed + cursor.varint() & U32, cursor.varint(U32)) if bits & ACK_ECHO else None
    return ack_of(context, header, session, cumulative, credit, link_credit, echo)


def ack_of(context, header, session, cumulative=1, credit=0, link_credit=0, echo=None):
    """An ack from the differences to the previous numbers."""
    if session is None:
        raise fault()
    entry = context.of(session)
    cumulative, credit = entry.cumulative + cumulative & U64, entry.credit + credit & U64
    link_credit = context.link_credit + link_credit & U64
    changes = [(session, "cumulative", cumulative), (session, "credit", credit), (None, "link_credit", link_credit)]
    if echo:
        changes.append((None, "echoed", echo[0]))
    return ack_body(echo, link_credit, session, cumulative, credit), changes


READ_SHORT = {
    Form.ACCEPTED_NEXT: read_accepted_next, Form.ACCEPTED: read_accepted, Form.ACK_NEXT: read_ack_next,
    Form.ACK: read_ack}
