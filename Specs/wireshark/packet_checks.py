"""The dissection of packets and compact frames (Specs/wire.md 15, 16)."""

import shutil
import struct

from captures import (
    CODES, HERE, MAX_BODY, OTHER_PORT, PORT, UNSEEN, Capture, by_stream, bytes_of, check, frame, greet, headers,
    numbers, tlv, tshark, vectors,
)
from martlet_packets import PacketWriter

FEATURES = {"compact": 0x10, "sharedDeflate": 0x20}
OTHERS = 0x0F
HEADER = struct.Struct(">IHHIIBBHII")
# The sizes of the segments into which vectors are split, repeated: a head is split, a packet is in several segments,
# and several packets are in one.
CUTS = (1, 30, 2, 61, 1400)
# The types of the frames of `conversation`, and of the handshake.
CONVERSATION = [0x4001, 0x4002, 0x5001, 0x1000, 0x1000, 0x1000, 0x5002, 0x2001, 0x2001, 0x2001, 0x2001, 0x2003]
# Types whose meaning and sender are not relevant for the vectors.
FRAMING_ALONE = ("-o", "martlet.faults_end:FALSE")


def features_of(vector):
    return OTHERS | sum(FEATURES[name] for name in vector["features"])


def header_of(pieces):
    """The fields of a frame in the tree. The checksum covers all its bytes."""
    _, _, kind, sequence, timestamp, flags, compression, session, length, checksum = HEADER.unpack(
        bytes_of(pieces)[: HEADER.size])
    return kind, session, sequence, flags, compression, timestamp, length, checksum


def check_vectors(folder):
    """Checks every vector after a handshake: its frames, and the error after them."""
    cases = []
    capture = Capture()
    for stem, vector in vectors(lambda stem: stem.startswith("packets")):
        connection = capture.connection(PORT)
        greet(connection, vector.get("maxBody", MAX_BODY), features_of(vector), 0x0101)
        connection.send("client", bytes_of(vector["bytes"]), CUTS)
        cases.append((f"{stem}: {vector['name']}", vector))
    path = folder / "packets.pcap"
    capture.write(path)
    # The vector is dissected twice, like a window would, and the results must be equal.
    streams = by_stream(tshark(path, *FRAMING_ALONE, "-2", "-Y", "frame"))
    check(len(streams) == len(cases), f"{path.name} has another number of streams")
    for index, (title, vector) in enumerate(cases):
        check_vector(title, vector, streams[index])
    return len(cases)


def check_vector(title, vector, row):
    found = headers(row, ("type", "session", "seq", "flags", "compression", "timestamp", "length", "checksum"))[2:]
    wanted = [header_of(pieces) for pieces in vector["frames"]]
    check(found == wanted, f"{title}: {found} instead of {wanted}")
    check(set(row["checksum.status"]) == {"1"}, f"{title}: a frame's checksum is not right")
    errors = [CODES[number] for number in numbers(row["error"])]
    wanted = [vector["error"]] if vector.get("error", "unexpectedEOF") not in UNSEEN else []
    check(errors == wanted, f"{title}: {errors} instead of {wanted}")


def conversation(connection, deflates):
    """A session in packets of both directions, with a message in three fragments."""
    text = b"long " * 800
    data = tlv(0x40, bytes(7) + b"\1") + tlv(0x41, b"\x10\x01") + tlv(0x142, tlv(0x201, text))
    opening = tlv(0x50, b"den") + tlv(0x51, b"\x00") + tlv(0x52, bytes(8))
    client, server = PacketWriter(deflates), PacketWriter(deflates)
    connection.send("client", client.pack([frame(0x5001, opening, flags=0x19, sequence=1, session=1)]))
    for sequence, part in enumerate((data[:1000], data[1000:3000], data[3000:]), 2):
        flags = 0x19 if sequence == 4 else 0x1B
        connection.send("client", client.pack([frame(0x1000, part, flags, sequence, session=1)]), CUTS)
    acks = [frame(0x2001, tlv(0x31, bytes(8)) + tlv(0x32, struct.pack(">HQQ", 1, n, 5))) for n in range(1, 5)]
    opened = frame(0x5002, tlv(0x53, bytes(8)) + tlv(0x54, bytes(7) + b"\1"), flags=0x19, sequence=1, session=1)
    accepted = tlv(0x60, struct.pack(">QIQ", 1, 1, 1))
    connection.send("server", server.pack([opened]))
    # Equal packets with different frames.
    connection.send("server", b"".join(server.pack([ack]) for ack in acks))
    connection.send("server", server.pack([frame(0x2003, accepted, flags=0x19, sequence=2, session=1)]))
    connection.send("server", server.end() if deflates else b"")
    return text.decode()


def check_meaning(folder):
    """Checks sessions in packets: the room, a message in fragments, acknowledgements; packets that are not allowed or
    cannot be parsed."""
    capture = Capture()
    for features in (0x1F, 0x3F):
        connection = capture.connection(OTHER_PORT)
        greet(connection, MAX_BODY, features, 0x0101)
        text = conversation(connection, deflates=features == 0x3F)
    # Parsing begins after the handshake, with plain frames before and after the packets.
    late = capture.connection(OTHER_PORT, with_beginning=False)
    ping = frame(0x3001, tlv(0x33, bytes(8)))
    late.send("client", ping)
    conversation(late, deflates=True)
    late.send("client", ping)
    # In version 1.0 the feature has no meaning, and before welcome it is not in effect.
    old, early = capture.connection(PORT), capture.connection(PORT)
    greet(old, MAX_BODY, 0x3F, 0x0100)
    for connection in (old, early):
        connection.send("client", PacketWriter().pack([ping]))
    path = folder / "meaning.pcap"
    capture.write(path)
    *whole, late, old, early = by_stream(tshark(path, "-2", "-Y", "frame")).values()
    for name, row in zip(("plain", "deflated"), whole):
        check(numbers(row["type"]) == CONVERSATION, f"packets, {name}: types {row['type']}")
        check(not row["error"] and not row["refused"], f"packets, {name}: {row['error']} {row['refused']}")
        check(row["fragments"] == ["3"] and row["tlv.text"] == [text], f"packets, {name}: another text")
        check(set(row["room"]) == {"den"}, f"packets, {name}: the session's room is {row['room']}")
        acked = row["tlv.sessionAck.cumulative"]
        check(acked == list("1234"), f"packets, {name}: acknowledged {acked}")
        check(numbers(row["compact.form"]).count(0x26) == 3, f"packets, {name}: forms {row['compact.form']}")
        check(set(row["packet.checksum.status"]) == {"1"}, f"packets, {name}: a checksum")
    check(not late["error"], f"a capture that begins with packets: {late['error']}")
    check(numbers(late["type"]) == [0x3001, 0x3001], f"a capture that begins with packets: types {late['type']}")
    check(len(late["packet.length"]) > 9, f"a capture that begins with packets shows {late['packet.length']}")
    for name, row in (("of version 1.0", old), ("before welcome", early)):
        errors = [CODES[number] for number in numbers(row["error"])]
        check(errors == ["badMagic"], f"packets {name}: {errors}")


def check_without_dictionary(folder):
    """Checks the plugin in a separate folder without the dictionary: deflated packets are reported and not parsed."""
    plugin = folder / "plugin"
    plugin.mkdir()
    for source in HERE.glob("*.lua"):
        shutil.copy(source, plugin)
    plain, deflated, *_ = by_stream(tshark(folder / "meaning.pcap", plugin=plugin)).values()
    check(numbers(plain["type"]) == CONVERSATION, "without the dictionary: plain packets are not read")
    check(not deflated["error"], f"without the dictionary: {deflated['error']}")
    check(2 < len(deflated["type"]) < len(CONVERSATION), f"without the dictionary: types {deflated['type']}")


def check_packets(folder):
    count = check_vectors(folder)
    check_meaning(folder)
    check_without_dictionary(folder)
    return count
