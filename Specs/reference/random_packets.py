"""One direction of a conversation at random: what a packet's writer and reader are tried with.

Most frames go on where the last one of their kind ended, as real ones do, so that every form has its turn; some jump,
some are frames at random (random_frames.py), and some do not fit into a packet.
"""

from martlet_basics import WireError
from martlet_compact import accepted_body, ack_body, delivery_body, text_body
from martlet_header import Header
from martlet_wire import Framer

U64 = (1 << 64) - 1
MAX_BODY = 65_536
LETTERS = ("abcdefghij klmnop, é漢\U0001f426", "漢字你好吗是的a，\U0001f426")


class PacketMaker:
    """Frames of one direction, made from a `random_frames.Maker`."""

    def __init__(self, maker):
        self.maker, self.random = maker, maker.random
        self.sequences, self.offsets, self.acked, self.runs = {}, {}, {}, {}
        self.counter, self.accepted_at, self.link_credit = self.number(), 1_700_000_000_000, 0
        self.timestamp, self.echoed, self.session = self.number() & 0xFFFFFFFF, 0, 1
        self.authors = [[self.random.getrandbits(64), self.text(1, 9), 0] for _ in range(10)]
        self.sessions = self.random.choice((2, 5, 300))

    def number(self):
        return self.random.choice((0, 0, 1, 56, 1 << 32, U64 - 3, self.random.getrandbits(64)))

    def text(self, least, most):
        return "".join(self.random.choices(self.random.choice(LETTERS), k=self.random.randrange(least, most))).encode()

    def frames(self, count):
        return [self.frame() for _ in range(count)]

    def frame(self):
        pick = self.random.random()
        if pick < 0.25:
            return self.framed(0x1000, self.data())
        if pick < 0.45:
            return self.framed(0x1000, self.delivery())
        if pick < 0.6:
            return self.framed(0x2003, self.accepted())
        if pick < 0.8:
            return self.framed(0x2001, self.ack())
        return self.any()

    def any(self):
        """A frame that is whole, whatever its body holds."""
        while True:
            _, data = self.maker.frame()
            framer = Framer(MAX_BODY, zlib_allowed=True)
            framer.feed(data)
            try:
                if framer.next() is not None:
                    return data
            except WireError:
                continue

    def framed(self, kind, body):
        random = self.random
        reliable = kind != 0x2001
        session = self.session if reliable else 0
        sequence = 0
        if reliable:
            sequence = self.jumping(self.sequences.get(session, random.choice((0, 7, 0xFFFFFFFE))) + 1) & 0xFFFFFFFF
            self.sequences[session] = sequence
        if random.random() < 0.4:
            self.timestamp = self.timestamp + random.choice((1, 20, 300, 70_000, -5)) & 0xFFFFFFFF
        priority = random.choice((0, 1, 3)) if random.random() < 0.1 else 2 if reliable else 0
        flags = 0x08 | reliable | priority << 4 | (0x04 if random.random() < 0.1 else 0)
        return Header(kind, session, sequence, self.timestamp, flags).encoded(body) + body

    def jumping(self, number, often=0.1):
        """A number, or another near it or far from it."""
        if self.random.random() < often:
            number += self.random.choice((1, 2, 200, -1, -3, 1 << 40, self.random.getrandbits(64)))
        return number & U64

    def choose_session(self):
        if self.random.random() < 0.3:
            self.session = self.random.randrange(1, 1 + self.sessions)

    def words(self):
        if self.random.random() < 0.02:
            return b"x" * self.random.choice((119, 120, 127, 128, 4083, 4084, 4085, 4096, 5000))
        text = self.text(0, 60)
        return text[:-1] if self.random.random() < 0.02 else text

    def data(self):
        self.choose_session()
        self.counter = self.jumping(self.counter + 1)
        return text_body(self.counter, self.words())

    def delivery(self):
        self.choose_session()
        author = self.random.choice(self.authors)
        author[2] = self.jumping(author[2] + 1)
        self.accepted_at = self.accepted_at + self.random.choice((0, 1, 900, 60_000, -7)) & U64
        offset = self.offsets[self.session] = self.jumping(self.offsets.get(self.session, 0) + 1)
        return delivery_body(offset, self.accepted_at, author[0], author[1], author[2], self.words())

    def accepted(self):
        self.choose_session()
        counter, offset = self.runs.get(self.session, (self.number(), self.number()))
        count = 1 if self.random.random() < 0.7 else self.random.choice((0, 2, 300, 0xFFFFFFFF))
        counter, offset = self.jumping(counter + 1), self.jumping(offset + 1, 0.3)
        if self.random.random() < 0.05:
            offset = 0
        self.runs[self.session] = counter + count - 1 & U64, offset + count - 1 & U64
        return accepted_body(counter, count, offset)

    def ack(self):
        random = self.random
        session = self.session if random.random() < 0.7 else random.randrange(0, 1 + self.sessions)
        cumulative, credit = self.acked.get(session, (0, 0))
        cumulative = self.jumping(cumulative + 1)
        if random.random() < 0.3:
            credit = self.jumping(credit + 4096)
            self.link_credit = self.jumping(self.link_credit + 4096)
        self.acked[session] = cumulative, credit
        echo = None
        if random.random() < 0.3:
            self.echoed = self.jumping(self.echoed + 20) & 0xFFFFFFFF
            echo = self.echoed, random.choice((0, 5, 0xFFFFFFFF))
        return ack_body(echo, self.link_credit, session, cumulative, credit)
