"""Vectors of Specs/wire.md 3.5, sequences, and of 3.9 and 7.1 for several frames."""

from expected.vector import RELIABLE, VectorFile, shown
from vector_bytes import compact, frame, joined, t, times, u16, u32, u64

LOW = 1 << 32
LAST = (1 << 64) - 1
MORE = RELIABLE | 0x02


def wholes(file):
    for name, expected, low, whole in [
        ("the first", 1, 1, 1),
        ("the one expected", 77, 77, 77),
        ("one ahead", 77, 78, 78),
        ("one behind", 77, 76, 76),
        ("zero, which no frame has, at the beginning", 1, 0, 0),
        ("below zero, which no frame has either", 5, LOW - 16, -16),
        ("the last before the low bits wrap", LOW - 1, LOW - 1, LOW - 1),
        ("the low bits wrap", LOW, 0, LOW),
        ("the next after the wrap", LOW + 1, 1, LOW + 1),
        ("ahead across the wrap", LOW - 2, 3, LOW + 3),
        ("behind across the wrap", LOW + 3, LOW - 2, LOW - 2),
        ("a wrap later", 5 * LOW, LOW - 1, 5 * LOW - 1),
        ("another wrap later", 5 * LOW - 1, 0, 5 * LOW),
        ("half a wrap less one ahead", 5 * LOW, LOW // 2 - 1, 5 * LOW + LOW // 2 - 1),
        ("half a wrap ahead or behind is behind", 5 * LOW, LOW // 2, 4 * LOW + LOW // 2),
        ("half a wrap behind or ahead is behind", 5 * LOW + LOW // 2, 0, 5 * LOW),
        ("less than half a wrap behind", 5 * LOW + LOW // 2, 1, 5 * LOW + 1),
        ("session.md's second example", 0xFFFFFFFE, 1, LOW + 1),
        ("session.md's third example", LOW + 2, LOW - 1, LOW - 1),
        ("RFC 9000's example, with its numbers", 0xA82F30EB, 0xA82F9B32, 0xA82F9B32),
        ("a store's number beside a wrapped header", 0x1_0000_0005, 4, 0x1_0000_0004),
        ("near the last number there is", LAST, LOW - 1, LAST),
        ("behind the last number there is", LAST, LOW - 2, LAST - 1),
    ]:
        file.vectors.append({
            "name": name, "clauses": ["W-12"], "expected": str(expected), "low": low, "whole": str(whole)})


def windows(file):
    def window(name, clauses, received, steps, cumulative, *ranges):
        file.vectors.append({
            "name": name, "clauses": clauses.split(), "received": str(received), "steps": steps,
            "ack": {"cumulative": str(cumulative), "ranges": [[str(a), str(b)] for a, b in ranges]}})

    def taken(*sequences):
        return [{"low": n % LOW, "whole": str(n)} for n in sequences]

    def repeated(*sequences):
        return [{"low": n % LOW, "repeated": True} for n in sequences]

    def refused(n):
        return [{"low": n % LOW, "error": "outOfWindow"}]

    window("in order", "W-11 W-48", 0, taken(1, 2, 3), 3)
    window("a frame comes twice", "W-14", 0, taken(1) + repeated(1) + taken(2), 2)
    window("a frame that came on the last connection comes again", "W-14", 41, repeated(41, 40, 1) + taken(42), 42)
    window("a gap", "W-48", 0, taken(1, 3, 4, 7), 1, (3, 4), (7, 7))
    window("a gap that is filled", "W-48", 0, taken(2, 3, 1), 3)
    window("a frame beyond a gap comes twice", "W-14 W-48", 5, taken(8) + repeated(8), 5, (8, 8))
    window("no range touches the first number", "W-48", 5, taken(7, 6, 9), 7, (9, 9))
    window("the last sequence of the window", "W-14", 0, taken(8192), 0, (8192, 8192))
    window("a sequence beyond the window by one", "W-14", 0, refused(8193), 0)
    window("the window moves with the first number", "W-14", 1, taken(8193) + refused(8194), 1, (8193, 8193))
    window("the window does not move with what came beyond a gap", "W-14", 0, taken(8192) + refused(8193), 0,
           (8192, 8192))
    window("sequence zero never was", "W-11 W-14", 0, refused(0) + taken(1), 1)
    window("a sequence below zero", "W-14", 4, refused(LOW - 16), 4)
    window("a sequence of long ago", "W-14", 40, repeated(1), 40)
    window("the low bits wrap", "W-12", LOW - 2, taken(LOW - 1, LOW, LOW + 1), LOW + 1)
    window("repeated across the wrap", "W-12 W-14", LOW + 1, repeated(LOW - 1, LOW) + taken(LOW + 2), LOW + 2)
    window("a gap across the wrap", "W-12 W-48", LOW - 2, taken(LOW + 1, LOW), LOW - 2, (LOW, LOW + 1))
    window("the window across the wrap", "W-12 W-14", LOW - 2, taken(LOW + 8190) + refused(LOW + 8191), LOW - 2,
           (LOW + 8190, LOW + 8190))
    window("a wrapped number beside a whole one of long ago", "W-12", 3 * LOW - 1, taken(3 * LOW), 3 * LOW)


def assembled(file):
    def message(counter, text):
        return joined([t(0x40, u64(counter)), t(0x41, u16(0x1001)), t(0x0142, t(0x0201, text))])

    def value(counter, text):
        return {"counter": str(counter), "kind": 0x1001, "content": [[0x0201, text.encode().hex()]]}

    def part(data, sequence, more=False, session=1, kind=0x1000):
        return frame(kind, data, session=session, sequence=sequence % LOW, flags=MORE if more else RELIABLE)

    def add(name, clauses, pieces, delivered, reset=None, error=None, **given):
        vector = {"name": name, "clauses": clauses.split()}
        if given:
            vector["given"] = given
        vector |= {"bytes": compact(pieces), "delivered": [
            {"type": kind[0] if kind else "data", "session": session, "value": value}
            for session, value, *kind in delivered]}
        if reset:
            vector["reset"] = reset
        if error:
            vector["error"] = error
        file.vectors.append(vector)

    one, two = message(1, "one"), message(2, "two")
    cut = [one[:9], one[9:30], one[30:]]
    three = [part(cut[0], 1, True), part(cut[1], 2, True), part(cut[2], 3)]
    add("two messages", "W-11", [part(one, 1), part(two, 2)], [(1, value(1, "one")), (1, value(2, "two"))])
    add("two messages that overtook each other", "W-3", [part(two, 2), part(one, 1)],
        [(1, value(1, "one")), (1, value(2, "two"))])
    add("a message that comes twice", "W-14", [part(one, 1), part(one, 1), part(two, 2)],
        [(1, value(1, "one")), (1, value(2, "two"))])
    add("three fragments", "W-21 W-22", three, [(1, value(1, "one"))])
    add("three fragments in another order", "W-3 W-22", [three[2], three[0], three[1]], [(1, value(1, "one"))])
    add("three fragments, each twice", "W-14 W-22", [three[0], three[0], three[1], three[1], three[2], three[2]],
        [(1, value(1, "one"))])
    add("a message whose last fragment is missing", "W-22", three[:2], [])
    add("a message waits for the one before it", "W-3", [part(two, 4), three[0], three[1]], [])
    add("fragments of two sessions", "W-21", [
        three[0], part(two[:9], 1, True, session=3), three[1], part(two[9:], 2, session=3), three[2]],
        [(3, value(2, "two")), (1, value(1, "one"))])
    add("the first fragments came on the last connection", "W-12 W-22",
        [part(cut[2], LOW), part(two, LOW + 1)], [(1, value(1, "one")), (1, value(2, "two"))],
        received={"1": str(LOW - 1)}, begun={"1": compact([cut[0] + cut[1]])})
    add("fragments across the wrap of the low bits", "W-12 W-22",
        [part(cut[0], LOW - 1, True), part(cut[1], LOW, True), part(cut[2], LOW + 1)], [(1, value(1, "one"))],
        received={"1": str(LOW - 2)})
    other = frame(0x6003, t(0x70, u64(1)), session=1, sequence=2, flags=RELIABLE)
    add("a frame of another type between fragments", "W-21", [three[0], other], [], error="protocolViolation")
    add("a frame of another type, beyond the fragments", "W-21", [
        three[0], frame(0x6003, t(0x70, u64(1)), session=1, sequence=4, flags=RELIABLE), three[1], three[2]],
        [(1, value(1, "one")), (1, {"correlation": "1"}, "cancel")])
    big = 16_384
    head = [t(0x40, u64(1)), t(0x41, b"\xf0\x00")]
    fill = big - len(joined(head)) - 12
    whole = joined([head, t(0x0142, t(0x0202, b"\x00" * fill))])
    add("a message as long as maxMessage", "W-22", [
        part(whole[:1], 1, True), *long_parts(whole[1:], part)],
        [(1, {"counter": "1", "kind": 0xF000, "content": [[0x0202, times("00", fill)]]})],
        maxMessage=big)
    more = joined([head, t(0x0142, t(0x0202, b"\x00" * (fill + 1)))])
    add("a message one byte longer than maxMessage", "W-22", [
        part(more[:1], 1, True), *long_parts(more[1:], part)], [],
        reset={"session": 1, "code": "messageTooLarge"}, maxMessage=big)
    roll = joined([t(0x70, u64(3)), t(0x71, "roll"), t(0x72, u32(5000)), t(0x0142, t(0x0202, b"dice"))])
    add("a request in fragments", "W-21 W-68", [
        part(roll[:20], 1, True, kind=0x6001), part(roll[20:], 2, kind=0x6001)],
        [(1, {"correlation": "3", "method": "roll", "deadline": 5000,
              "content": [[0x0202, b"dice".hex()]]}, "request")])
    six = joined([t(0x70, u64(3)), t(0x74, b"\x00\x00"), t(0x0142, t(0x0202, b"6"))])
    add("a response in fragments, on session 0", "W-21 W-69", [
        part(six[:20], 1, True, kind=0x6002, session=0), part(six[20:], 2, kind=0x6002, session=0)],
        [(0, {"correlation": "3", "status": 0, "content": [[0x0202, b"6".hex()]]}, "response")])
    head = joined([t(0x53, u64(9)), t(0x54, u64(3))])
    for size, name, outcome in [
        (65_536, "opened of 64 KiB, with a tag that nobody knows", {}),
        (65_537, "opened of 64 KiB and a byte", {"reset": {"session": 1, "code": "messageTooLarge"}}),
    ]:
        fill = size - len(head) - 6
        zeros = {"repeat": "00", "count": fill - 40_000}
        add(name, "W-22 W-28", [
            part([head, b"\x30\x00" + u32(fill), {"repeat": "00", "count": 40_000}], 1, True, kind=0x5002),
            part(zeros, 2, kind=0x5002)], [] if outcome else [(1, {"head": "9", "first": "3"}, "opened")], **outcome)


def long_parts(whole, part):
    """A message in two halves, with the zeros at its end as repeated pieces."""
    lead = len(whole.rstrip(b"\x00"))
    half = len(whole) // 2
    return [part([whole[:lead], {"repeat": "00", "count": half - lead}], 2, True),
            part({"repeat": "00", "count": len(whole) - half}, 3)]


def make():
    numbers = VectorFile("sequences", "From a header's 32 bits to the whole sequence (wire.md 3.5).")
    numbers.needs = "link state"
    wholes(numbers)
    window = VectorFile("windows", "Which sequences are taken, and what an ack says of them (wire.md 3.5, 7.1).")
    window.needs = "link state"
    windows(window)
    whole = VectorFile("assembled", "Frames to messages, in order and once (wire.md 3.5, 3.9).")
    whole.needs = "link state"
    assembled(whole)
    return [numbers, window, whole]
