# Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.
"""The registries of Specs/wire.md 13, and the flags and forms of 3.7 and 15.5."""

from enum import IntFlag

from martlet_basics import Named, Rule, Sessions, Value

CLIENT, SERVER = "client", "server"
BOTH = (CLIENT, SERVER)


class FrameType(Named):
    """13.1"""

    DATA = 0x1000, "data"
    TRANSIENT = 0x1001, "transient"
    ACK = 0x2001, "ack"
    RECEIPT = 0x2002, "receipt"
    ACCEPTED = 0x2003, "accepted"
    GAP = 0x2004, "gap"
    PING = 0x3001, "ping"
    PONG = 0x3002, "pong"
    HELLO = 0x4001, "hello"
    WELCOME = 0x4002, "welcome"
    REJECT = 0x4003, "reject"
    GOAWAY = 0x4004, "goaway"
    AUTH = 0x4005, "auth"
    OPEN = 0x5001, "open"
    OPENED = 0x5002, "opened"
    CLOSE = 0x5003, "close"
    RESET = 0x5004, "reset"
    SUSPEND = 0x5005, "suspend"
    RESUME = 0x5006, "resume"
    UPDATE = 0x5007, "update"
    REQUEST = 0x6001, "request"
    RESPONSE = 0x6002, "response"
    CANCEL = 0x6003, "cancel"


class Tag(Named):
    """13.2"""

    CODE = 0x0001, "code"
    REASON = 0x0002, "reason"
    RETRY_AFTER = 0x0003, "retryAfter"
    REDIRECT = 0x0004, "redirect"
    SPOKEN_VERSION = 0x0005, "spokenVersion"
    FEATURES = 0x0010, "features"
    DEVICE = 0x0011, "device"
    ACCOUNT = 0x0012, "account"
    CREDENTIAL = 0x0013, "credential"
    AGENT = 0x0014, "agent"
    LINK = 0x0015, "link"
    RESUME_TOKEN = 0x0016, "resumeToken"
    SESSION_POSITION = 0x0017, "sessionPosition"
    EPOCH = 0x0018, "epoch"
    RESUME_LIFETIME = 0x0019, "resumeLifetime"
    HEARTBEAT_INTERVAL = 0x001A, "heartbeatInterval"
    CREDENTIAL_LIFETIME = 0x001B, "credentialLifetime"
    MECHANISM = 0x001C, "mechanism"
    MAX_BODY = 0x0020, "maxBody"
    MAX_MESSAGE = 0x0021, "maxMessage"
    LINK_WINDOW = 0x0022, "linkWindow"
    SESSION_WINDOW = 0x0023, "sessionWindow"
    MAX_SESSIONS = 0x0024, "maxSessions"
    ECHO = 0x0030, "echo"
    LINK_CREDIT = 0x0031, "linkCredit"
    SESSION_ACK = 0x0032, "sessionAck"
    NONCE = 0x0033, "nonce"
    CREDIT_USED = 0x0034, "creditUsed"
    COUNTER = 0x0040, "counter"
    KIND = 0x0041, "kind"
    TIME_TO_LIVE = 0x0043, "timeToLive"
    OFFSET = 0x0048, "offset"
    ACCEPTED_AT = 0x0049, "acceptedAt"
    SENDER = 0x004A, "sender"
    ROOM = 0x0050, "room"
    SESSION_KIND = 0x0051, "sessionKind"
    CURSOR = 0x0052, "cursor"
    HEAD = 0x0053, "head"
    FIRST = 0x0054, "first"
    MEMBER = 0x0055, "member"
    TAIL = 0x0056, "tail"
    SESSION = 0x0057, "session"
    NO_LOCAL = 0x0058, "noLocal"
    LOG = 0x0059, "log"
    ROLE = 0x005A, "role"
    ACCESS = 0x005B, "access"
    DURATION = 0x005C, "duration"
    STANDING = 0x005D, "standing"
    BEFORE = 0x005E, "before"
    LIMIT = 0x005F, "limit"
    ACCEPTED_RUN = 0x0060, "acceptedRun"
    RECEIPT_KIND = 0x0061, "receiptKind"
    UP_TO = 0x0062, "upTo"
    MESSAGE = 0x0063, "message"
    MAX_AGE = 0x0064, "maxAge"
    MAX_COUNT = 0x0065, "maxCount"
    MAX_BYTE_COUNT = 0x0066, "maxByteCount"
    CORRELATION = 0x0070, "correlation"
    METHOD = 0x0071, "method"
    DEADLINE = 0x0072, "deadline"
    RECIPIENT = 0x0073, "recipient"
    STATUS = 0x0074, "status"
    PRESENCE = 0x0080, "presence"
    TYPING = 0x0081, "typing"
    POSITION = 0x0090, "position"
    LENGTH = 0x0091, "length"
    ENTRY = 0x00A0, "entry"
    MEMBERSHIP = 0x00A1, "membership"
    INVITER = 0x00A2, "inviter"
    CHANGED_AT = 0x00A3, "changedAt"
    READ_UP_TO = 0x00A4, "readUpTo"
    DELIVERED_UP_TO = 0x00A5, "deliveredUpTo"
    UNREAD = 0x00A6, "unread"
    SHORTENED = 0x00A7, "shortened"
    HAS_MORE = 0x00A8, "hasMore"
    RECONNECT_SPREAD = 0x00B0, "reconnectSpread"
    ITEM = 0x00D0, "item"
    NEXT = 0x00D1, "next"
    COUNT = 0x00D2, "count"
    ADDRESS = 0x00D3, "address"
    SINCE = 0x00D4, "since"
    ROUND_TRIP = 0x00D5, "roundTrip"
    QUEUED_BYTE_COUNT = 0x00D6, "queuedByteCount"
    LINK_COUNT = 0x00D7, "linkCount"
    CONNECTION_COUNT = 0x00D8, "connectionCount"
    SESSION_COUNT = 0x00D9, "sessionCount"
    MEMBER_COUNT = 0x00DA, "memberCount"
    ROOM_COUNT = 0x00DB, "roomCount"
    ROLE_COUNT = 0x00DC, "roleCount"
    MESSAGE_COUNT = 0x00DD, "messageCount"
    MEMORY_BYTE_COUNT = 0x00DE, "memoryByteCount"
    NEXT_ROOM = 0x00DF, "nextRoom"
    RELAY = 0x00E0, "relay"
    DRAINING = 0x00E1, "draining"
    RELAY_CLOCK = 0x00E2, "relayClock"
    LAST_HEARD_AT = 0x00E3, "lastHeardAt"
    LIMITS = 0x0101, "limits"
    RESUME = 0x0102, "resume"
    CONTENT = 0x0142, "content"
    ARRAY = 0x0160, "array"
    OBJECT = 0x0161, "object"
    DETAIL = 0x0162, "detail"
    TEXT = 0x0201, "text"
    DATA = 0x0202, "data"
    NAME = 0x0203, "name"
    MEDIA_TYPE = 0x0204, "mediaType"
    CHUNK = 0x0205, "chunk"
    TARGET = 0x0206, "target"
    REACTION = 0x0207, "reaction"
    REMOVED = 0x0208, "removed"
    EVENT = 0x0209, "event"
    BYTE_COUNT = 0x020A, "byteCount"
    LOCATION = 0x020B, "location"
    DIGEST = 0x020C, "digest"
    THUMBNAIL = 0x020D, "thumbnail"
    NULL = 0x0210, "null"
    BOOL = 0x0211, "bool"
    INTEGER = 0x0212, "integer"
    UNSIGNED = 0x0213, "unsigned"
    DOUBLE = 0x0214, "double"
    KEY = 0x0215, "key"
    CARD = 0x0220, "card"
    CARD_STATUS = 0x0221, "cardStatus"
    STATUS_TIME = 0x0222, "statusTime"
    URL = 0x0223, "url"


class ContentKind(Named):
    """13.3"""

    TEXT = 0x1001, "text"
    IMAGE = 0x1002, "image"
    FILE = 0x1003, "file"
    AUDIO = 0x1004, "audio"
    VIDEO = 0x1005, "video"
    LOCATION = 0x1006, "location"
    CONTACT = 0x1007, "contact"
    COMMAND = 0x1008, "command"
    EDIT = 0x1009, "edit"
    DELETE = 0x100A, "delete"
    REACTION = 0x100B, "reaction"
    REPLY = 0x100C, "reply"
    SYSTEM = 0x100D, "system"
    ATTACHMENT = 0x100E, "attachment"
    ERASED = 0x100F, "erased"
    CARD = 0x1010, "card"
    ACK = 0x2001, "ack"
    HEARTBEAT = 0x3001, "heartbeat"


class ErrorCode(Named):
    """13.5"""

    NONE = 0x0000, "none"
    BAD_MAGIC = 0x0101, "badMagic"
    UNSUPPORTED_VERSION = 0x0102, "unsupportedVersion"
    FRAME_TOO_LARGE = 0x0103, "frameTooLarge"
    EXPECTED_HELLO = 0x0104, "expectedHello"
    HANDSHAKE_TIMEOUT = 0x0105, "handshakeTimeout"
    AUTH_TIMEOUT = 0x0106, "authTimeout"
    BAD_CHECKSUM = 0x0107, "badChecksum"
    UNEXPECTED_EOF = 0x0108, "unexpectedEOF"
    RESERVED_BITS = 0x0109, "reservedBits"
    UNKNOWN_CRITICAL = 0x010A, "unknownCritical"
    MALFORMED_TLV = 0x010B, "malformedTLV"
    TLV_TOO_DEEP = 0x010C, "tlvTooDeep"
    TOO_MANY_TLVS = 0x010D, "tooManyTLVs"
    INFLATE_LIMIT = 0x010E, "inflateLimit"
    INFLATE_FAILED = 0x010F, "inflateFailed"
    COMPRESSION_NOT_ALLOWED = 0x0110, "compressionNotAllowed"
    CONTROL_FLOOD = 0x0111, "controlFlood"
    CHURN_LIMIT = 0x0112, "churnLimit"
    ACK_UNSENT = 0x0113, "ackUnsent"
    ACK_TIMEOUT = 0x0114, "ackTimeout"
    SLOW_CONSUMER = 0x0115, "slowConsumer"
    OUT_OF_WINDOW = 0x0116, "outOfWindow"
    STALE_EPOCH = 0x0117, "staleEpoch"
    FRAME_TIMEOUT = 0x0118, "frameTimeout"
    UNKNOWN_FLOOD = 0x0119, "unknownFlood"
    PROTOCOL_VIOLATION = 0x011A, "protocolViolation"
    INVALID_HELLO = 0x011B, "invalidHello"
    IDLE_TIMEOUT = 0x011C, "idleTimeout"
    UNAUTHENTICATED = 0x0201, "unauthenticated"
    FORBIDDEN = 0x0202, "forbidden"
    RESUME_REJECTED = 0x0203, "resumeRejected"
    REVOKED = 0x0204, "revoked"
    REPLACED = 0x0205, "replaced"
    TLS_FAILURE = 0x0206, "tlsFailure"
    TOO_MANY_LINKS = 0x0207, "tooManyLinks"
    DRAINING = 0x0208, "draining"
    SERVER_BUSY = 0x0209, "serverBusy"
    REDIRECTED = 0x020A, "redirected"
    SESSION_IN_USE = 0x0301, "sessionInUse"
    UNKNOWN_SESSION = 0x0302, "unknownSession"
    TOO_MANY_SESSIONS = 0x0303, "tooManySessions"
    ROOM_FORBIDDEN = 0x0304, "roomForbidden"
    ROOM_FULL = 0x0305, "roomFull"
    ALREADY_OPEN = 0x0306, "alreadyOpen"
    CREDIT_EXCEEDED = 0x0307, "creditExceeded"
    MESSAGE_TOO_LARGE = 0x0308, "messageTooLarge"
    UNSUPPORTED_KIND = 0x0309, "unsupportedKind"
    CLOSED_BY_PEER = 0x030A, "closedByPeer"
    KICKED = 0x030B, "kicked"
    TOO_MANY_ROOMS = 0x030C, "tooManyRooms"
    INVALID_VALUE = 0x0401, "invalidValue"
    MISSING_FIELD = 0x0402, "missingField"
    DUPLICATE_FIELD = 0x0403, "duplicateField"
    STORE_UNAVAILABLE = 0x0404, "storeUnavailable"
    REFUSED = 0x0405, "refused"
    EXPIRED = 0x0406, "expired"
    CANCELLED = 0x0407, "cancelled"
    DEADLINE_EXCEEDED = 0x0408, "deadlineExceeded"
    UNKNOWN_METHOD = 0x0409, "unknownMethod"
    NO_RECIPIENT = 0x040A, "noRecipient"
    TOO_MANY_REQUESTS = 0x040B, "tooManyRequests"
    RATE_LIMITED = 0x040C, "rateLimited"
    COUNTER_TOO_OLD = 0x040D, "counterTooOld"
    COUNTER_REUSED = 0x040E, "counterReused"
    UNKNOWN_ATTACHMENT = 0x0500, "unknownAttachment"
    ATTACHMENT_TOO_LARGE = 0x0501, "attachmentTooLarge"
    ATTACHMENT_QUOTA = 0x0502, "attachmentQuota"
    ATTACHMENTS_FULL = 0x0503, "attachmentsFull"
    WRONG_POSITION = 0x0504, "wrongPosition"
    DIGEST_MISMATCH = 0x0505, "digestMismatch"
    TOO_MANY_MEMBERSHIPS = 0x0508, "tooManyMemberships"
    NOT_JOINED = 0x0509, "notJoined"


class Features(IntFlag):
    """13.4"""

    ZLIB = 1 << 0
    REQUESTS = 1 << 1
    RECEIPTS = 1 << 2
    PRESENCE = 1 << 3
    COMPACT = 1 << 4
    SHARED_DEFLATE = 1 << 5
    ATTACHMENTS = 1 << 6
    ACCOUNT_SESSION = 1 << 7


class Flags:
    """3.7, as plain numbers, because every frame is tested for them."""

    RELIABLE = 0x01
    MORE_FRAGMENTS = 0x02
    ACK_NOW = 0x04
    CHECKSUMMED = 0x08
    PRIORITY = 0x30
    RESERVED = 0xC0


class Form:
    """15.5, except the forms of types."""

    ANNOUNCED_TYPE = 0x00
    TEXT = 0x20
    DELIVERY = 0x21
    TEXT_AT = 0x22
    TEXT16 = 0x23
    ACCEPTED_NEXT = 0x24
    ACCEPTED = 0x25
    ACK_NEXT = 0x26
    ACK = 0x27


# 13.4, by name.
FEATURES = {
    "zlib": Features.ZLIB,
    "requests": Features.REQUESTS,
    "receipts": Features.RECEIPTS,
    "presence": Features.PRESENCE,
    "compact": Features.COMPACT,
    "sharedDeflate": Features.SHARED_DEFLATE,
    "attachments": Features.ATTACHMENTS,
    "accountSession": Features.ACCOUNT_SESSION,
}

# 13.1's columns.
RULES = {
    FrameType.DATA: Rule(True, Sessions.OWN, BOTH, allows_fragments=True),
    FrameType.TRANSIENT: Rule(False, Sessions.OWN, BOTH),
    FrameType.ACK: Rule(False, Sessions.LINK, BOTH),
    FrameType.RECEIPT: Rule(True, Sessions.OWN, BOTH),
    FrameType.ACCEPTED: Rule(True, Sessions.OWN, (SERVER,)),
    FrameType.GAP: Rule(True, Sessions.OWN, (SERVER,)),
    FrameType.PING: Rule(False, Sessions.LINK, BOTH),
    FrameType.PONG: Rule(False, Sessions.LINK, BOTH),
    FrameType.HELLO: Rule(False, Sessions.LINK, (CLIENT,), is_handshake=True),
    FrameType.WELCOME: Rule(False, Sessions.LINK, (SERVER,), is_handshake=True),
    FrameType.REJECT: Rule(False, Sessions.LINK, (SERVER,), is_handshake=True),
    FrameType.GOAWAY: Rule(False, Sessions.LINK, BOTH),
    FrameType.AUTH: Rule(False, Sessions.LINK, BOTH, is_handshake=True),
    FrameType.OPEN: Rule(True, Sessions.OWN, BOTH),
    FrameType.OPENED: Rule(True, Sessions.OWN, BOTH, allows_fragments=True),
    FrameType.CLOSE: Rule(True, Sessions.OWN, BOTH),
    FrameType.RESET: Rule(True, Sessions.LINK, BOTH),
    FrameType.SUSPEND: Rule(True, Sessions.OWN, BOTH),
    FrameType.RESUME: Rule(True, Sessions.OWN, BOTH),
    FrameType.UPDATE: Rule(True, Sessions.OWN, (SERVER,)),
    FrameType.REQUEST: Rule(True, Sessions.ANY, BOTH, allows_fragments=True),
    FrameType.RESPONSE: Rule(True, Sessions.ANY, BOTH, allows_fragments=True),
    FrameType.CANCEL: Rule(True, Sessions.ANY, BOTH),
}

# 13.2.
VALUES = {
    Tag.CODE: Value("u16", sizes=(2,)),
    Tag.REASON: Value("text", most=256),
    Tag.RETRY_AFTER: Value("u32", sizes=(4,)),
    Tag.REDIRECT: Value("text", least=1, most=512),
    Tag.SPOKEN_VERSION: Value("u16", sizes=(2,)),
    Tag.FEATURES: Value("u64", sizes=(8,)),
    Tag.DEVICE: Value("u64", sizes=(8,)),
    Tag.ACCOUNT: Value("name", least=1, most=128),
    Tag.CREDENTIAL: Value("bytes", most=4096),
    Tag.AGENT: Value("text", most=128),
    Tag.LINK: Value("u64", sizes=(8,)),
    Tag.RESUME_TOKEN: Value("bytes", least=32, most=32),
    Tag.SESSION_POSITION: Value("integers", sizes=(2, 8)),
    Tag.EPOCH: Value("u32", sizes=(4,)),
    Tag.RESUME_LIFETIME: Value("u32", sizes=(4,)),
    Tag.HEARTBEAT_INTERVAL: Value("u32", sizes=(4,)),
    Tag.CREDENTIAL_LIFETIME: Value("u32", sizes=(4,)),
    Tag.MECHANISM: Value("name", least=1, most=32),
    Tag.MAX_BODY: Value("u32", least=17408, sizes=(4,)),
    Tag.MAX_MESSAGE: Value("u32", least=16384, sizes=(4,)),
    Tag.LINK_WINDOW: Value("u32", least=17408, sizes=(4,)),
    Tag.SESSION_WINDOW: Value("u32", least=17408, sizes=(4,)),
    Tag.MAX_SESSIONS: Value("u16", least=1, sizes=(2,)),
    Tag.ECHO: Value("integers", sizes=(4, 4)),
    Tag.LINK_CREDIT: Value("u64", sizes=(8,)),
    Tag.SESSION_ACK: Value("integers", sizes=(2, 8, 8)),
    Tag.NONCE: Value("u64", sizes=(8,)),
    Tag.CREDIT_USED: Value("u64", sizes=(8,)),
    Tag.COUNTER: Value("u64", least=1, sizes=(8,)),
    Tag.KIND: Value("u16", sizes=(2,)),
    Tag.TIME_TO_LIVE: Value("u32", sizes=(4,)),
    Tag.OFFSET: Value("u64", least=1, sizes=(8,)),
    Tag.ACCEPTED_AT: Value("u64", sizes=(8,)),
    Tag.SENDER: Value("name", least=1, most=128),
    Tag.ROOM: Value("name", least=1, most=128),
    Tag.SESSION_KIND: Value("u8", most=5, sizes=(1,)),
    Tag.CURSOR: Value("u64", sizes=(8,)),
    Tag.HEAD: Value("u64", sizes=(8,)),
    Tag.FIRST: Value("u64", sizes=(8,)),
    Tag.MEMBER: Value("name", least=1, most=128),
    Tag.TAIL: Value("u32", sizes=(4,)),
    Tag.SESSION: Value("u16", least=1, sizes=(2,)),
    Tag.NO_LOCAL: Value("u8", most=1, sizes=(1,)),
    Tag.LOG: Value("u64", sizes=(8,)),
    Tag.ROLE: Value("u8", least=1, most=4, sizes=(1,)),
    Tag.ACCESS: Value("u8", most=2, sizes=(1,)),
    Tag.DURATION: Value("u32", least=1, sizes=(4,)),
    Tag.STANDING: Value("bytes", least=11, most=138),
    Tag.BEFORE: Value("u64", sizes=(8,)),
    Tag.LIMIT: Value("u16", least=1, sizes=(2,)),
    Tag.ACCEPTED_RUN: Value("integers", sizes=(8, 4, 8)),
    Tag.RECEIPT_KIND: Value("u8", least=1, most=3, sizes=(1,)),
    Tag.UP_TO: Value("u64", sizes=(8,)),
    Tag.MESSAGE: Value("bytes"),
    Tag.MAX_AGE: Value("u64", sizes=(8,)),
    Tag.MAX_COUNT: Value("u64", sizes=(8,)),
    Tag.MAX_BYTE_COUNT: Value("u64", sizes=(8,)),
    Tag.CORRELATION: Value("u64", sizes=(8,)),
    Tag.METHOD: Value("name", least=1, most=64),
    Tag.DEADLINE: Value("u32", sizes=(4,)),
    Tag.RECIPIENT: Value("name", least=1, most=128),
    Tag.STATUS: Value("u16", sizes=(2,)),
    Tag.PRESENCE: Value("u8", most=2, sizes=(1,)),
    Tag.TYPING: Value("u8", most=1, sizes=(1,)),
    Tag.POSITION: Value("u64", sizes=(8,)),
    Tag.LENGTH: Value("u32", least=1, sizes=(4,)),
    Tag.ENTRY: Value("bytes", most=8192),
    Tag.MEMBERSHIP: Value("u8", most=2, sizes=(1,)),
    Tag.INVITER: Value("name", least=1, most=128),
    Tag.CHANGED_AT: Value("u64", sizes=(8,)),
    Tag.READ_UP_TO: Value("u64", sizes=(8,)),
    Tag.DELIVERED_UP_TO: Value("u64", sizes=(8,)),
    Tag.UNREAD: Value("u32", sizes=(4,)),
    Tag.SHORTENED: Value("u8", most=1, sizes=(1,)),
    Tag.HAS_MORE: Value("u8", most=1, sizes=(1,)),
    Tag.RECONNECT_SPREAD: Value("u32", sizes=(4,)),
    Tag.ITEM: Value("bytes"),
    Tag.NEXT: Value("u64", sizes=(8,)),
    Tag.COUNT: Value("u32", sizes=(4,)),
    Tag.ADDRESS: Value("text", most=64),
    Tag.SINCE: Value("u64", sizes=(8,)),
    Tag.ROUND_TRIP: Value("u32", sizes=(4,)),
    Tag.QUEUED_BYTE_COUNT: Value("u64", sizes=(8,)),
    Tag.LINK_COUNT: Value("u32", sizes=(4,)),
    Tag.CONNECTION_COUNT: Value("u32", sizes=(4,)),
    Tag.SESSION_COUNT: Value("u32", sizes=(4,)),
    Tag.MEMBER_COUNT: Value("u32", sizes=(4,)),
    Tag.ROOM_COUNT: Value("u32", sizes=(4,)),
    Tag.ROLE_COUNT: Value("u32", sizes=(4,)),
    Tag.MESSAGE_COUNT: Value("u64", sizes=(8,)),
    Tag.MEMORY_BYTE_COUNT: Value("u64", sizes=(8,)),
    Tag.NEXT_ROOM: Value("name", least=1, most=128),
    Tag.RELAY: Value("u64", sizes=(8,)),
    Tag.DRAINING: Value("u8", most=1, sizes=(1,)),
    Tag.RELAY_CLOCK: Value("u64", sizes=(8,)),
    Tag.LAST_HEARD_AT: Value("u64", sizes=(8,)),
    Tag.LIMITS: Value("container"),
    Tag.RESUME: Value("container"),
    Tag.CONTENT: Value("container"),
    Tag.ARRAY: Value("container"),
    Tag.OBJECT: Value("container"),
    Tag.DETAIL: Value("container"),
    Tag.TEXT: Value("text"),
    Tag.DATA: Value("bytes"),
    Tag.NAME: Value("text", most=256),
    Tag.MEDIA_TYPE: Value("text", most=128),
    Tag.CHUNK: Value("bytes"),
    Tag.TARGET: Value("bytes", least=25, most=152),
    Tag.REACTION: Value("text", least=1, most=64),
    Tag.REMOVED: Value("u8", most=1, sizes=(1,)),
    Tag.EVENT: Value("name", least=1, most=64),
    Tag.BYTE_COUNT: Value("u64", sizes=(8,)),
    Tag.LOCATION: Value("text", least=1, most=2048),
    Tag.DIGEST: Value("bytes", least=32, most=32),
    Tag.THUMBNAIL: Value("bytes", most=16384),
    Tag.NULL: Value("bytes", most=0),
    Tag.BOOL: Value("u8", most=1, sizes=(1,)),
    Tag.INTEGER: Value("u64", sizes=(8,)),
    Tag.UNSIGNED: Value("u64", sizes=(8,)),
    Tag.DOUBLE: Value("bytes", least=8, most=8),
    Tag.KEY: Value("text", most=256),
    Tag.CARD: Value("name", least=1, most=128),
    Tag.CARD_STATUS: Value("u8", most=5, sizes=(1,)),
    Tag.STATUS_TIME: Value("u64", most=253402300799999, sizes=(8,)),
    Tag.URL: Value("text", least=8, most=1024),
}

# 15.6: the tags in the order of their codes, from 1.
COMPACT_TAGS = (
    Tag.CODE, Tag.REASON, Tag.RETRY_AFTER, Tag.REDIRECT, Tag.SPOKEN_VERSION, Tag.FEATURES, Tag.DEVICE, Tag.ACCOUNT,
    Tag.CREDENTIAL, Tag.AGENT, Tag.LINK, Tag.RESUME_TOKEN, Tag.SESSION_POSITION, Tag.EPOCH, Tag.RESUME_LIFETIME,
    Tag.HEARTBEAT_INTERVAL, Tag.MAX_BODY, Tag.MAX_MESSAGE, Tag.LINK_WINDOW, Tag.SESSION_WINDOW, Tag.MAX_SESSIONS,
    Tag.ECHO, Tag.LINK_CREDIT, Tag.SESSION_ACK, Tag.NONCE, Tag.CREDIT_USED, Tag.COUNTER, Tag.KIND, Tag.TIME_TO_LIVE,
    Tag.OFFSET, Tag.ACCEPTED_AT, Tag.SENDER, Tag.ROOM, Tag.SESSION_KIND, Tag.CURSOR, Tag.HEAD, Tag.FIRST, Tag.MEMBER,
    Tag.TAIL, Tag.SESSION, Tag.NO_LOCAL, Tag.ACCEPTED_RUN, Tag.RECEIPT_KIND, Tag.UP_TO, Tag.CORRELATION, Tag.METHOD,
    Tag.DEADLINE, Tag.RECIPIENT, Tag.STATUS, Tag.PRESENCE, Tag.TYPING, Tag.LIMITS, Tag.RESUME, Tag.CONTENT, Tag.TEXT,
    Tag.DATA, Tag.NAME, Tag.MEDIA_TYPE, Tag.CHUNK,
)

# 15.5.
TYPE_OF_FORM = {
    0x01: FrameType.DATA,
    0x02: FrameType.TRANSIENT,
    0x03: FrameType.ACK,
    0x04: FrameType.RECEIPT,
    0x05: FrameType.ACCEPTED,
    0x06: FrameType.GAP,
    0x07: FrameType.PING,
    0x08: FrameType.PONG,
    0x09: FrameType.HELLO,
    0x0A: FrameType.WELCOME,
    0x0B: FrameType.REJECT,
    0x0C: FrameType.GOAWAY,
    0x0D: FrameType.OPEN,
    0x0E: FrameType.OPENED,
    0x0F: FrameType.CLOSE,
    0x10: FrameType.RESET,
    0x11: FrameType.SUSPEND,
    0x12: FrameType.RESUME,
    0x13: FrameType.REQUEST,
    0x14: FrameType.RESPONSE,
    0x15: FrameType.CANCEL,
    0x20: FrameType.DATA,
    0x21: FrameType.DATA,
    0x22: FrameType.DATA,
    0x23: FrameType.DATA,
    0x24: FrameType.ACCEPTED,
    0x25: FrameType.ACCEPTED,
    0x26: FrameType.ACK,
    0x27: FrameType.ACK,
}
