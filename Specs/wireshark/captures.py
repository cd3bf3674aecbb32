"""Captures of TCP connections with the vectors of Specs, and the output of the dissector for them."""

import json
import os
import struct
import subprocess
import sys
import zlib
from itertools import cycle
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPECS = HERE.parent
sys.path.insert(0, str(SPECS / "reference"))
from martlet_registry import ErrorCode, FrameType  # noqa: E402
from vector_bytes import expand  # noqa: E402

SEGMENT = 1400
PORT = 7227
OTHER_PORT = 9999
MAX_BODY = 65_536
# The dissector is not notified of the end of a stream.
UNSEEN = {"unexpectedEOF"}

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


TYPES = {kind.value: kind.wire_name for kind in FrameType}
CODES = {code.value: code.wire_name for code in ErrorCode}


# Captures


class Capture:
    """A capture file of TCP connections, written packet by packet."""

    CLIENT, SERVER = b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"

    def __init__(self):
        self.packets = []
        self.connections = 0

    def connection(self, port, with_beginning=True):
        self.connections += 1
        return Connection(self, 20_000 + self.connections, port, with_beginning)

    def write(self, path):
        parts = [struct.pack(">IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 101)]
        for index, packet in enumerate(self.packets):
            parts.append(struct.pack(">IIII", 1 + index // 1000, index % 1000 * 1000, len(packet), len(packet)))
            parts.append(packet)
        path.write_bytes(b"".join(parts))


class Connection:
    """One TCP connection of a capture. Without its beginning there is no SYN."""

    def __init__(self, capture, client_port, server_port, with_beginning):
        self.capture = capture
        self.ports = {"client": client_port, "server": server_port}
        self.next = {"client": 1000, "server": 5000}
        if with_beginning:
            self._packet("client", 0x02)
            self.next["client"] += 1
            self._packet("server", 0x12)
            self.next["server"] += 1
            self._packet("client", 0x10)

    def send(self, sender, data, segments=(SEGMENT,)):
        """Sends the bytes in segments of these sizes, repeated."""
        for size in cycle(segments):
            part, data = data[:size], data[size:]
            if not part:
                break
            self._packet(sender, 0x18, part)
            self.next[sender] += len(part)

    def _packet(self, sender, flags, payload=b""):
        receiver = "server" if sender == "client" else "client"
        tcp = struct.pack(
            ">HHIIBBHHH", self.ports[sender], self.ports[receiver], self.next[sender],
            self.next[receiver] if flags & 0x10 else 0, 0x50, flags, 65_535, 0, 0)
        addresses = (Capture.CLIENT, Capture.SERVER) if sender == "client" else (Capture.SERVER, Capture.CLIENT)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0) + b"".join(addresses)
        self.capture.packets.append(ip + tcp + payload)


class WebSocket:
    """A WebSocket on a connection, whose messages begin and end inside frames."""

    KEY, MESSAGE = b"\x5a\x00\xff\x81", 97
    REQUEST = (b"GET /martlet HTTP/1.1\r\nHost: chat.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
               b"Sec-WebSocket-Protocol: martlet\r\n\r\n")
    ANSWER = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: martlet\r\n\r\n")

    def __init__(self, connection):
        self.connection = connection
        connection.send("client", self.REQUEST)
        connection.send("server", self.ANSWER)

    def send(self, sender, data):
        parts = [data[at : at + self.MESSAGE] for at in range(0, len(data), self.MESSAGE)]
        self.connection.send(sender, b"".join(self.message(part, sender == "client") for part in parts))

    def message(self, part, is_masked):
        if not is_masked:
            return bytes((0x82, len(part))) + part
        masked = bytes(byte ^ self.KEY[index % 4] for index, byte in enumerate(part))
        return bytes((0x82, 0x80 | len(part))) + self.KEY + masked


def bytes_of(pieces):
    """The bytes of a vector (Specs/vectors/README.md)."""
    return b"".join(bytes.fromhex(piece) if isinstance(piece, str) else expand(piece) for piece in pieces)


def vectors(keep):
    for path in sorted((SPECS / "vectors").glob("*.json")):
        if keep(path.stem):
            for vector in json.loads(path.read_text())["vectors"]:
                yield path.stem, vector


def tlv(tag, value):
    return struct.pack(">HI", tag, len(value)) + value


def frame(kind, body, flags=0x08, sequence=0, session=0):
    head = struct.pack(">IBBHIIBBHI", 0x8D4D5254, 1, 0, kind, sequence, 0, flags, 0, session, len(body))
    return head + struct.pack(">I", zlib.crc32(head, zlib.crc32(body))) + body


def greet(connection, max_body, features, version=0x0100):
    """A handshake that negotiates these parameters."""
    numbers = ((0x20, max_body), (0x21, 1 << 20), (0x22, 1 << 20), (0x23, 1 << 18))
    limits = b"".join(tlv(tag, struct.pack(">I", n)) for tag, n in numbers) + tlv(0x24, b"\x00\x40")
    common = tlv(5, struct.pack(">H", version)) + tlv(0x10, struct.pack(">Q", features))
    common += tlv(0x101, limits) + tlv(0x12, b"ada")
    connection.send("client", frame(0x4001, common + tlv(0x11, bytes(8))))
    welcome = tlv(0x15, bytes(8)) + tlv(0x16, bytes(32)) + tlv(0x18, bytes(4)) + tlv(0x19, bytes(4))
    connection.send("server", frame(0x4002, common + welcome))


# tshark


FIELDS = ("type", "session", "seq", "flags", "compression", "error", "refused", "fragments", "again", "seq.whole",
          "from", "link", "room", "tlv.text", "tlv.tag", "timestamp", "length", "checksum", "checksum.status",
          "compact.form", "packet.length", "packet.checksum.status", "tlv.sessionAck.cumulative")


def tshark(path, *options, plugin=HERE):
    """One row for each packet with fields of Martlet: the TCP stream, and lists of the values of each field."""
    command = ["tshark", "-n", "-X", f"lua_script:{plugin / 'martlet.lua'}", "-r", str(path), "-T", "fields"]
    command += ["-E", "separator=\t", "-E", "occurrence=a", "-E", "aggregator=\x1f", "-e", "tcp.stream"]
    for field in FIELDS:
        command += ["-e", f"martlet.{field}"]
    command += ["-e", "_ws.malformed", "-e", "_ws.lua.error"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
    noise = [line for line in done.stderr.splitlines() if line and not line.startswith("Running as user")]
    check(done.returncode == 0 and not noise, f"tshark: {done.returncode} {noise[:3]}")
    rows = []
    # Texts may contain other line separators.
    for line in filter(None, done.stdout.split("\n")):
        stream, *values = line.split("\t")
        row = dict(zip((*FIELDS, "malformed", "lua"), (v.split("\x1f") if v else [] for v in values)))
        # Wireshark marks packets with expert information of that group, and with errors of a dissector.
        check(bool(row["malformed"]) == bool(row["error"]), f"{path.name}: stream {stream}, malformed for tshark alone")
        check(not row["lua"], f"{path.name}: {row['lua']}")
        rows.append((int(stream), row))
    return rows


def numbers(values):
    return [int(value, 0) for value in values]


def headers(row, fields=("type", "session", "seq", "flags", "compression")):
    return list(zip(*(numbers(row[field]) for field in fields)))


def by_stream(rows):
    """The concatenated rows of each stream."""
    streams = {}
    for stream, row in rows:
        whole = streams.setdefault(stream, {field: [] for field in row})
        for field, values in row.items():
            whole[field] += values
    return streams
