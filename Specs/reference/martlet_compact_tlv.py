"""Numbers and bodies of compact frames (Specs/wire.md 15.2, 15.6)."""

from martlet_basics import WireError
from martlet_registry import COMPACT_TAGS, VALUES, ErrorCode, Tag
from martlet_tlv import MAX_BODY_TLVS, MAX_DEPTH, TLV, children, is_container, tlv

U16, U32, U64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
MAX_VARINT_SIZE = 10
MAX_RANGES = 32
ESCAPE = 0

CODES = {tag: code for code, tag in enumerate(COMPACT_TAGS, 1)}
# W-90: the sizes of the integers in a value, without the ranges of a sessionAck.
SHAPES = {tag: VALUES[tag].sizes for tag in COMPACT_TAGS if VALUES[tag].sizes}


def fault(code=ErrorCode.PROTOCOL_VIOLATION):
    return WireError(code)


def varint(number):
    """The shortest encoding of W-80."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def signed(difference):
    """A difference modulo 2⁶⁴ as a signed varint."""
    difference &= U64
    return varint(difference << 1 if difference >> 63 == 0 else (U64 - difference) << 1 | 1)


class Cursor:
    """Bytes that are consumed from the start. Missing bytes are a fault."""

    def __init__(self, data):
        self.data, self.at = data, 0

    @property
    def rest(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.rest:
            raise fault()
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, size):
        return int.from_bytes(self.take(size), "big")

    def varint(self, most=U64):
        number = 0
        for group in range(MAX_VARINT_SIZE):
            byte = self.integer(1)
            number |= (byte & 0x7F) << 7 * group
            if byte < 0x80:
                if number > most:
                    raise fault()
                return number
        raise fault()

    def signed(self):
        """A difference modulo 2⁶⁴."""
        number = self.varint()
        return number >> 1 if number & 1 == 0 else U64 - (number >> 1)


def expanded(compact, max_body):
    """The body of compact TLVs.

    One loop and a list of ends are used, as in `martlet_tlv.walk`, so the depth of the input needs no stack.
    """
    cursor, body, count = Cursor(compact), bytearray(), 0
    ends = [(len(compact), None)]
    while ends:
        end, opened = ends[-1]
        if cursor.at == end:
            ends.pop()
            if opened is not None:
                body[opened + 2 : opened + 6] = (len(body) - opened - 6).to_bytes(4, "big")
            continue
        count += 1
        if count > MAX_BODY_TLVS:
            raise fault(ErrorCode.TOO_MANY_TLVS)
        code, opened = cursor.integer(1), len(body)
        if code > len(COMPACT_TAGS):
            raise fault()
        tag = COMPACT_TAGS[code - 1] if code != ESCAPE else cursor.integer(2)
        if code != ESCAPE and is_container(tag):
            if len(ends) > MAX_DEPTH:
                raise fault(ErrorCode.TLV_TOO_DEEP)
            length = cursor.varint()
            body += TLV.pack(tag, 0)
            ends.append((cursor.at + length, opened))
        elif code != ESCAPE and tag in SHAPES:
            sizes, found = read_numbers(cursor, tag)
            body += tlv(tag, b"".join(number.to_bytes(size, "big") for number, size in zip(found, sizes)))
        else:
            body += tlv(tag, cursor.take(cursor.varint()))
        if cursor.at > end or ends[-1][0] > end:
            raise fault()
        if len(body) > max_body:
            raise fault(ErrorCode.FRAME_TOO_LARGE)
    return bytes(body)


def read_numbers(cursor, tag):
    """The sizes and the numbers of a value that consists of integers."""
    sizes = SHAPES[tag]
    found = [cursor.varint((1 << 8 * size) - 1) for size in sizes]
    if tag == Tag.SESSION_ACK:
        sizes += (8,) * 2 * cursor.varint(MAX_RANGES)
        found += [cursor.varint() for _ in sizes[len(found) :]]
    return sizes, found


def compacted(body):
    """The compact TLVs of a body; None if it is not a sequence of TLVs or has too many."""
    try:
        data, count = pack(body, 1)
    except ValueError:
        return None
    return data if count <= MAX_BODY_TLVS else None


def pack(body, depth):
    parts, count = [], 0
    for tag, value in whole_children(body):
        count += 1
        found = numbers_of(tag, value)
        if found is not None:
            parts.append(bytes([CODES[tag]]) + shown(tag, found))
            continue
        if is_container(tag) and tag in CODES and depth <= MAX_DEPTH:
            try:
                inside, inner = pack(value, depth + 1)
                parts.append(bytes([CODES[tag]]) + varint(len(inside)) + inside)
                count += inner
                continue
            except ValueError:
                pass
        plain = tag in CODES and tag not in SHAPES and not is_container(tag)
        start = bytes([CODES[tag]]) if plain else bytes([ESCAPE]) + tag.to_bytes(2, "big")
        parts.append(start + varint(len(value)) + value)
    return b"".join(parts), count


def whole_children(body):
    """The TLVs of the outermost level of a body."""
    at = 0
    while at < len(body):
        if len(body) - at < 6 or TLV.unpack_from(body, at)[1] > len(body) - at - 6:
            raise ValueError
        at += 6 + TLV.unpack_from(body, at)[1]
    return children(body)


def numbers_of(tag, value):
    """The integers of a value with the shape of the tag, otherwise None."""
    sizes = SHAPES.get(tag)
    if sizes is None:
        return None
    if tag == Tag.SESSION_ACK:
        sizes += (8,) * min(max(len(value) - 18, 0) // 16 * 2, 2 * MAX_RANGES)
    if len(value) != sum(sizes):
        return None
    cursor = Cursor(value)
    numbers = [cursor.integer(size) for size in sizes]
    # Varints that are longer than the plain value.
    if tag == Tag.SESSION_ACK and max(numbers) >= 1 << 56:
        return None
    return numbers


def shown(tag, numbers):
    parts = [varint(number) for number in numbers]
    if tag == Tag.SESSION_ACK:
        parts.insert(3, varint((len(numbers) - 3) // 2))
    return b"".join(parts)
