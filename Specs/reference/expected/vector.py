"""The notation of vectors (Specs/vectors/README.md)."""

import json
from pathlib import Path

from vector_bytes import compact, flat, frame

RELIABLE = 0x09
PLAIN = 0x08
REGISTRY = json.loads((Path(__file__).resolve().parents[2] / "registry.json").read_text())
TYPES = {int(row["number"], 16): row for row in REGISTRY["types"] if "number" in row}
NAMES = {number: row["name"] for number, row in TYPES.items()}
DEFAULTS = {"session": 0, "sequence": 0, "timestamp": 0, "flags": PLAIN, "compression": 0, "minor": 0}
# The types whose frames are reliable, and those of session 0 only, by 13.1.
RELIABLE_TYPES = {number for number, row in TYPES.items() if row["reliable"]}
ON_LINK = {number for number, row in TYPES.items() if row["session"] == "0"}


def shown(kind, value=None, refused=None, ends="message", fragment=None, skipped=False, **fields):
    """The expected result of one frame. Header fields with their defaults are omitted."""
    entry = {"type": NAMES.get(kind, f"0x{kind:04X}")}
    entry |= {key: number for key, number in fields.items() if number != DEFAULTS[key]}
    if skipped:
        entry["skipped"] = True
    elif fragment is not None:
        entry["fragment"] = compact([fragment])
    elif refused:
        entry |= {"refused": refused, "ends": ends}
    else:
        entry["value"] = value
    return entry


class VectorFile:
    """The vectors of one file, in order."""

    needs = "wire only"

    def __init__(self, name, about):
        self.name = name
        self.about = about
        self.vectors = []

    def stream(self, name, clauses, pieces, frames=(), error=None, at=0, end=False, **given):
        """Bytes, their frames, and the error after them."""
        vector = {"name": name, "clauses": clauses.split()}
        if given:
            vector["given"] = given
        vector["bytes"] = compact(pieces)
        if end:
            vector["end"] = True
        vector["frames"] = list(frames)
        if error:
            vector["error"] = {"code": error, "at": at}
        self.vectors.append(vector)

    def good(self, name, clauses, kind, body, value, given=None, **fields):
        """One accepted frame."""
        fields = usual(kind) | fields
        self.stream(name, clauses, frame(kind, *flat([body]), **fields), [shown(kind, value, **fields)], **given or {})

    def bad(self, name, clauses, kind, body, error, given=None, **fields):
        """One frame that ends the connection."""
        self.stream(name, clauses, frame(kind, *flat([body]), **usual(kind) | fields), error=error, **given or {})

    def refused(self, name, clauses, kind, body, code, ends, given=None, **fields):
        """One refused frame. The connection continues, as the following ping shows."""
        fields = usual(kind) | fields
        ping = frame(0x3001, bytes.fromhex("0033000000080000000000000001"))
        self.stream(
            name, clauses, [frame(kind, *flat([body]), **fields), ping],
            [shown(kind, refused=code, ends=ends, **fields), shown(0x3001, {"nonce": "1"})], **given or {})


def usual(kind):
    """The header fields of a frame of this type on the first session of a client."""
    reliable = kind in RELIABLE_TYPES
    fields = {"session": 0 if kind in ON_LINK else 1}
    return fields | ({"sequence": 1, "flags": RELIABLE} if reliable else {"flags": PLAIN})
