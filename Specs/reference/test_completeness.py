#!/usr/bin/env python3
"""Fails if an entry in the registries of Specs has no vector.

The registries are read from the text of wire.md and registries.md, the vectors from their bytes: a limit counts as
reached or exceeded by the contents of a frame, not by the name of a vector.

usage: test_completeness.py
"""

import json
import re
import struct
import sys
import unicodedata
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from packets_seen import want_packets
from test_vectors import bytes_of, expanded

SPECS = Path(__file__).resolve().parent.parent
WIRE = (SPECS / "wire.md").read_text()
REGISTRIES = (SPECS / "registries.md").read_text()
HEADER = struct.Struct(">IBBHIIBBHII")
FRAME_OF_LETTER = {"G": "goaway", "J": "reject", "T": "reset", "P": "receipt", "Q": "response"}
# Fields of operations, of history, of attachments, of lists of rooms and of administration, which stand in a content.
# The tests of RoomOperation, HistoryPage, AttachmentRequest, RoomListPage and FieldList check them.
OPERATION_TAGS = (*range(0x005A, 0x0060), *range(0x0063, 0x0067), 0x0090, 0x0091, 0x00A0, 0x00A8,
                  *range(0x00D0, 0x00E4))
# Fields of contents that only applications read. contents.json refuses their values.
CONTENT_TAGS = {0x0160, 0x0161, 0x0162, *range(0x0206, 0x0216), *range(0x0220, 0x0224)}
# Tags that no frame is refused for.
UNREFUSED_TAGS = CONTENT_TAGS.union(OPERATION_TAGS)
# Frames with a code whose clauses are about another subject, and codes that only applications receive.
NOT_SENT = ("G", "T")


def table(text, heading):
    """The rows of the first table after a heading, as lists of cells."""
    part = text.split(heading, 1)[1]
    lines = part[part.index("\n|"):].lstrip("\n").split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


class Tlv(NamedTuple):
    tag: int
    value: bytes
    depth: int
    count: int  # How many of this tag its container holds.


class Frame(NamedTuple):
    """A frame of a vector: its contents, and its expected result."""

    type: int
    sender: str
    session: int
    flags: int
    compression: int
    length: int
    body: bytes  # As inflated; empty when it does not inflate.
    tlvs: list
    code: str  # Of the fault; None for a frame that is taken.
    value: object
    given: dict


def numbers(section):
    """The names in a registry of wire.md by number."""
    return {int(row[0], 16): row[1] for row in table(WIRE, f"### {section} ")}


TYPES = numbers("13.1")
TAGS = {int(row[0], 16): (row[1], row[2]) for row in table(WIRE, "### 13.2 ")}


def walk(data, depth=1):
    """All TLVs of a body as far as its structure is valid, by a loop because the depth is not bounded here."""
    found, work = [], [(data, depth)]
    while work:
        data, depth = work.pop()
        inside, at = [], 0
        while at + 6 <= len(data):
            tag, length = struct.unpack_from(">HI", data, at)
            if at + 6 + length > len(data):
                break
            inside.append((tag, data[at + 6 : at + 6 + length]))
            at += 6 + length
        counts = Counter(tag for tag, _ in inside)
        for tag, value in inside:
            found.append(Tlv(tag, value, depth, counts[tag]))
            if tag & 0x7F00 == 0x0100 and depth < 12:
                work.append((value, depth + 1))
    return found


def inflated(data):
    stream = zlib.decompressobj()
    try:
        return stream.decompress(data, 1 << 20)
    except zlib.error:
        return b""


def frames_of(data, entries, error, given):
    """The frames of a stream with their expected results."""
    at = 0
    for entry in entries + ([error | {"isError": True}] if error else []):
        if len(data) < at + HEADER.size:
            return
        _, _, _, kind, _, _, flags, compression, session, length, _ = HEADER.unpack_from(data, at)
        sent = data[at + HEADER.size : at + HEADER.size + length]
        body = inflated(sent) if compression == 1 else sent
        code = entry["code"] if entry.get("isError") else entry.get("refused")
        yield Frame(kind, given.get("from", "client"), session, flags, compression, length, body,
                    walk(body) if "fragment" not in entry else [], code, entry.get("value"), given)
        at += HEADER.size + length


def all_frames():
    """The frames of all vectors, and all codes of their results."""
    frames, codes, clauses = [], set(), set()
    for path in sorted((SPECS / "vectors").glob("*.json")):
        for vector in json.loads(path.read_text())["vectors"]:
            clauses |= set(vector["clauses"])
            for step in vector.get("steps", [vector]):
                codes |= set(re.findall(r'"(?:code|refused|error)": "(\w+)"', json.dumps(step)))
                if "bytes" in step and "frames" in step and not path.stem.startswith("packets-"):
                    given = vector.get("given", {}) | ({"from": step["from"]} if "from" in step else {})
                    frames += frames_of(bytes_of(step["bytes"]), expanded(step["frames"]), step.get("error"), given)
    return frames, codes, clauses


class Check:
    """The collection of missing entries."""

    def __init__(self):
        self.frames, self.codes, self.clauses = all_frames()
        self.good = [frame for frame in self.frames if frame.code is None]
        self.bad = [frame for frame in self.frames if frame.code is not None]
        self.missing = []
        self.checked = 0
        self.good_tlvs, self.bad_tlvs = defaultdict(list), defaultdict(list)
        for frames, found in ((self.good, self.good_tlvs), (self.bad, self.bad_tlvs)):
            for frame in frames:
                for tlv in frame.tlvs:
                    found[tlv.tag].append(tlv)

    def want(self, what, found):
        self.checked += 1
        if not found:
            self.missing.append(what)

    def types(self):
        for row in table(WIRE, "### 13.1 "):
            number, name = int(row[0], 16), row[1]
            for sender in ("client", "server") if row[4] == "both" else (row[4],):
                self.want(f"a good {name} from a {sender}", any(
                    frame.type == number and frame.sender == sender and frame.value is not None
                    for frame in self.good))
            self.want(f"a bad {name}", any(frame.type == number for frame in self.bad))
        self.want("an unknown type", any(f.type not in TYPES and not f.type & 0x8000 for f in self.good))
        self.want("an unknown critical type", any(f.code == "unknownCritical" and f.type & 0x8000 for f in self.bad))
        for name in ("data", "request", "response", "opened"):
            self.want(f"a {name} in fragments", any(
                TYPES.get(frame.type) == name and frame.flags & 2 for frame in self.good))

    def error_codes(self):
        codes_sent = defaultdict(set)
        for frame in self.good:
            for tlv in frame.tlvs:
                if tlv.tag in (0x0001, 0x0074):
                    codes_sent[int.from_bytes(tlv.value, "big")].add(TYPES.get(frame.type))
        for row in table(REGISTRIES, "## 5 Error codes"):
            if "to" in row[0]:
                continue
            number, name = int(row[0], 16), row[1]
            self.want(f"{name} anywhere", name in self.codes or codes_sent[number])
            letters = re.findall(r"\b[GJTPQ]\b", row[2]) or NOT_SENT
            for letter in letters:
                frame = FRAME_OF_LETTER[letter]
                self.want(f"a {frame} with the code {name}", frame in codes_sent[number])

    def tags(self):
        for tag, (name, text) in TAGS.items():
            self.want(f"a good {name}", tag in self.good_tlvs)
            self.bytes_of_tag(tag, name, text)
            self.values_of_tag(tag, name, text)
            self.repeats_of_tag(tag, name, text)

    def sizes(self, name, tag, least, most):
        good = {len(tlv.value) for tlv in self.good_tlvs[tag]}
        bad = {len(tlv.value) for tlv in self.bad_tlvs[tag]}
        for size in {least, most}:
            self.want(f"a {name} of {size} bytes", size in good)
        if tag in OPERATION_TAGS:
            return
        if least:
            self.want(f"a {name} of {least - 1} bytes that is refused", least - 1 in bad)
        self.want(f"a {name} of {most + 1} bytes that is refused", most + 1 in bad)

    def bytes_of_tag(self, tag, name, text):
        """Text and bytes within bounds, and single or consecutive integers, which have one length."""
        if tag >= 0x0200:
            return
        if found := re.search(r"(?:([\d,]+) to|at most) ([\d,]+) bytes", text):
            self.sizes(name, tag, *(int((number or "0").replace(",", "")) for number in found.groups()))
        elif found := re.match(r"(\d+) bytes", text):
            self.sizes(name, tag, int(found[1]), int(found[1]))
        elif name == "sessionAck":
            self.sizes(name, tag, 18, 18 + 32 * 16)
        elif name == "standing":
            self.sizes(name, tag, 11, 11)  # Notations of contents have no long values.
        elif found := re.findall(r"\bu(8|16|32|64)\b", text):
            size = sum(map(int, found)) // 8
            self.sizes(name, tag, size, size)

    def values_of_tag(self, tag, name, text):
        def has(tlvs, number):
            is_exempt = tlvs is self.bad_tlvs and tag in UNREFUSED_TAGS
            return is_exempt or any(int.from_bytes(tlv.value, "big") == number for tlv in tlvs[tag])

        if found := re.search(r"at least ([\d,]+)", text):
            least = int(found[1].replace(",", ""))
            if name != "acceptedRun":
                self.want(f"a {name} of {least}", has(self.good_tlvs, least))
                self.want(f"a {name} of {least - 1} that is refused", has(self.bad_tlvs, least - 1))
        if text.startswith("u8: "):
            values = [int(number) for number in re.findall(r"(?:: |, )(\d)", text)]
            for value in values:
                self.want(f"a {name} of {value}", has(self.good_tlvs, value))
            self.want(f"a {name} of {max(values) + 1} that is refused", has(self.bad_tlvs, max(values) + 1))
            if min(values):
                self.want(f"a {name} of {min(values) - 1} that is refused", has(self.bad_tlvs, min(values) - 1))
        if "not 0" in text:
            self.want(f"a {name} of 0 that is refused", has(self.bad_tlvs, 0))

    def repeats_of_tag(self, tag, name, text):
        if found := re.search(r"repeats up to (\d+) times", text):
            most = int(found[1])
            self.want(f"{most} of {name}", any(tlv.count == most for tlv in self.good_tlvs[tag]))
            self.want(f"{most + 1} of {name}, refused", tag in UNREFUSED_TAGS or any(
                tlv.count == most + 1 for tlv in self.bad_tlvs[tag]))
        else:
            self.want(f"two of {name}, refused", tag >= 0x0202 or tag in UNREFUSED_TAGS or any(
                tlv.count == 2 for tlv in self.bad_tlvs[tag]))

    def features(self):
        for row in table(WIRE, "### 13.4 "):
            bit, name = int(row[0]), row[1]
            for kind in (0x4001, 0x4002):
                self.want(f"a {TYPES[kind]} with the feature {name} alone", any(
                    frame.type == kind and tlv.tag == 0x0010 and int.from_bytes(tlv.value, "big") == 1 << bit
                    for frame in self.good for tlv in frame.tlvs))
        self.want("a compressed body where zlib does not hold", any(
            frame.compression == 1 and frame.code == "compressionNotAllowed" and frame.given.get("zlib") is False
            for frame in self.bad))
        self.want("features without a meaning", any(
            tlv.tag == 0x0010 and int.from_bytes(tlv.value, "big") >> 6 for f in self.good for tlv in f.tlvs))

    def header(self):
        for bit in (0x40, 0x80):
            self.want(f"the reserved bit {bit}", any(f.code == "reservedBits" and f.flags & bit for f in self.bad))
        for priority in range(4):
            self.want(f"the priority {priority}", any(f.flags >> 4 & 3 == priority for f in self.good))
        for value in (0, 1):
            self.want(f"the compression {value}", any(frame.compression == value for frame in self.good))
        for value in (2, 3, 255):
            self.want(f"the compression {value}, refused", any(
                frame.compression == value and frame.code == "compressionNotAllowed" for frame in self.bad))

    def content_kinds(self):
        kinds = {int.from_bytes(tlv.value, "big") for tlv in self.good_tlvs[0x0041]}
        for number, name in numbers("13.3").items():
            self.want(f"a content of kind {name}", number in kinds)
        self.want("a content of an application's kind", any(0xF000 <= kind <= 0xFFFE for kind in kinds))

    def bounds(self):
        """Limits outside of the registries: the quantity, where it is reached, and where it is exceeded by one."""
        def of(frame):
            return frame.given.get("maxBody", 65_536)

        def depth(frame):
            return max((tlv.depth for tlv in frame.tlvs), default=0)

        def content(frame):
            return next((len(walk(tlv.value)) for tlv in frame.tlvs if tlv.tag == 0x0142 and tlv.depth == 1), 0)

        in_handshake = {"phase": "handshake"}
        rows = [
            ("a body before welcome", lambda f: f.length if in_handshake.items() <= f.given.items() else 0, 12_288,
             "frameTooLarge"),
            ("a body beside maxBody", lambda f: f.length - of(f), 0, "frameTooLarge"),
            ("an inflated body beside maxBody", lambda f: len(f.body) - of(f) if f.compression == 1 else -1, 0,
             "inflateLimit"),
            ("depth", depth, 8, "tlvTooDeep"),
            ("TLVs of a body", lambda f: len(f.tlvs), 1024, "tooManyTLVs"),
            ("TLVs of a content", content, 1008, "tooManyTLVs"),
            ("TLVs of a client's data",
             lambda f: len(f.tlvs) if f.type == 0x1000 and f.sender == "client" else 0, 1020, "tooManyTLVs"),
        ]
        for name, measure, limit, code in rows:
            self.want(f"{name}, {limit} met", any(measure(frame) == limit for frame in self.good))
            self.want(f"{name}, {limit} exceeded by one", any(
                measure(frame) == limit + 1 and frame.code == code for frame in self.bad))

    def windows(self):
        steps = [
            (int(step.get("whole", 0)) - int(vector["received"]) - 1, step)
            for vector in vectors("windows") for step in vector["steps"]]
        self.want("8,191 beyond the sequence expected", any(beyond == 8191 for beyond, _ in steps))
        self.want("8,192 beyond the sequence expected, refused", any(
            "error" in step and (step["low"] - int(vector["received"]) - 1) % (1 << 32) == 8192
            for vector in vectors("windows") for step in vector["steps"]))

    def messages(self):
        assembled = vectors("assembled")
        for kind, limit in (("data", None), ("opened", 65_536)):
            def size(vector):
                bound = limit or vector.get("given", {}).get("maxMessage", 1 << 20)
                return joined_size(vector, kind) - bound

            self.want(f"a joined {kind} as long as it may be", any(
                size(v) == 0 and "reset" not in v and v["delivered"] for v in assembled))
            self.want(f"a joined {kind} one byte longer", any(
                size(v) == 1 and v.get("reset", {}).get("code") == "messageTooLarge" for v in assembled))

    def conversations(self):
        resumed = vectors("resumes") + vectors("conversations")
        self.want("a resume that is accepted", any('"epoch": 2' in json.dumps(v) for v in resumed))
        self.want("a resume that is refused", any('"passedOver": true' in json.dumps(v) for v in resumed))
        self.want("a link over three connections", any(s["connection"] == 3 for v in resumed for s in v["steps"]))

    def faults(self):
        """The faults of a link (session.md 12), except the one after a minute of silence."""
        raised = {vector["error"] for name in ("links", "floods-beyond") for vector in vectors(name)
                  if "error" in vector}
        raised |= {r["code"] for name in ("links", "floods-beyond", "assembled") for vector in vectors(name)
                   for r in vector.get("resets", [vector["reset"]] if "reset" in vector else [])}
        for row in table((SPECS / "session.md").read_text(), "## 12 Faults"):
            code = row[1].strip("`")
            self.want(f"{code}, because a peer {row[0]}", code in raised or code == "ackTimeout")

    def packets(self):
        rows = {section: table(WIRE, f"### {section} ") for section in ("13.5", "15.3", "15.5", "15.6")}
        rows["W-88"] = table(WIRE, "**W-88** ")
        found = [vector for path in sorted((SPECS / "vectors").glob("packets-*.json")) for vector in vectors(path.stem)]
        want_packets(self.want, found, rows, WIRE.split("## 15 ")[1])

    def names(self):
        """W-31: a vector refuses both ends of every range of the table, and Unicode has no other such character."""
        ranges = [
            (int(first, 16), int(last or first, 16))
            for row in table(WIRE, "**W-31** ")
            for first, last in re.findall(r"\b([0-9A-F]{4,6})(?: to ([0-9A-F]{4,6}))?", row[1])]
        accounts = re.compile(rb"\0\x12\0\0\0.a((?:[^b]|\xbb)+)b", re.S)
        refused = {
            found[1].decode(errors="ignore") for name in ("names-below-3000", "names-from-3000")
            for vector in vectors(name) if "error" in vector
            for found in [accounts.search(bytes_of(vector["bytes"]))] if found}
        for point in sorted({point for ends in ranges for point in ends}):
            self.want(f"an account with U+{point:04X}", chr(point) in refused)
        for point in range(sys.maxunicode + 1):
            is_refused = point & 0xFFFE == 0xFFFE or any(first <= point <= last for first, last in ranges)
            if unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp", "Zs", "Co") and point != 0x20:
                self.want(f"U+{point:04X} in the table of W-31", is_refused)

    def dictionary(self):
        """W-93."""
        data = (SPECS / "dictionary" / "chat.dict").read_bytes()
        self.want("the sum of chat.dict as W-93 has it", f"0x{zlib.crc32(data):08X}" in WIRE and len(data) == 4096)

    def citations(self):
        known = set()
        for name in ("wire", "connection", "session", "relay", "messages"):
            known |= set(re.findall(r"^\*\*([WCSRM]-\d+)\*\*", (SPECS / f"{name}.md").read_text(), re.M))
        for clause in sorted(self.clauses - known):
            self.want(f"the clause {clause}, which a vector cites", False)
        for clause in sorted(known, key=lambda c: int(c[2:])):
            if clause[0] in "WM" and clause not in ABOUT_CONDUCT:
                self.want(f"a vector about {clause}", clause in self.clauses)


# Clauses about carriers, time, queues or the behavior of applications, which bytes cannot violate.
ABOUT_CONDUCT = {"W-1", "W-34", "W-49", "W-62", "W-75", "M-13", "M-18", "M-25", "M-26", "M-27", "M-28", "M-29",
                 "M-43", "M-44", "M-50"}


def vectors(name):
    return json.loads((SPECS / "vectors" / f"{name}.json").read_text())["vectors"]


def joined_size(vector, kind):
    """The bytes of all frames of a type, with those of the unfinished frames before."""
    data, at = bytes_of(vector["bytes"]), 0
    size = sum(len(bytes_of(begun)) for begun in vector.get("given", {}).get("begun", {}).values())
    while at < len(data):
        header = HEADER.unpack_from(data, at)
        size += header[9] if TYPES.get(header[3]) == kind else 0
        at += HEADER.size + header[9]
    return size


def main():
    check = Check()
    for part in (check.types, check.error_codes, check.tags, check.features, check.header, check.content_kinds,
                 check.bounds, check.windows, check.messages, check.conversations, check.faults, check.packets,
                 check.names, check.dictionary, check.citations):
        part()
    for what in check.missing:
        print(f"no vector has {what}")
    sys.exit(bool(check.missing))


if __name__ == "__main__":
    main()
