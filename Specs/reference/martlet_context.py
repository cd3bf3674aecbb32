"""The context of compact frames in one direction, which both endpoints keep (Specs/wire.md 15.4)."""

from copy import deepcopy

from martlet_compact_tlv import U64, fault

MAX_SESSIONS = 256
AUTHORS = 8
URGENT, NORMAL = 0, 2


class Session:
    """The state of one session."""

    def __init__(self, priority):
        self.next = None
        self.priority = priority
        self.delivered = 0
        self.counter, self.offset = 0, 0
        self.cumulative, self.credit = 0, 0


class Author:
    """A device and its account, and the counter of its latest message."""

    def __init__(self):
        self.device, self.sender, self.counter = None, None, 0


class Context:
    """The state of one direction. Only `learn` changes it, after a frame was parsed or written completely."""

    def __init__(self):
        self.session = 0
        self.timestamp = 0
        self.counter = 0
        self.echoed = 0
        self.link_credit = 0
        self.accepted_at = 0
        self.authors = [Author() for _ in range(AUTHORS)]
        self.sessions = {0: Session(URGENT)}

    def copied(self):
        return deepcopy(self)

    def of(self, number):
        """The state of a session, or its initial state (W-85)."""
        found = self.sessions.get(number)
        if found is None and len(self.sessions) == MAX_SESSIONS:
            raise fault()
        return found or Session(NORMAL)

    def learn(self, header, changes):
        """Updates the context after a frame: its header, and (owner, name, value) triples. The owner is the number of
        a session, the index of an author as (index,), or None for the direction."""
        entry = self.kept(header.session)
        if header.session:
            self.session = header.session
        self.timestamp = header.timestamp
        entry.priority = header.flags >> 4 & 3
        if header.is_reliable:
            entry.next = header.sequence + 1 & 0xFFFFFFFF
        for owner, name, value in changes:
            if owner is None:
                setattr(self, name, value)
            elif isinstance(owner, tuple):
                setattr(self.authors[owner[0]], name, value)
            else:
                setattr(self.kept(owner), name, value)

    def kept(self, number):
        return self.sessions.setdefault(number, self.of(number))


def changes_of_run(session, counter, count, offset):
    """After an accepted, the previous numbers are those of the last message of the run."""
    return [(session, "counter", counter + count - 1 & U64), (session, "offset", offset + count - 1 & U64)]
