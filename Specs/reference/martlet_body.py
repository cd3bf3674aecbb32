"""The common parts of all bodies: a table of fields, parsing, encoding, and the notation in vectors."""

from dataclasses import field, fields
from typing import ClassVar

from martlet_registry import VALUES, ErrorCode, Tag
from martlet_tlv import (
    CRITICAL, ECHO, POSITION, RUN, SESSION_ACK, SIZES, VERSION, InvalidValue, Kind, children, data, integer,
    is_container, name, text, tlv,
)

# The values with a form of their own.
RECORDS = {
    Tag.SPOKEN_VERSION: VERSION, Tag.SESSION_POSITION: POSITION, Tag.ECHO: ECHO, Tag.ACCEPTED_RUN: RUN,
    Tag.SESSION_ACK: SESSION_ACK,
}


def kind_of(tag):
    """The kind of a tag's value, as VALUES specifies it."""
    form, least, most, sizes = VALUES[tag]
    if tag in RECORDS:
        return RECORDS[tag]
    if form in ("text", "name"):
        return text(least, most) if form == "text" else name(most)
    return integer(sizes[0], least, most) if form in SIZES else data(least, most)


KINDS = {tag: kind_of(tag) for tag in VALUES}


def one(form):
    """A field that occurs exactly once: its tag, or the class of its container."""
    return field(metadata={"kind": KINDS.get(form, form), "least": 1, "most": 1})


def maybe(form):
    """An optional field."""
    return field(default=None, metadata={"kind": KINDS.get(form, form), "least": 0, "most": 1})


def many(form, most, least=0):
    """A repeated field."""
    return field(default=(), metadata={"kind": KINDS[form], "least": least, "most": most, "repeats": True})


class Faults(list):
    """The codes of invalid fields in the order in which they were found."""

    def refuse(self, condition, code=ErrorCode.INVALID_VALUE):
        if condition:
            self.append(code)


class Body:
    """The base class of all bodies. A subclass lists its fields, which have the names of their tags."""

    type: ClassVar = None
    named_by: ClassVar = None  # The field by which a single one is refused.
    _table: ClassVar = None

    @classmethod
    def table(cls):
        if cls.__dict__.get("_table") is None:
            cls._table = {Tag[f.name.upper()]: (f.name, f.metadata) for f in fields(cls)}
        return cls._table

    @classmethod
    def read(cls, tlvs, sender, faults):
        """The body of these TLVs, or None if there are faults. Fields that the type does not have are ignored."""
        table = cls.table()
        values = {}
        for tag, value in tlvs:
            if tag not in table:
                faults.refuse(tag & CRITICAL, ErrorCode.UNKNOWN_CRITICAL)
                continue
            key, rule = table[tag]
            try:
                kind = rule["kind"]
                found = kind.read(value) if isinstance(kind, Kind) else kind.read(children(value), sender, faults)
            except InvalidValue:
                faults.append(ErrorCode.INVALID_VALUE)
                found = None
            if key not in values:
                values[key] = (found,) if "repeats" in rule else found
            elif "repeats" not in rule:
                faults.append(ErrorCode.DUPLICATE_FIELD)
            else:
                values[key] += (found,)
                faults.refuse(len(values[key]) > rule["most"], ErrorCode.TOO_MANY_TLVS)
                if tag == Tag.SESSION_POSITION and found is not None:
                    others = [position for position in values[key][:-1] if position is not None]
                    faults.refuse(found.session in [other.session for other in others], ErrorCode.DUPLICATE_FIELD)
        for key, rule in table.values():
            if rule["least"] and key not in values:
                faults.append(ErrorCode.MISSING_FIELD)
        if faults:
            return None
        body = cls(**values)
        body.check(sender, faults)
        return body

    def check(self, sender, faults):
        """Checks the rules between fields."""

    def encoded(self):
        """The bytes of the body, with the fields in the order of the table."""
        parts = []
        for tag, (name, rule) in self.table().items():
            value = getattr(self, name)
            if value is None:
                continue
            for item in value if "repeats" in rule else (value,):
                kind = rule["kind"]
                parts.append(tlv(tag, kind.write(item) if isinstance(kind, Kind) else item.encoded()))
        return b"".join(parts)

    def json(self):
        """The names of the specification; 64-bit numbers as strings, bytes in hexadecimal, containers as [tag, value]
        pairs."""
        shown = {}
        for tag, (name, rule) in self.table().items():
            value = getattr(self, name)
            if value is None or value == () and "repeats" in rule:
                continue
            wide = VALUES[tag].kind == "u64"
            shown[tag.wire_name] = tree_json(value) if tag == Tag.CONTENT else value_json(value, wide)
        return shown


def value_json(value, wide=False):
    if isinstance(value, Body):
        return value.json()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int):
        return str(value) if wide else value
    if isinstance(value, str):
        return value
    if hasattr(value, "_asdict"):
        return str(value) if hasattr(value, "major") else {key: value_json(v, key in WIDE) for key, v in
                                                             value._asdict().items()}
    return [value_json(item, wide=True) for item in value]


WIDE = {"highest", "counter", "offset", "cumulative", "credit"}


def tree_json(content):
    """The TLVs of a container, by a loop because the depth is not bounded here."""
    top = []
    work = [(content, top)]
    while work:
        value, into = work.pop()
        for tag, inner in children(value):
            nested = []
            into.append([tag, nested if is_container(tag) else inner.hex()])
            if is_container(tag):
                work.append((inner, nested))
    return top
