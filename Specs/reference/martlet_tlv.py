"""TLVs (Specs/wire.md 4): the check of a body's structure, and the kinds of values (13.2)."""

import struct
from typing import NamedTuple

from martlet_basics import WireError
from martlet_registry import ErrorCode

MAX_DEPTH = 8
MAX_BODY_TLVS = 1024
MAX_CONTENT_TLVS = 1008
MAX_CLIENT_DATA_TLVS = 1020
CRITICAL = 0x8000

TLV = struct.Struct(">HI")


def is_container(tag):
    """W-26."""
    return tag & 0x7F00 == 0x0100


def tlv(tag, value):
    """One TLV as bytes."""
    return TLV.pack(tag, len(value)) + value


def walk(body):
    """Checks the structure of a complete body (W-23 to W-27) and returns its outermost TLVs as (tag, value) pairs.

    One loop and a list of ends are used, so the depth of the input needs no stack. The first fault in the order of
    the bytes is reported.
    """
    outermost = []
    ends = [len(body)]
    at = 0
    count = 0
    while ends:
        end = ends[-1]
        if at == end:
            ends.pop()
            continue
        if end - at < 6:
            raise WireError(ErrorCode.MALFORMED_TLV)
        tag, length = TLV.unpack_from(body, at)
        at += 6
        count += 1
        if length > end - at:
            raise WireError(ErrorCode.MALFORMED_TLV)
        if count > MAX_BODY_TLVS:
            raise WireError(ErrorCode.TOO_MANY_TLVS)
        if len(ends) == 1:
            outermost.append((tag, body[at : at + length]))
        if is_container(tag):
            if len(ends) > MAX_DEPTH:
                raise WireError(ErrorCode.TLV_TOO_DEEP)
            ends.append(at + length)
        else:
            at += length
    return outermost


def children(value):
    """The TLVs in a container that `walk` has checked."""
    found = []
    at = 0
    while at < len(value):
        tag, length = TLV.unpack_from(value, at)
        at += 6 + length
        found.append((tag, value[at - length : at]))
    return found


def count(value):
    """The number of TLVs in a container that `walk` has checked, nested ones included."""
    found = 0
    work = [value]
    while work:
        for tag, inner in children(work.pop()):
            found += 1
            if is_container(tag):
                work.append(inner)
    return found


class InvalidValue(Exception):
    """A value that its kind does not permit (W-30)."""


class Kind(NamedTuple):
    """The conversion of a field's value from and to bytes."""

    read: object
    write: object


class Version(NamedTuple):
    """spokenVersion"""

    major: int
    minor: int

    def __str__(self):
        return f"{self.major}.{self.minor}"


class Position(NamedTuple):
    """sessionPosition"""

    session: int
    highest: int


class Echo(NamedTuple):
    """echo; `held` is in microseconds"""

    timestamp: int
    held: int


class Run(NamedTuple):
    """acceptedRun"""

    counter: int
    count: int
    offset: int


class SessionAck(NamedTuple):
    """sessionAck; `ranges` are (first, last) pairs"""

    session: int
    cumulative: int
    credit: int
    ranges: tuple = ()


def integer(size, least=0, most=None):
    """An integer of `size` bytes within bounds."""
    largest = (1 << 8 * size) - 1 if most is None else most

    def read(value):
        if len(value) != size:
            raise InvalidValue
        number = int.from_bytes(value, "big")
        if not least <= number <= largest:
            raise InvalidValue
        return number

    return Kind(read, lambda number: number.to_bytes(size, "big"))


def data(least=0, most=None):
    """Bytes within bounds of their number."""

    def read(value):
        if len(value) < least or (most is not None and len(value) > most):
            raise InvalidValue
        return bytes(value)

    return Kind(read, bytes)


def text(least=0, most=None):
    """Well-formed UTF-8 within bounds of its bytes."""
    bounded = data(least, most)

    def read(value):
        try:
            return bounded.read(value).decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidValue from None

    return Kind(read, str.encode)


# W-31: the refused characters of names, as (first, last).
NOT_IN_NAMES = (
    (0x0000, 0x001F), (0x007F, 0x00A0), (0x00AD, 0x00AD), (0x034F, 0x034F), (0x0600, 0x0605), (0x061C, 0x061C),
    (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2), (0x115F, 0x1160), (0x1680, 0x1680),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x3000, 0x3000),
    (0x3164, 0x3164), (0xE000, 0xF8FF), (0xFDD0, 0xFDEF), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF), (0xF0000, 0x10FFFF),
)


def may_be_in_a_name(character):
    """W-31, without the rule for blanks."""
    point = ord(character)
    return point & 0xFFFE != 0xFFFE and not any(first <= point <= last for first, last in NOT_IN_NAMES)


def name(most):
    """W-31."""
    bounded = text(1, most)

    def read(value):
        found = bounded.read(value)
        if not all(map(may_be_in_a_name, found)) or found != found.strip(" ") or "  " in found:
            raise InvalidValue
        return found

    return Kind(read, str.encode)


def record(layout, make, check=lambda _: True):
    """Consecutive integers."""
    form = struct.Struct(layout)

    def read(value):
        if len(value) != form.size:
            raise InvalidValue
        found = make(*form.unpack(value))
        if not check(found):
            raise InvalidValue
        return found

    return Kind(read, lambda found: form.pack(*found))


def _run_is_valid(run):
    last = (1 << 64) - run.count
    if run.counter < 1 or run.count < 1 or run.counter > last or run.offset > last:
        return False
    return run.offset >= 1 or run.count == 1


def _read_session_ack(value):
    ranges, rest = divmod(len(value) - 18, 16)
    if len(value) < 18 or rest or ranges > 32:
        raise InvalidValue
    session, cumulative, credit, *flat = struct.unpack(f">HQQ{2 * ranges}Q", value)
    pairs = tuple(zip(flat[::2], flat[1::2]))
    floor = cumulative + 1  # A range that touched `cumulative` would begin here.
    for first, last in pairs:
        if first <= floor or last < first:
            raise InvalidValue
        floor = last
    return SessionAck(session, cumulative, credit, pairs)


def _write_session_ack(ack):
    flat = [number for pair in ack.ranges for number in pair]
    return struct.pack(f">HQQ{len(flat)}Q", ack.session, ack.cumulative, ack.credit, *flat)


SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
U64 = integer(8)
SWITCH = integer(1, most=1)
ACCOUNT = name(128)
VERSION = record(">BB", Version)
POSITION = record(">HQ", Position)
ECHO = record(">II", Echo)
RUN = record(">QIQ", Run, _run_is_valid)
SESSION_ACK = Kind(_read_session_ack, _write_session_ack)
