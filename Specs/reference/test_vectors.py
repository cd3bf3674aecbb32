#!/usr/bin/env python3
"""Replays every vector of Specs/vectors with the reference.

usage: test_vectors.py [--verbose] [FILE.json ...]
"""

import itertools
import json
import re
import sys
from pathlib import Path

from martlet_basics import WireError
from martlet_body import value_json
from martlet_contents import effects, encoded_value, parse
from martlet_link import ReceiveWindow, SessionReceiver, whole_sequence
from martlet_packets import PacketWriter
from martlet_registry import CLIENT, FEATURES, SERVER, Features, FrameType
from martlet_server import Server
from martlet_wire import HANDSHAKE_MAX_BODY, Receiver, decode
from password_client import Unexpected, last_messages
from vector_bytes import expand

FOLDER = Path(__file__).resolve().parent.parent / "vectors"
MAX_SPLIT = 1024
MAX_PACKET_SPLIT = 128
DEFAULT_MAX_BODY = 65_536
DEFAULTS = {"session": 0, "sequence": 0, "timestamp": 0, "flags": 8, "compression": 0, "minor": 0}


class Mismatch(Exception):
    """A difference between a vector's expected result and the reference."""


def same(found, wanted, where):
    if found != wanted:
        raise Mismatch(f"{where}: found {short(found)}, expected {short(wanted)}")


def short(value):
    text = json.dumps(value)
    return text if len(text) < 600 else text[:600] + "…"


def bytes_of(pieces):
    return b"".join(bytes.fromhex(p) if isinstance(p, str) else expand(p) for p in pieces)


def expanded(value):
    """An expected result with its repetitions expanded."""
    if isinstance(value, dict):
        if value.keys() == {"repeat", "count"}:
            return value["repeat"] * value["count"]
        return {key: expanded(item) for key, item in value.items()}
    return [expanded(item) for item in value] if isinstance(value, list) else value


def header_shown(header):
    name = FrameType(header.type).wire_name if header.type in FrameType._value2member_map_ else f"0x{header.type:04X}"
    fields = {key: getattr(header, key) for key in DEFAULTS}
    return {"type": name} | {key: number for key, number in fields.items() if number != DEFAULTS[key]}


def frame_shown(frame):
    entry = header_shown(frame.header)
    value = frame.value
    if value is None:
        return entry | {"skipped": True}
    if isinstance(value, bytes):
        return entry | {"fragment": value.hex()}
    if isinstance(value, WireError):
        return entry | {"refused": value.code.wire_name, "ends": value.scope}
    return entry | {"value": value.json()}


def wanted_frame(entry):
    entry = expanded(entry)
    if "fragment" in entry:
        entry["fragment"] = bytes_of(entry["fragment"]).hex()
    return entry


def features_of(given):
    features = Features.ZLIB if given.get("zlib", True) else Features(0)
    for name in given.get("features", []):
        features |= FEATURES[name]
    return features


def receiver_of(given):
    established = given.get("phase") != "handshake"
    bound = given.get("maxBody", DEFAULT_MAX_BODY) if established else HANDSHAKE_MAX_BODY
    return Receiver(given.get("from", CLIENT), established, bound, features_of(given))


def outcome(chunks, given, end):
    """The result of a stream in these chunks."""
    receiver = receiver_of(given)
    frames = []
    try:
        for chunk in chunks:
            receiver.framer.feed(chunk)
            while (frame := receiver.next()) is not None:
                frames.append(frame_shown(frame))
        if end:
            receiver.framer.finish()
    except WireError as error:
        return frames, {"code": error.code.wire_name, "at": error.at}
    return frames, None


def packet_framer(vector):
    """A framer after a welcome with these features."""
    return Receiver(
        CLIENT, established=True, max_body=vector.get("maxBody", DEFAULT_MAX_BODY),
        features=features_of({"features": vector["features"]})).framer


def unpacked(vector, chunks):
    """The frames of packets in the form of 3, and the final error."""
    framer, frames = packet_framer(vector), []
    try:
        for chunk in chunks:
            framer.feed(chunk)
            while (frame := framer.next()) is not None:
                frames.append(frame.header.encoded(frame.body) + frame.body)
        if vector.get("end"):
            framer.finish()
    except WireError as error:
        return frames, error.code.wire_name
    return frames, None


def check_packets(vector):
    data = bytes_of(vector["bytes"])
    wanted = [bytes_of(pieces) for pieces in vector["frames"]]
    splits = [[data]]
    if len(data) <= MAX_SPLIT:
        splits.append([data[i : i + 1] for i in range(len(data))])
        splits += [[data[:i], data[i:]] for i in range(1, len(data))] if len(data) <= MAX_PACKET_SPLIT else []
    for chunks in splits:
        frames, error = unpacked(vector, chunks)
        where = f"in {len(chunks)} chunks, the first of {len(chunks[0])} bytes" if chunks else "of nothing"
        same(error, vector.get("error"), f"error {where}")
        same([frame.hex() for frame in frames], [frame.hex() for frame in wanted], f"frames {where}")
    for deflates in {False, "sharedDeflate" in vector["features"]}:
        packed = PacketWriter(deflates).pack(wanted) if "compact" in vector["features"] else b"".join(wanted)
        same([frame.hex() for frame in unpacked(vector, [packed])[0]], [f.hex() for f in wanted], "packed and unpacked")


def check_stream(vector):
    data = bytes_of(vector["bytes"])
    given, end = vector.get("given", {}), vector.get("end", False)
    wanted = [wanted_frame(entry) for entry in vector["frames"]], vector.get("error")
    splits = [[data]]
    if len(data) <= MAX_SPLIT:
        splits.append([data[i : i + 1] for i in range(len(data))])
        splits += [[data[:i], data[i:]] for i in range(1, len(data))]
    for chunks in splits:
        frames, error = outcome(chunks, given, end)
        where = f"in {len(chunks)} chunks, the first of {len(chunks[0])} bytes" if chunks else "of nothing"
        same(error, wanted[1], f"error {where}")
        same(frames, wanted[0], f"frames {where}")
    check_encoding(data, given)


def check_encoding(data, given):
    """Checks that every parsed value equals its own parsed encoding."""
    receiver = receiver_of(given)
    receiver.framer.feed(data)
    try:
        while (frame := receiver.next()) is not None:
            if not isinstance(frame.value, (WireError, bytes, type(None))):
                again = decode(frame.header.type, frame.value.encoded(), receiver.sender)
                same(again.json(), frame.value.json(), "encoded and decoded")
    except WireError:
        pass


def check_sequence(vector):
    same(str(whole_sequence(vector["low"], int(vector["expected"]))), vector["whole"], "whole sequence")


def check_window(vector):
    window = ReceiveWindow(int(vector["received"]))
    for step in vector["steps"]:
        same(step_shown(window, step["low"]), step, "step")
    ack = window.ack(1, 0)
    same(value_json(ack.ranges), vector["ack"]["ranges"], "ranges")
    same(str(ack.cumulative), vector["ack"]["cumulative"], "cumulative")


def step_shown(window, low):
    try:
        whole = window.receive(low)
    except WireError as error:
        return {"low": low, "error": error.code.wire_name}
    return {"low": low} | ({"repeated": True} if whole is None else {"whole": str(whole)})


def check_assembled(vector):
    given = vector.get("given", {})
    receiver = receiver_of({})
    receiver.framer.feed(bytes_of(vector["bytes"]))
    sessions = {}
    delivered, reset, failure = [], None, None
    try:
        while (frame := receiver.next_bytes()) is not None:
            number = str(frame.header.session)
            if number not in sessions:
                sessions[number] = SessionReceiver(
                    given.get("maxMessage", 1 << 20), int(given.get("received", {}).get(number, 0)))
                begun = bytes_of(given.get("begun", {}).get(number, []))
                if begun:
                    sessions[number].reassembler.add(FrameType.DATA, begun, True)
            header = frame.header
            for kind, body in sessions[number].receive(header.type, header.sequence, frame.body, header.has_more):
                value = decode(kind, body, CLIENT)
                delivered.append({"type": FrameType(kind).wire_name, "session": header.session, "value": value.json()})
    except WireError as error:
        if error.scope == "session":
            reset = {"session": header.session, "code": error.code.wire_name}
        else:
            failure = error.code.wire_name
    same(delivered, expanded(vector["delivered"]), "delivered")
    same((reset, failure), (vector.get("reset"), vector.get("error")), "reset and error")


def check_link(vector):
    """Checks the frames of a client after welcome, and those that the server refuses."""
    limits = {"maxMessage": 1 << 20, "linkWindow": 1 << 20, "sessionWindow": 262_144, "maxSessions": 255}
    server, receiver, failure = Server(limits | vector.get("limits", {}), {}), receiver_of({}), None
    receiver.framer.feed(bytes_of(vector["bytes"]))
    try:
        while (frame := receiver.next_bytes()) is not None:
            server.take(frame.header, frame.body)
    except WireError as error:
        failure = error.code.wire_name
    # The end of the connection also discards unsent resets.
    resets = [] if failure and "resets" not in vector else server.resets
    same((resets, failure), (vector.get("resets", []), vector.get("error")), "resets and error")


class Conversation:
    """Checks both directions of a link, over its connections."""

    def __init__(self, steps):
        self.windows = {CLIENT: {}, SERVER: {}}
        self.begun = {CLIENT: {}, SERVER: {}}
        for step in steps:
            for sender, sessions in step.get("received", {}).items():
                self.windows[sender] = {int(s): ReceiveWindow(int(n)) for s, n in sessions.items()}
        self.receivers = {}
        self.connection = None
        self.at_hello = {}

    def check(self, step):
        if step["connection"] != self.connection:
            self.connection = step["connection"]
            self.receivers = {side: Receiver(side) for side in (CLIENT, SERVER)}
        sender = step["from"]
        receiver = self.receivers[sender]
        receiver.framer.feed(bytes_of(step["bytes"]))
        for wanted in step["frames"]:
            frame = receiver.next_bytes()
            same(self.shown(sender, frame, wanted), wanted_frame(wanted), f"connection {self.connection}, {sender}")
        same(receiver.next_bytes(), None, "a frame too many")
        receiver.framer.finish()

    def shown(self, sender, frame, wanted):
        header, body, _ = frame
        entry = header_shown(header)
        taken = True
        if wanted.get("passedOver"):
            entry["passedOver"] = True
        elif header.is_reliable:
            window = self.windows[sender].setdefault(header.session, ReceiveWindow())
            step = step_shown(window, header.sequence)
            taken = "whole" in step
            entry |= {key: value for key, value in step.items() if key != "low"}
        begun = self.begun[sender]
        in_fragments = header.is_reliable and (header.has_more or header.session in begun or "fragment" in wanted)
        if taken and header.is_reliable:
            begun.pop(header.session, None)
            if header.has_more:
                begun[header.session] = True
        if in_fragments:
            return entry | {"fragment": body.hex()}
        value = decode(header.type, body, sender)
        self.handshake(header.type, value)
        return entry | {"value": value.json()}

    def handshake(self, kind, value):
        if kind == FrameType.HELLO:
            self.at_hello = {session: window.cumulative for session, window in self.windows[CLIENT].items()}
            if value.resume is None:
                self.windows = {CLIENT: {}, SERVER: {}}
            elif self.windows[SERVER]:
                self.positions(value.resume, {s: w.cumulative for s, w in self.windows[SERVER].items()})
        elif kind == FrameType.WELCOME:
            if value.resume is not None:
                self.positions(value.resume, self.at_hello)
            for receiver in self.receivers.values():
                receiver.establish(value.limits.max_body, value.features)

    def positions(self, resume, windows):
        """W-45: checks that the positions contain only received sequences."""
        positions = {p.session: p.highest for p in resume.session_position}
        same(positions, {0: 0} | windows, "positions")


def check_conversation(vector):
    conversation = Conversation(vector["steps"])
    for step in vector["steps"]:
        conversation.check(step)


def check_scram(vector):
    """Checks the messages of an exchange, and which of them is refused."""
    messages = ["".join(pieces) for pieces in vector["messages"]]
    header, _, first = messages[0].partition("n=")
    binding = header.encode() + bytes.fromhex(vector.get("exporter", ""))
    same("n=" + first, f"n={vector['user']},r={vector['clientNonce']}", "first message")
    refused = None
    try:
        wanted = last_messages(vector["password"], "n=" + first, messages[1], binding)
        for name, found, message in zip(("proof", "signature"), messages[2:], wanted):
            refused = refused or (None if found == message else name)
    except Unexpected:
        refused = "challenge"
    same(refused, vector.get("refusedMessage"), "refused message")
    same(len(messages), {"challenge": 2, "proof": 3, "signature": 4, None: 4}[refused], "number of messages")


def check_content(vector):
    """Checks the fields of a content, or the code of its fault."""
    content = bytes_of(vector["content"])
    try:
        fields, error = parse(vector["kind"], content), None
    except WireError as fault:
        fields, error = None, fault.code.wire_name
    same((fields, error), (expanded(vector.get("fields")), vector.get("error")), "fields and error")
    if fields and "value" in fields:
        same(encoded_value(fields["value"]).hex(), content.hex(), "encoded value")


def check_changes(vector):
    """Applies the changes in every order."""
    for changes in itertools.permutations(vector["changes"]):
        same(effects(vector["target"], changes), vector["result"], "effects")


CHECKS = {"scram": check_scram, "contents": check_content, "changes": check_changes,
          "sequences": check_sequence, "windows": check_window, "assembled": check_assembled,
          "conversations": check_conversation, "resumes": check_conversation, "links": check_link, "floods": check_link,
          "floods-beyond": check_link}


def main():
    paths = [Path(name) for name in sys.argv[1:] if name != "--verbose"] or sorted(FOLDER.glob("*.json"))
    failures = count = 0
    codes = set()
    for path in paths:
        check = check_packets if path.stem.startswith("packets-") else CHECKS.get(path.stem, check_stream)
        for vector in json.loads(path.read_text())["vectors"]:
            count += 1
            codes |= set(re.findall(r'"(?:code|refused|error)": "(\w+)"', json.dumps(vector)))
            try:
                check(vector)
            except (Mismatch, WireError) as problem:
                failures += 1
                print(f"{path.name}: {vector['name']}: {problem}")
    if failures or "--verbose" in sys.argv:
        print(f"{count} vectors, {len(codes)} error codes, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
