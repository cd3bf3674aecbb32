"""Vectors of Specs/wire.md 13.5: every code in every frame in which registries.md 5 permits it."""

from expected.handshake import FRESH_SERVER
from expected.vector import VectorFile
from vector_bytes import t, u8, u16, u64

FROM_SERVER = {"from": "server"}
# G goaway, J reject, T reset, P refused receipt, Q response. Codes that are not sent are parsed too.
CODES = [
    (0x0000, "none", "GQ"), (0x0101, "badMagic", "G"), (0x0102, "unsupportedVersion", "G"),
    (0x0103, "frameTooLarge", "G"), (0x0104, "expectedHello", "G"), (0x0105, "handshakeTimeout", "G"),
    (0x0106, "authTimeout", "G"), (0x0107, "badChecksum", "G"), (0x0108, "unexpectedEOF", "G"),
    (0x0109, "reservedBits", "G"), (0x010A, "unknownCritical", "G"), (0x010B, "malformedTLV", "G"),
    (0x010C, "tlvTooDeep", "G"), (0x010D, "tooManyTLVs", "G"), (0x010E, "inflateLimit", "G"),
    (0x010F, "inflateFailed", "G"), (0x0110, "compressionNotAllowed", "G"), (0x0111, "controlFlood", "G"),
    (0x0112, "churnLimit", "G"), (0x0113, "ackUnsent", "G"), (0x0114, "ackTimeout", "G"),
    (0x0115, "slowConsumer", "GT"), (0x0116, "outOfWindow", "G"), (0x0117, "staleEpoch", "G"),
    (0x0118, "frameTimeout", "G"), (0x0119, "unknownFlood", "G"), (0x011A, "protocolViolation", "G"),
    (0x011B, "invalidHello", "J"), (0x011C, "idleTimeout", "G"), (0x0201, "unauthenticated", "GJ"),
    (0x0202, "forbidden", "JGTPQ"), (0x0203, "resumeRejected", "J"), (0x0204, "revoked", "GJ"),
    (0x0205, "replaced", "G"), (0x0206, "tlsFailure", "GT"), (0x0207, "tooManyLinks", "J"),
    (0x0208, "draining", "GJ"), (0x0209, "serverBusy", "JGTQ"), (0x020A, "redirected", "JG"),
    (0x0301, "sessionInUse", "GT"), (0x0302, "unknownSession", "T"), (0x0303, "tooManySessions", "T"),
    (0x0304, "roomForbidden", "T"), (0x0305, "roomFull", "T"), (0x0306, "alreadyOpen", "T"),
    (0x0307, "creditExceeded", "G"), (0x0308, "messageTooLarge", "TPQ"), (0x0309, "unsupportedKind", "T"),
    (0x030A, "closedByPeer", "GT"), (0x030B, "kicked", "T"), (0x030C, "tooManyRooms", "T"),
    (0x0401, "invalidValue", "GTPQ"), (0x0402, "missingField", "GTPQ"),
    (0x0403, "duplicateField", "GTPQ"), (0x0404, "storeUnavailable", "TQ"), (0x0405, "refused", "PQT"),
    (0x0406, "expired", "GT"), (0x0407, "cancelled", "T"), (0x0408, "deadlineExceeded", "Q"),
    (0x0409, "unknownMethod", "Q"), (0x040A, "noRecipient", "Q"), (0x040B, "tooManyRequests", "Q"),
    (0x040C, "rateLimited", "PQ"), (0x040D, "counterTooOld", "P"), (0x040E, "counterReused", "P"),
    (0x0500, "unknownAttachment", "Q"),
    (0x0501, "attachmentTooLarge", "Q"), (0x0502, "attachmentQuota", "Q"), (0x0503, "attachmentsFull", "Q"),
    (0x0504, "wrongPosition", "Q"), (0x0505, "digestMismatch", "Q"),
    (0x0508, "tooManyMemberships", "Q"), (0x0509, "notJoined", "Q"), (0xF000, "an application's first", "PQTJG"),
    (0xFFFF, "an application's last", "G"),
    (0x7FFF, "a code that nobody knows", "GJTPQ"),
]


def frame_with(letter, code):
    """The type, body, value and circumstances of a frame with a code."""
    tlv = t(0x01, u16(code))
    if letter == "G":
        return 0x4004, tlv, {"code": code}, FROM_SERVER
    if letter == "J":
        return 0x4003, tlv, {"code": code}, FRESH_SERVER
    if letter == "T":
        return 0x5004, [t(0x57, u16(1)), tlv], {"session": 1, "code": code}, FROM_SERVER
    if letter == "P":
        return (0x2002, [t(0x61, u8(3)), t(0x40, u64(7)), tlv], {"receiptKind": 3, "counter": "7", "code": code},
                FROM_SERVER)
    return 0x6002, [t(0x70, u64(3)), t(0x74, u16(code))], {"correlation": "3", "status": code}, FROM_SERVER


def make():
    file = VectorFile("codes", "Every error code in every frame that may contain it (wire.md 13.5, registries.md 5).")
    names = {"G": "goaway", "J": "reject", "T": "reset", "P": "receipt", "Q": "response"}
    for code, name, letters in CODES:
        for letter in letters:
            kind, body, value, given = frame_with(letter, code)
            file.good(f"{names[letter]}: {name}", "W-72", kind, body, value, given)
    return [file]
