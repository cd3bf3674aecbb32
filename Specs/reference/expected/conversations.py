"""Complete conversations: every byte of both directions, over the connections of a link (wire.md 5 to 9)."""

from expected.handshake import HELLO_SHOWN, TOKEN, WELCOME_SHOWN, hello, position, resume, welcome
from expected.sessions import session_ack, session_ack_shown
from expected.vector import RELIABLE, VectorFile, shown, usual
from vector_bytes import compact, flat, frame, joined, t, u8, u16, u32, u64

LOW = 1 << 32
SECOND, THIRD = bytes(range(32, 64)), bytes(range(64, 96))


class Talk:
    """Records the frames of both endpoints on each connection."""

    def __init__(self):
        self.steps = []
        self.connection = 1

    def send(self, sender, *frames):
        pieces = [piece for bytes_, _ in frames for piece in bytes_]
        self.steps.append({"connection": self.connection, "from": sender, "bytes": compact(pieces),
                           "frames": [entry for _, entry in frames]})

    def cut(self):
        self.connection += 1


def entry(kind, body, value, sequence=None, repeated=False, flags=None, **fields):
    """A frame and its expected result; the sequence is the complete number."""
    fields = usual(kind) | fields
    if flags is not None:
        fields["flags"] = flags
    if sequence is not None:
        fields["sequence"] = sequence % LOW
    entry = shown(kind, value, **fields)
    if sequence is not None:
        entry |= {"repeated": True} if repeated else {"whole": str(sequence)}
    return frame(kind, *flat([body]), **fields), entry


def text(counter, words, sequence, session=1, offset=None, **rest):
    body = [t(0x40, u64(counter)), t(0x41, u16(0x1001)), t(0x0142, t(0x0201, words))]
    value = {"counter": str(counter), "kind": 0x1001, "content": [[0x0201, words.encode().hex()]]}
    if offset:
        body = [t(0x48, u64(offset)), t(0x49, u64(1_700_000_000_000)), t(0x11, u64(77)), t(0x4A, "bob"), body]
        value |= {"offset": str(offset), "acceptedAt": "1700000000000", "device": "77", "sender": "bob"}
    return entry(0x1000, body, value, sequence, session=session, **rest)


def ack(*entries, flags=None):
    return entry(0x2001, [t(0x31, u64(1 << 20)), [session_ack(*e) for e in entries]],
                {"linkCredit": "1048576", "sessionAck": [session_ack_shown(*e) for e in entries]})


def accepted(counter, count, offset, sequence, **rest):
    return entry(0x2003, t(0x60, u64(counter) + u32(count) + u64(offset)),
                {"acceptedRun": [{"counter": str(counter), "count": count, "offset": str(offset)}]}, sequence, **rest)


def opening(sequence=1, cursor=0):
    return entry(0x5001, [t(0x50, "lobby"), t(0x51, u8(0)), t(0x52, u64(cursor))],
                {"room": "lobby", "sessionKind": 0, "cursor": str(cursor)}, sequence)


def opened(head, sequence=1):
    return entry(0x5002, [t(0x53, u64(head)), t(0x54, u64(1))], {"head": str(head), "first": "1"}, sequence)


def greeting():
    return entry(0x4001, hello(t(0x13, b"secret")), HELLO_SHOWN | {"credential": b"secret".hex()})


def returning(token, *positions):
    shown_positions = [{"session": s, "highest": str(n)} for s, n in positions]
    return entry(0x4001, hello(t(0x13, b"secret"), resume(*(position(*p) for p in positions), token=token)),
                HELLO_SHOWN | {"credential": b"secret".hex(), "resume": {
                    "link": "9", "resumeToken": token.hex(), "sessionPosition": shown_positions}})


def welcoming(token=TOKEN, epoch=1, *positions):
    value = WELCOME_SHOWN | {"resumeToken": token.hex(), "epoch": epoch}
    more = []
    if positions:
        more = t(0x0102, [position(*p) for p in positions])
        value["resume"] = {"sessionPosition": [{"session": s, "highest": str(n)} for s, n in positions]}
    return entry(0x4002, welcome(more, resumeToken=token, epoch=u32(epoch)), value)


def cut_and_resumed():
    """The client does not receive the second acceptance, the server does not receive the third message."""
    talk = Talk()
    talk.send("client", greeting())
    talk.send("server", welcoming())
    talk.send("client", opening())
    talk.send("server", opened(0), ack((0, 0, 262_144), (1, 1, 262_144)))
    talk.send("client", text(1, "one", 2), text(2, "two", 3))
    talk.send("server", accepted(1, 1, 1, 2))
    talk.send("client", ack((1, 2, 262_144)))
    talk.cut()
    talk.send("client", returning(TOKEN, (0, 0), (1, 2)), text(3, "three", 4))
    talk.send("server", welcoming(SECOND, 2, (0, 0), (1, 3)), accepted(2, 1, 2, 3), accepted(3, 1, 3, 4))
    talk.send("client", ack((1, 4, 262_144)), entry(0x5003, [], {}, 5))
    talk.send("server", entry(0x5003, [], {}, 5), ack((1, 5, 262_144)))
    return talk.steps


def both_repeat():
    """Both acknowledgements are lost with the connection. The retransmissions are dropped and counted once."""
    talk = Talk()
    talk.send("client", greeting())
    talk.send("server", welcoming())
    talk.send("client", opening(), text(1, "one", 2))
    talk.send("server", opened(0), accepted(1, 1, 1, 2), text(50, "from bob", 3, offset=2))
    talk.cut()
    talk.send("client", returning(TOKEN, (0, 0), (1, 3)), opening_again(), text(1, "one", 2, repeated=True),
             text(2, "two", 3))
    talk.send("server", welcoming(SECOND, 2, (0, 0), (1, 2)), text(50, "from bob", 3, offset=2, repeated=True),
             accepted(2, 1, 3, 4))
    talk.cut()
    talk.send("client", returning(SECOND, (0, 0), (1, 4)))
    talk.send("server", welcoming(THIRD, 3, (0, 0), (1, 3)))
    return talk.steps


def opening_again():
    bytes_, entry = opening()
    del entry["whole"]
    return bytes_, entry | {"repeated": True}


def refused_and_new():
    """The server does not know the token. The same messages are sent on a new link, with their original counters."""
    talk = Talk()
    talk.send("client", returning(TOKEN, (0, 3), (1, 2)), text(8, "early", 9))
    talk.steps[-1]["frames"][1] = passed_over(talk.steps[-1]["frames"][1])
    talk.send("server",
              entry(0x4003, [t(0x01, u16(0x0203)), t(0x02, "expired")], {"code": 0x0203, "reason": "expired"}))
    talk.send("client", greeting())
    talk.send("server", welcoming(SECOND, 1))
    talk.send("client", opening(cursor=41), text(8, "early", 2))
    talk.send("server", opened(41), accepted(8, 1, 42, 2))
    return talk.steps


def passed_over(entry):
    """W-35: a frame of a link that was refused. It is well-formed, and no window counts it."""
    return {key: value for key, value in entry.items() if key != "whole"} | {"passedOver": True}


def near_the_wrap():
    """An old link: its sequences exceed 2^32 in the conversation, in both directions."""
    talk = Talk()
    talk.send("client", returning(TOKEN, (0, 0), (1, LOW - 2)))
    talk.send("server", welcoming(SECOND, 9, (0, 0), (1, LOW - 1)))
    talk.steps[0] |= {"received": {"client": {"1": str(LOW - 1)}, "server": {"1": str(LOW - 2)}}}
    talk.send("client", text(5, "zero", LOW), text(6, "one", LOW + 1))
    talk.send("server", accepted(5, 2, 7, LOW - 1), text(50, "at the wrap", LOW, offset=9))
    talk.cut()
    talk.send("client", returning(SECOND, (0, 0), (1, LOW)), text(6, "one", LOW + 1, repeated=True))
    talk.send("server", welcoming(THIRD, 10, (0, 0), (1, LOW + 1)), text(51, "after", LOW + 1, offset=10))
    talk.send("client", ack((1, LOW + 1, 262_144)))
    return talk.steps


def cut_between_fragments():
    """The fragments of a message on two connections: the received ones are kept, the following ones complete it."""
    body = joined([t(0x40, u64(1)), t(0x41, u16(0x1001)), t(0x0142, t(0x0201, "in three pieces"))])
    parts = [body[:10], body[10:40], body[40:]]
    flags = [RELIABLE | 2, RELIABLE | 2, RELIABLE]

    def fragment(i, repeated=False):
        bytes_ = frame(0x1000, parts[i], session=1, sequence=i + 2, flags=flags[i])
        entry = shown(0x1000, fragment=parts[i], session=1, sequence=i + 2, flags=flags[i])
        return bytes_, entry | ({"repeated": True} if repeated else {"whole": str(i + 2)})

    talk = Talk()
    talk.send("client", greeting())
    talk.send("server", welcoming())
    talk.send("client", opening(), fragment(0), fragment(1))
    talk.send("server", opened(0))
    talk.cut()
    talk.send("client", returning(TOKEN, (0, 0), (1, 1)), fragment(1, repeated=True), fragment(2))
    talk.send("server", welcoming(SECOND, 2, (0, 0), (1, 3)), accepted(1, 1, 1, 2))
    talk.send("client", text(2, "whole", 5))
    return talk.steps


def turned_away():
    """Other ends of a handshake."""
    talk = Talk()
    talk.send("client", entry(0x4001, hello(), HELLO_SHOWN))
    talk.send("server", entry(0x4003, t(0x01, u16(0x0201)), {"code": 0x0201}))
    talk.cut()
    talk.send("client", greeting())
    talk.send("server", entry(0x4003, [t(0x01, u16(0x020A)), t(0x04, "b.example:7227")],
                            {"code": 0x020A, "redirect": "b.example:7227"}))
    talk.cut()
    talk.send("client", greeting())
    talk.send("server", entry(0x4004, [t(0x01, u16(0x0208)), t(0x03, u32(2000))], {"code": 0x0208, "retryAfter": 2000}))
    return talk.steps


def a_session_refused():
    """The refusal of a room ends only its session; the link's ping is answered."""
    talk = Talk()
    talk.send("client", greeting())
    talk.send("server", welcoming())
    talk.send("client", opening(), text(1, "let me in", 2))
    talk.send("server", entry(0x5004, [t(0x57, u16(1)), t(0x01, u16(0x0304)), t(0x34, u64(0))],
                            {"session": 1, "code": 0x0304, "creditUsed": "0"}, 1))
    used = t(0x34, u64(43))
    talk.send("client", entry(0x5004, [t(0x57, u16(1)), t(0x01, u16(0x0304)), used],
                            {"session": 1, "code": 0x0304, "creditUsed": "43"}, 1),
             entry(0x3001, t(0x33, u64(7)), {"nonce": "7"}, flags=0x0C))
    talk.send("server", ack((0, 1, 262_144)),
             entry(0x3002, [t(0x33, u64(7)), t(0x30, u32(0) + u32(90))],
                  {"nonce": "7", "echo": {"timestamp": 0, "held": 90}}))
    return talk.steps


def make():
    resumes = VectorFile("resumes", "Conversations over several connections of a link (wire.md 5 to 9).")
    resumes.needs = "link state"
    for steps, clauses in [
        (cut_and_resumed, "W-35 W-36 W-45 W-47 W-64"), (both_repeat, "W-14 W-44 W-45"),
        (cut_between_fragments, "W-21 W-22 W-45"),
    ]:
        add(resumes, steps, clauses)
    others = VectorFile("conversations",
                        "Conversations past 2^32, and those that end without a resume (wire.md 5 to 8).")
    others.needs = "link state"
    for steps, clauses in [(near_the_wrap, "W-11 W-12 W-45"), (refused_and_new, "W-35 W-38 W-46"),
                           (turned_away, "W-38 W-43"),
                           (a_session_refused, "W-56 W-57 W-70")]:
        add(others, steps, clauses)
    return [resumes, others]


def add(file, steps, clauses):
    about = steps.__doc__.splitlines()[0]
    file.vectors.append(
        {"name": steps.__name__.replace("_", " "), "about": about, "clauses": clauses.split(), "steps": steps()})
