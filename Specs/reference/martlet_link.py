"""Sequences, fragments and acknowledgements of one direction of one session (Specs/wire.md 3.5, 3.9, 7.1)."""

from martlet_basics import Scope, WireError
from martlet_registry import RULES, ErrorCode, FrameType
from martlet_tlv import SessionAck

WINDOW = 8192
MAX_RANGES = 32
MAX_UNCREDITED = 64 * 1024
CREDITED = (FrameType.DATA, FrameType.REQUEST, FrameType.RESPONSE)
LOW = 1 << 32


def whole_sequence(low, expected):
    """W-12 and session.md S-17: the number with these low bits that is nearest to the expected one. It can be below
    1, which is not a valid sequence."""
    distance = (low - expected) % LOW
    return expected + (distance if distance < LOW // 2 else distance - LOW)


class ReceiveWindow:
    """The received sequences (W-14), as an ack reports them (W-48)."""

    def __init__(self, received=0):
        self.cumulative = received
        self.beyond = set()

    def receive(self, low):
        """The complete sequence of a new frame, or None for a duplicate."""
        expected = self.cumulative + 1
        sequence = whole_sequence(low, expected)
        if not 1 <= sequence < min(expected + WINDOW, 1 << 64):
            raise WireError(ErrorCode.OUT_OF_WINDOW)
        if sequence < expected or sequence in self.beyond:
            return None
        self.beyond.add(sequence)
        while self.cumulative + 1 in self.beyond:
            self.cumulative += 1
            self.beyond.remove(self.cumulative)
        return sequence

    def ranges(self):
        found = []
        for sequence in sorted(self.beyond):
            if found and found[-1][1] + 1 == sequence:
                found[-1][1] = sequence
            elif len(found) < MAX_RANGES:
                found.append([sequence, sequence])
            else:
                break
        return tuple(map(tuple, found))

    def ack(self, session, credit):
        return SessionAck(session, self.cumulative, credit, self.ranges())


class Reassembler:
    """The reassembly of fragments (W-21, W-22, session.md S-44).

    `add` accepts the frames of one session in the order of their sequences.
    """

    def __init__(self, max_message):
        self.max_message = max_message
        self.type = None
        self.parts = []
        self.size = 0

    def add(self, frame_type, body, more):
        """The complete body if this frame is its last fragment, otherwise None."""
        if self.type not in (None, frame_type):
            raise WireError(ErrorCode.PROTOCOL_VIOLATION)
        self.size += len(body)
        if self.size > (self.max_message if frame_type in CREDITED else MAX_UNCREDITED):
            raise WireError(ErrorCode.MESSAGE_TOO_LARGE, Scope.SESSION)
        self.type = frame_type
        self.parts.append(body)
        if more:
            return None
        whole = b"".join(self.parts)
        self.type, self.parts, self.size = None, [], 0
        return whole


class SessionReceiver:
    """One direction of one session: it accepts frames in any order and repeatedly, and returns complete bodies once, in
    order."""

    def __init__(self, max_message, received=0):
        self.window = ReceiveWindow(received)
        self.reassembler = Reassembler(max_message)
        self._next = received + 1
        self._waiting = {}

    def receive(self, frame_type, low, body, more):
        """The bodies that this frame completes, as (type, bytes). An unknown type has no fragments (W-13)."""
        sequence = self.window.receive(low)
        if sequence is None:
            return []
        more = more and frame_type in RULES
        if more and not body:
            raise WireError(ErrorCode.PROTOCOL_VIOLATION)  # S-42
        self._waiting[sequence] = (frame_type, body, more)
        whole = []
        while self._next in self._waiting:
            kind, part, has_more = self._waiting.pop(self._next)
            self._next += 1
            done = self.reassembler.add(kind, part, has_more)
            if done is not None:
                whole.append((kind, done))
        return whole
