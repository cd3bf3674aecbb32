"""The rules between the fields of bodies (Specs/wire.md 13.1), and the scopes of their faults."""

from dataclasses import dataclass

import martlet_bodies
from martlet_basics import Scope, WireError
from martlet_body import KINDS, Body, Faults, one
from martlet_registry import CLIENT, SERVER, ContentKind, ErrorCode, Tag
from martlet_tlv import MAX_CLIENT_DATA_TLVS, MAX_CONTENT_TLVS, InvalidValue, children, count, text

REFUSED = 3
# The fields of a `data` that the relay adds.
OF_RELAY = (Tag.OFFSET, Tag.ACCEPTED_AT, Tag.DEVICE, Tag.SENDER)


def check_content(kind, content, faults):
    """Checks W-63. All other contents belong to the application."""
    if content is None or kind != ContentKind.TEXT:
        return
    found = [value for tag, value in children(content) if tag == Tag.TEXT]
    faults.refuse(not found, ErrorCode.MISSING_FIELD)
    faults.refuse(len(found) > 1, ErrorCode.DUPLICATE_FIELD)
    for value in found:
        try:
            text(1).read(value)
        except InvalidValue:
            faults.append(ErrorCode.INVALID_VALUE)


class Data(martlet_bodies.Data):
    named_by = Tag.COUNTER

    def check(self, sender, faults):
        relayed = [self.offset, self.accepted_at, self.device, self.sender]
        present = sum(value is not None for value in relayed)
        faults.refuse(present != (4 if sender == SERVER else 0))
        check_content(self.kind, self.content, faults)


class Transient(martlet_bodies.Transient):
    def check(self, sender, faults):
        content = self.kind is not None or self.content is not None
        count = (self.typing is not None) + (self.presence is not None) + content
        faults.refuse(count == 0, ErrorCode.MISSING_FIELD)
        faults.refuse(count > 1)
        faults.refuse(content and (self.kind is None or self.content is None), ErrorCode.MISSING_FIELD)
        check_content(self.kind, self.content, faults)


class Receipt(martlet_bodies.Receipt):
    def check(self, sender, faults):
        if self.receipt_kind == REFUSED:
            faults.refuse(self.counter is None or self.code is None, ErrorCode.MISSING_FIELD)
            others = ("up_to", "sender", "device")
        else:
            faults.refuse(self.up_to is None, ErrorCode.MISSING_FIELD)
            others = ("counter", "code", "reason")
        for name in others:
            object.__setattr__(self, name, None)


@dataclass(frozen=True, kw_only=True)
class Gap(martlet_bodies.Gap):
    # Other bodies with these tags have no lower bound.
    first: int = one(KINDS[Tag.COUNTER])
    up_to: int = one(KINDS[Tag.COUNTER])

    def check(self, sender, faults):
        faults.refuse(self.first > self.up_to)


class Open(martlet_bodies.Open):
    def check(self, sender, faults):
        if self.no_local == 0:
            object.__setattr__(self, "no_local", None)


class Update(martlet_bodies.Update):
    def check(self, sender, faults):
        others = [
            self.membership, self.inviter, self.changed_at, self.log, self.head, self.first, self.message,
            self.shortened, self.delivered_up_to, self.read_up_to, self.unread,
        ]
        if self.room is None:
            faults.refuse(any(value is not None for value in others), ErrorCode.MISSING_FIELD)
        else:
            required = (self.membership, self.head, self.first)
            faults.refuse(any(value is None for value in required), ErrorCode.MISSING_FIELD)
        for name in ("shortened", "delivered_up_to", "read_up_to", "unread"):
            if getattr(self, name) == 0:
                object.__setattr__(self, name, None)


class Request(martlet_bodies.Request):
    named_by = Tag.CORRELATION


BODIES = {
    body.type: body
    for body in [*Body.__subclasses__(), Data, Transient, Receipt, Gap, Open, Update, Request] if body.type
}


def read_body(frame_type, body, tlvs, sender=CLIENT):
    """The value of a body with these outermost TLVs, whose structure `walk` has checked."""
    cls = BODIES[frame_type]
    check_counts(cls, body, tlvs)
    faults = Faults()
    found = cls.read(tlvs, sender, faults)
    if not faults:
        return found
    if cls is martlet_bodies.Hello:
        faults = [ErrorCode.INVALID_HELLO if is_of_a_field(code) else code for code in faults]
    scopes = {code: scope_of(cls, code, tlvs, sender) for code in faults}
    raise WireError(faults[0], scopes[faults[0]], also=scopes)


def check_counts(cls, body, tlvs):
    """W-27: the bounds on a content and on a client's message, which precede all fields (W-8)."""
    if Tag.CONTENT not in cls.table() or len(body) < 6 * MAX_CONTENT_TLVS:
        return
    contents = [value for tag, value in tlvs if tag == Tag.CONTENT]
    relayed = cls is not Data or any(tag in OF_RELAY for tag, _ in tlvs)
    if any(count(content) > MAX_CONTENT_TLVS for content in contents) or (
        not relayed and count(body) > MAX_CLIENT_DATA_TLVS
    ):
        raise WireError(ErrorCode.TOO_MANY_TLVS, Scope.CONNECTION)


def is_of_a_field(code):
    return code >= ErrorCode.INVALID_VALUE


def scope_of(cls, code, tlvs, sender):
    """The scope of a fault (W-72). It is larger if the message or request cannot be identified (relay.md R-24,
    session.md S-58). A client processes an invalid message that a relay has accepted as a gap (R-32)."""
    if not is_of_a_field(code) or cls.named_by is None:
        return Scope.CONNECTION
    if cls is Data and sender == SERVER:
        return Scope.MESSAGE
    value = next((value for found, value in tlvs if found == cls.named_by), b"")
    try:
        KINDS[cls.named_by].read(value)
    except InvalidValue:
        return Scope.SESSION if cls is Data else Scope.CONNECTION
    return Scope.MESSAGE if cls is Data else Scope.REQUEST
