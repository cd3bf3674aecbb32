-- The numbers of Specs/wire.md §13 with their names, and which headers each type may have. A test holds the tables to
-- the text, so a number that is new there is named here, or the test fails.

local registry = {}

-- §13.1
registry.types = {
    [0x1000] = "data",
    [0x1001] = "transient",
    [0x2001] = "ack",
    [0x2002] = "receipt",
    [0x2003] = "accepted",
    [0x2004] = "gap",
    [0x3001] = "ping",
    [0x3002] = "pong",
    [0x4001] = "hello",
    [0x4002] = "welcome",
    [0x4003] = "reject",
    [0x4004] = "goaway",
    [0x5001] = "open",
    [0x5002] = "opened",
    [0x5003] = "close",
    [0x5004] = "reset",
    [0x5005] = "suspend",
    [0x5006] = "resume",
    [0x6001] = "request",
    [0x6002] = "response",
    [0x6003] = "cancel",
}

-- §13.2
registry.tags = {
    [0x0001] = "code",
    [0x0002] = "reason",
    [0x0003] = "retryAfter",
    [0x0004] = "redirect",
    [0x0005] = "spokenVersion",
    [0x0010] = "features",
    [0x0011] = "device",
    [0x0012] = "account",
    [0x0013] = "credential",
    [0x0014] = "agent",
    [0x0015] = "link",
    [0x0016] = "resumeToken",
    [0x0017] = "sessionPosition",
    [0x0018] = "epoch",
    [0x0019] = "resumeLifetime",
    [0x001A] = "heartbeatInterval",
    [0x0020] = "maxBody",
    [0x0021] = "maxMessage",
    [0x0022] = "linkWindow",
    [0x0023] = "sessionWindow",
    [0x0024] = "maxSessions",
    [0x0030] = "echo",
    [0x0031] = "linkCredit",
    [0x0032] = "sessionAck",
    [0x0033] = "nonce",
    [0x0034] = "creditUsed",
    [0x0040] = "counter",
    [0x0041] = "kind",
    [0x0043] = "timeToLive",
    [0x0048] = "offset",
    [0x0049] = "acceptedAt",
    [0x004A] = "sender",
    [0x0050] = "room",
    [0x0051] = "sessionKind",
    [0x0052] = "cursor",
    [0x0053] = "head",
    [0x0054] = "first",
    [0x0055] = "member",
    [0x0056] = "tail",
    [0x0057] = "session",
    [0x0058] = "noLocal",
    [0x0059] = "log",
    [0x0060] = "acceptedRun",
    [0x0061] = "receiptKind",
    [0x0062] = "upTo",
    [0x0070] = "correlation",
    [0x0071] = "method",
    [0x0072] = "deadline",
    [0x0073] = "recipient",
    [0x0074] = "status",
    [0x0080] = "presence",
    [0x0081] = "typing",
    [0x0101] = "limits",
    [0x0102] = "resume",
    [0x0142] = "content",
    [0x0201] = "text",
    [0x0202] = "data",
    [0x0203] = "name",
    [0x0204] = "mediaType",
    [0x0205] = "chunk",
}

-- §13.3
registry.kinds = {
    [0x1001] = "text",
    [0x1002] = "image",
    [0x1003] = "file",
    [0x1004] = "audio",
    [0x1005] = "video",
    [0x1006] = "location",
    [0x1007] = "contact",
    [0x1008] = "command",
    [0x2001] = "ack",
    [0x3001] = "heartbeat",
}

-- §13.4
registry.features = {
    [0] = "zlib",
    [1] = "requests",
    [2] = "receipts",
    [3] = "presence",
    [4] = "compact",
    [5] = "sharedDeflate",
}

-- §13.5
registry.codes = {
    [0x0000] = "none",
    [0x0101] = "badMagic",
    [0x0102] = "unsupportedVersion",
    [0x0103] = "frameTooLarge",
    [0x0104] = "expectedHello",
    [0x0105] = "handshakeTimeout",
    [0x0106] = "authTimeout",
    [0x0107] = "badChecksum",
    [0x0108] = "unexpectedEOF",
    [0x0109] = "reservedBits",
    [0x010A] = "unknownCritical",
    [0x010B] = "malformedTLV",
    [0x010C] = "tlvTooDeep",
    [0x010D] = "tooManyTLVs",
    [0x010E] = "inflateLimit",
    [0x010F] = "inflateFailed",
    [0x0110] = "compressionNotAllowed",
    [0x0111] = "controlFlood",
    [0x0112] = "churnLimit",
    [0x0113] = "ackUnsent",
    [0x0114] = "ackTimeout",
    [0x0115] = "slowConsumer",
    [0x0116] = "outOfWindow",
    [0x0117] = "staleEpoch",
    [0x0118] = "frameTimeout",
    [0x0119] = "unknownFlood",
    [0x011A] = "protocolViolation",
    [0x011B] = "invalidHello",
    [0x011C] = "idleTimeout",
    [0x0201] = "unauthenticated",
    [0x0202] = "forbidden",
    [0x0203] = "resumeRejected",
    [0x0204] = "revoked",
    [0x0205] = "replaced",
    [0x0206] = "tlsFailure",
    [0x0207] = "tooManyLinks",
    [0x0208] = "draining",
    [0x0209] = "serverBusy",
    [0x020A] = "redirected",
    [0x0301] = "sessionInUse",
    [0x0302] = "unknownSession",
    [0x0303] = "tooManySessions",
    [0x0304] = "roomForbidden",
    [0x0305] = "roomFull",
    [0x0306] = "alreadyOpen",
    [0x0307] = "creditExceeded",
    [0x0308] = "messageTooLarge",
    [0x0309] = "unsupportedKind",
    [0x030A] = "closedByPeer",
    [0x0401] = "invalidValue",
    [0x0402] = "missingField",
    [0x0403] = "duplicateField",
    [0x0404] = "storeUnavailable",
    [0x0405] = "refused",
    [0x0406] = "expired",
    [0x0407] = "cancelled",
    [0x0408] = "deadlineExceeded",
    [0x0409] = "unknownMethod",
    [0x040A] = "noRecipient",
    [0x040B] = "tooManyRequests",
    [0x040C] = "rateLimited",
    [0x040D] = "counterTooOld",
}

-- A table turned round: numbers by name.
local function numbers(names)
    local found = {}
    for number, name in pairs(names) do found[name] = number end
    return found
end

registry.type = numbers(registry.types)
registry.tag = numbers(registry.tags)
registry.code = numbers(registry.codes)

-- §13.1's columns: whether the type is reliable; its session, "0", "one" or "any"; who sends it, nil for both.
local function rule(name, reliable, session, from)
    return { name = name, reliable = reliable, session = session, from = from }
end

registry.rules = {}
for _, row in ipairs({
    rule("data", true, "one"), rule("transient", false, "one"), rule("ack", false, "0"),
    rule("receipt", true, "one"), rule("accepted", true, "one", "server"), rule("gap", true, "one", "server"),
    rule("ping", false, "0"), rule("pong", false, "0"), rule("hello", false, "0", "client"),
    rule("welcome", false, "0", "server"), rule("reject", false, "0", "server"), rule("goaway", false, "0"),
    rule("open", true, "one"), rule("opened", true, "one"), rule("close", true, "one"), rule("reset", true, "0"),
    rule("suspend", true, "one"), rule("resume", true, "one"), rule("request", true, "any"),
    rule("response", true, "any"), rule("cancel", true, "any"),
}) do
    registry.rules[registry.type[row.name]] = row
end

-- §15.5: the types of the forms, and what the forms are called. First those of §13.1 in the table's order, which is
-- that of their numbers.
registry.typeOfForm, registry.forms = {}, { [0] = "of the announced type" }
for number in pairs(registry.types) do table.insert(registry.typeOfForm, number) end
table.sort(registry.typeOfForm)
for form, number in ipairs(registry.typeOfForm) do registry.forms[form] = registry.types[number] end
for form, row in pairs({
    [0x20] = { "data", "text, the next" }, [0x21] = { "data", "delivery" }, [0x22] = { "data", "text" },
    [0x23] = { "data", "text in UTF-16, the next" }, [0x24] = { "accepted", "accepted, the next" },
    [0x25] = { "accepted", "accepted, one run" }, [0x26] = { "ack", "ack, the next" }, [0x27] = { "ack", "ack, short" },
}) do
    registry.typeOfForm[form], registry.forms[form] = registry.type[row[1]], row[2]
end

-- Who may be cut into fragments (§3.9), whose bodies are never compressed (§3.8), what a server says before welcome.
registry.cut = { data = true, request = true, response = true, opened = true }
registry.secret = { hello = true, welcome = true, reject = true }
registry.beforeWelcome = { welcome = true, reject = true, goaway = true }

return registry
