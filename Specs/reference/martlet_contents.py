"""The contents of messages between applications, their values and changes (Specs/messages.md)."""

import re
import struct

from martlet_basics import Scope, WireError
from martlet_registry import ContentKind, ErrorCode, Tag
from martlet_tlv import (
    ACCOUNT, CRITICAL, MAX_CONTENT_TLVS, SWITCH, U64, InvalidValue, children, count, data, integer, name, text,
    tlv, walk,
)

HEAD = struct.Struct(">QQQ")
MAX_REACTIONS = 1024
# M-1: the tags of each kind, those that are required first.
FIELDS = {
    ContentKind.TEXT: ((Tag.TEXT,), ()),
    ContentKind.EDIT: ((Tag.TARGET, Tag.TEXT), ()),
    ContentKind.DELETE: ((Tag.TARGET,), ()),
    ContentKind.REACTION: ((Tag.TARGET, Tag.REACTION), (Tag.REMOVED,)),
    ContentKind.REPLY: ((Tag.TARGET, Tag.TEXT), ()),
    ContentKind.SYSTEM: ((Tag.EVENT,), (Tag.TEXT,)),
    ContentKind.ATTACHMENT: (
        (Tag.BYTE_COUNT,), (Tag.LOCATION, Tag.DATA, Tag.NAME, Tag.MEDIA_TYPE, Tag.DIGEST, Tag.TEXT, Tag.THUMBNAIL)),
    ContentKind.CARD: ((Tag.CARD, Tag.TEXT, Tag.CARD_STATUS), (Tag.DETAIL, Tag.STATUS_TIME, Tag.URL)),
}
MAX_DETAILS = 16
MAX_TIME = 253402300799999
STATUSES = ("unknown", "ok", "running", "warning", "failed", "removed")
# M-40: the characters that a line does not contain.
NO_LINE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
# M-41.
URL = re.compile(r"https?://[^/?#@]+(?:[/?#].*)?")
NO_URL = re.compile(r'[^\x21-\x7e]|["<>\\^`{|}]')


def read_target(value):
    """M-2."""
    if len(value) <= HEAD.size:
        raise InvalidValue
    device, counter, offset = HEAD.unpack_from(value)
    if counter == 0:
        raise InvalidValue
    found = {"sender": ACCOUNT.read(value[HEAD.size:]), "device": str(device), "counter": str(counter)}
    return found | ({"offset": str(offset)} if offset else {})


def line(least, most):
    """The reader of a line (M-40)."""
    def read(value):
        found = text(least, most).read(value)
        if NO_LINE.search(found):
            raise InvalidValue
        return found
    return read


def read_url(value):
    """M-41."""
    found = text(8, 1024).read(value)
    if NO_URL.search(found) or not URL.fullmatch(found):
        raise InvalidValue
    return found


def read_status(value):
    """M-42."""
    number = integer(1).read(value)
    return STATUSES[number if number < len(STATUSES) else 0]


def read_time(value):
    number = U64.read(value)
    if number > MAX_TIME:
        raise InvalidValue
    return str(number)


def read_detail(value):
    """M-39."""
    readers, found = {Tag.KEY: line(1, 64), Tag.TEXT: line(0, 256)}, {}
    for tag, inner in children(value):
        if tag not in readers:
            if tag & CRITICAL:
                fail(ErrorCode.UNKNOWN_CRITICAL)
            continue
        if tag in found:
            fail(ErrorCode.DUPLICATE_FIELD)
        found[tag] = readers[tag](inner)
    if len(found) < len(readers):
        fail(ErrorCode.MISSING_FIELD)
    return [found[Tag.KEY], found[Tag.TEXT]]


READERS = {
    Tag.TARGET: read_target,
    Tag.TEXT: text(1).read,
    Tag.REACTION: text(1, 64).read,
    Tag.REMOVED: SWITCH.read,
    Tag.EVENT: name(64).read,
    Tag.BYTE_COUNT: lambda value: str(U64.read(value)),
    Tag.LOCATION: text(1, 2048).read,
    Tag.DATA: lambda value: value.hex(),
    Tag.NAME: text(0, 256).read,
    Tag.MEDIA_TYPE: text(0, 128).read,
    Tag.DIGEST: lambda value: data(32, 32).read(value).hex(),
    Tag.THUMBNAIL: lambda value: data(0, 16384).read(value).hex(),
    Tag.CARD: name(128).read,
    Tag.CARD_STATUS: read_status,
    Tag.DETAIL: read_detail,
    Tag.STATUS_TIME: read_time,
    Tag.URL: read_url,
}


TITLE = line(1, 256)


def fail(code):
    raise WireError(code, Scope.MESSAGE)


def checked(content):
    """The outermost TLVs of a content, after the check of its structure inside of a body (wire.md 4.3)."""
    walk(tlv(Tag.CONTENT, content))
    if count(content) > MAX_CONTENT_TLVS:
        fail(ErrorCode.TOO_MANY_TLVS)
    return children(content)


def parse(kind, content):
    """The fields of a content by their names (M-1), the value of a command (M-14), or None for other kinds."""
    if kind == ContentKind.COMMAND:
        return {"value": parse_value(content)}
    if kind not in FIELDS:
        return None
    required, optional = FIELDS[kind]
    found = {}
    for tag, value in checked(content):
        if tag not in required + optional:
            if tag & CRITICAL and kind != ContentKind.TEXT:
                fail(ErrorCode.UNKNOWN_CRITICAL)
            continue
        try:
            read = TITLE(value) if kind == ContentKind.CARD and tag == Tag.TEXT else READERS[tag](value)
        except InvalidValue:
            fail(ErrorCode.INVALID_VALUE)
        if tag == Tag.DETAIL:
            found.setdefault("details", []).append(read)
            if len(found["details"]) > MAX_DETAILS:
                fail(ErrorCode.TOO_MANY_TLVS)
            continue
        if Tag(tag).wire_name in found:
            fail(ErrorCode.DUPLICATE_FIELD)
        found[Tag(tag).wire_name] = read
    if any(tag.wire_name not in found for tag in required):
        fail(ErrorCode.MISSING_FIELD)
    if kind == ContentKind.ATTACHMENT:
        check_attachment(found)
    if found.get("removed") == 0:
        del found["removed"]
    return found


def check_attachment(found):
    """M-8, M-20."""
    if ("location" in found) + ("data" in found) != 1:
        fail(ErrorCode.INVALID_VALUE if "data" in found else ErrorCode.MISSING_FIELD)
    if "data" in found and 2 * int(found["byteCount"]) != len(found["data"]):
        fail(ErrorCode.INVALID_VALUE)
    if found.get("location") == "martlet:attachment" and "digest" not in found:
        fail(ErrorCode.MISSING_FIELD)


def parse_value(content):
    """M-14."""
    found = checked(content)
    if not found:
        fail(ErrorCode.MISSING_FIELD)
    value = value_of(*found[0])
    if len(found) > 1:
        fail(ErrorCode.DUPLICATE_FIELD)
    return value


def value_of(tag, value):
    try:
        if tag == Tag.NULL:
            data(0, 0).read(value)
            return {"null": True}
        if tag == Tag.BOOL:
            return {"bool": SWITCH.read(value) == 1}
        if tag == Tag.INTEGER:
            number = U64.read(value)
            return {"integer": str(number - (number >> 63 << 64))}
        if tag == Tag.UNSIGNED:
            number = U64.read(value)
            if number < 1 << 63:
                raise InvalidValue
            return {"unsigned": str(number)}
        if tag == Tag.DOUBLE:
            return {"double": data(8, 8).read(value).hex()}
        if tag == Tag.TEXT:
            return {"text": text().read(value)}
        if tag == Tag.DATA:
            return {"data": value.hex()}
    except InvalidValue:
        fail(ErrorCode.INVALID_VALUE)
    if tag == Tag.ARRAY:
        return {"array": [value_of(*element) for element in children(value)]}
    if tag == Tag.OBJECT:
        return {"object": members_of(value)}
    fail(ErrorCode.UNKNOWN_CRITICAL if tag & CRITICAL else ErrorCode.INVALID_VALUE)


def members_of(value):
    """M-15."""
    found, rest, last = [], children(value), None
    while rest:
        tag, key = rest.pop(0)
        if tag != Tag.KEY:
            fail(ErrorCode.MISSING_FIELD)
        try:
            shown = text(0, 256).read(key)
        except InvalidValue:
            fail(ErrorCode.INVALID_VALUE)
        if last is not None and key <= last:
            fail(ErrorCode.DUPLICATE_FIELD if key == last else ErrorCode.INVALID_VALUE)
        if not rest:
            fail(ErrorCode.MISSING_FIELD)
        found.append({"key": shown, "value": value_of(*rest.pop(0))})
        last = key
    return found


def encoded_value(value):
    """The only encoding of a value."""
    (form, inner), = value.items()
    tag = next(tag for tag in Tag if tag.wire_name == form)
    if form == "null":
        return tlv(tag, b"")
    if form == "bool":
        return tlv(tag, bytes([inner]))
    if form in ("integer", "unsigned"):
        return tlv(tag, (int(inner) % (1 << 64)).to_bytes(8, "big"))
    if form == "text":
        return tlv(tag, inner.encode())
    if form == "array":
        return tlv(tag, b"".join(map(encoded_value, inner)))
    if form == "object":
        return tlv(tag, b"".join(
            tlv(Tag.KEY, member["key"].encode()) + encoded_value(member["value"]) for member in inner))
    return tlv(tag, bytes.fromhex(inner))


def effects(target, changes):
    """The effects of changes on a message (M-9 to M-12): text, isDeleted, reactions."""
    text, deleted, marks = (0, None), False, {}
    identity = {key: target[key] for key in ("sender", "device", "counter")}
    for change in changes:
        fields, sender, offset = change["fields"], change["sender"], int(change["offset"])
        if identity != {key: fields["target"][key] for key in identity}:
            continue
        is_own = sender == identity["sender"]
        if change["kind"] == "edit" and is_own:
            text = max(text, (offset, fields["text"]))
        elif change["kind"] == "delete" and (is_own or change.get("isModerator")):
            deleted = True
        elif change["kind"] == "reaction":
            pair = sender, fields["reaction"]
            marks[pair] = max(marks.get(pair, (0, False)), (offset, fields.get("removed", 0) == 0))
            if len(marks) > MAX_REACTIONS:
                del marks[min(marks, key=marks.get)]
    if deleted:
        return {"isDeleted": True}
    shown = [list(pair) for pair, (_, is_present) in sorted(marks.items(), key=lambda item: item[1]) if is_present]
    found = {"text": text[1]} if text[1] else {}
    return found | ({"reactions": shown} if shown else {})
