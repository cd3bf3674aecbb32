"""The common parts of all bodies: a table of fields, parsing, encoding, and the notation in vectors."""

from dataclasses import field, fields
from typing import ClassVar

from martlet_registry import ErrorCode, Tag
from martlet_tlv import CRITICAL, U64, U64_FROM_1, InvalidValue, Kind, children, is_container, tlv


def one(kind):
    """A field that occurs exactly once."""
    return field(metadata={"kind": kind, "least": 1, "most": 1})


def maybe(kind):
    """An optional field."""
    return field(default=None, metadata={"kind": kind, "least": 0, "most": 1})


def many(kind, most, least=0):
    """A repeated field."""
    return field(default=(), metadata={"kind": kind, "least": least, "most": most, "repeats": True})


class Faults(list):
    """The codes of invalid fields in the order in which they were found."""

    def refuse(self, condition, code=ErrorCode.INVALID_VALUE):
        if condition:
            self.append(code)


class Body:
    """The base class of all bodies. A subclass lists its fields, which have the names of their tags."""

    type: ClassVar = None
    named_by: ClassVar = None  # The field by which a single one is refused, with its kind.
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
            wide = rule["kind"] in (U64, U64_FROM_1)
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
