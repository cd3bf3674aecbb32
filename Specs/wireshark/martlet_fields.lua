-- The filter names of all fields, and the expert information.

local registry = require("martlet_registry")
local fields = {}

local codes, typeNames, kindNames, flag = registry.codes, registry.types, registry.kinds, registry.flag
local priorities = { [0] = "urgent", "high", "normal", "low" }
local compressions = { [0] = "none", "zlib", "sharedDeflate" }
local f = {
    magic = ProtoField.uint32("martlet.magic", "Magic", base.HEX),
    version = ProtoField.uint16("martlet.version", "Version", base.HEX),
    major = ProtoField.uint8("martlet.version.major", "Major"),
    minor = ProtoField.uint8("martlet.version.minor", "Minor"),
    type = ProtoField.uint16("martlet.type", "Type", base.HEX, typeNames),
    seq = ProtoField.uint32("martlet.seq", "Sequence"),
    whole = ProtoField.double("martlet.seq.whole", "Whole sequence"),
    timestamp = ProtoField.uint32("martlet.timestamp", "Timestamp, ms since the link began"),
    flags = ProtoField.uint8("martlet.flags", "Flags", base.HEX),
    reliable = ProtoField.bool("martlet.flags.reliable", "Reliable", 8, nil, flag.reliable),
    more = ProtoField.bool("martlet.flags.moreFragments", "More fragments", 8, nil, flag.moreFragments),
    ackNow = ProtoField.bool("martlet.flags.ackNow", "Ack now", 8, nil, flag.ackNow),
    checksummed = ProtoField.bool("martlet.flags.checksummed", "Checksummed", 8, nil, flag.checksummed),
    priority = ProtoField.uint8("martlet.flags.priority", "Priority", base.DEC, priorities, flag.priority),
    reserved = ProtoField.uint8("martlet.flags.reserved", "Reserved", base.HEX, nil, flag.reserved),
    compression = ProtoField.uint8("martlet.compression", "Compression", base.DEC, compressions),
    session = ProtoField.uint16("martlet.session", "Session"),
    length = ProtoField.uint32("martlet.length", "Body length"),
    checksum = ProtoField.uint32("martlet.checksum", "Checksum", base.HEX),
    checksumStatus = ProtoField.uint8(
        "martlet.checksum.status", "Checksum status", base.DEC, { [0] = "bad", "good", "not checked" }),
    body = ProtoField.bytes("martlet.body", "Body"),
    from = ProtoField.string("martlet.from", "From"),
    link = ProtoField.string("martlet.link", "Link"),
    room = ProtoField.string("martlet.room", "Room"),
    error = ProtoField.uint16("martlet.error", "Malformed", base.HEX, codes),
    errorAt = ProtoField.uint32("martlet.error.at", "Malformed at byte of the body"),
    refused = ProtoField.uint16("martlet.refused", "Refused", base.HEX, codes),
    again = ProtoField.bool("martlet.again", "Sequence was there before"),
    missing = ProtoField.uint32("martlet.missing", "Sequences before it not seen"),
    part = ProtoField.uint32("martlet.fragment", "Fragment"),
    wholeIn = ProtoField.framenum("martlet.reassembled.in", "Whole message in", base.NONE, frametype.NONE),
    fragmentIn = ProtoField.framenum("martlet.fragment.in", "Fragment in", base.NONE, frametype.NONE),
    fragments = ProtoField.uint32("martlet.fragments", "Fragments"),
    packetDeflated = ProtoField.bool("martlet.packet.deflated", "Deflated"),
    packetLength = ProtoField.uint16("martlet.packet.length", "Payload length"),
    packetPayload = ProtoField.bytes("martlet.packet.payload", "Payload"),
    packetInflated = ProtoField.uint16("martlet.packet.inflated", "Inflated length"),
    packetChecksum = ProtoField.uint32("martlet.packet.checksum", "Checksum", base.HEX),
    packetChecksumStatus = ProtoField.uint8(
        "martlet.packet.checksum.status", "Checksum status", base.DEC, { [0] = "bad", "good", "not checked" }),
    packetFrames = ProtoField.uint16("martlet.packet.frames", "Frames"),
    packetEnds = ProtoField.bool("martlet.packet.ends", "The deflate stream ends"),
    compact = ProtoField.none("martlet.compact", "Compact frame"),
    compactHasLength = ProtoField.bool("martlet.compact.hasLength", "Body's length follows", 8, nil, 0x80),
    compactHasFields = ProtoField.bool("martlet.compact.hasFields", "Byte of fields follows", 8, nil, 0x40),
    compactForm = ProtoField.uint8("martlet.compact.form", "Form", base.HEX, registry.forms, 0x3F),
    compactFields = ProtoField.uint8("martlet.compact.fields", "Fields", base.HEX),
    compactSession = ProtoField.bool("martlet.compact.fields.session", "Session", 8, nil, 0x01),
    compactSequence = ProtoField.bool("martlet.compact.fields.sequence", "Sequence", 8, nil, 0x02),
    compactTimestamp = ProtoField.bool("martlet.compact.fields.timestamp", "Timestamp", 8, nil, 0x04),
    compactFlags = ProtoField.bool("martlet.compact.fields.flags", "Flags", 8, nil, 0x08),
    compactType = ProtoField.bool("martlet.compact.fields.type", "Type", 8, nil, 0x10),
    compactCompression = ProtoField.bool("martlet.compact.fields.compression", "Compression", 8, nil, 0x20),
    compactBody = ProtoField.bytes("martlet.compact.body", "Body"),
    tag = ProtoField.uint16("martlet.tlv.tag", "Tag", base.HEX, registry.tags),
    tagLength = ProtoField.uint32("martlet.tlv.length", "Length"),
    unknown = ProtoField.bytes("martlet.tlv.value", "Value"),
}

-- A field for each tag. A value of several integers also has a field for each of them.
local makers = {
    u8 = ProtoField.uint8, u16 = ProtoField.uint16, u32 = ProtoField.uint32, u64 = ProtoField.uint64,
    text = ProtoField.string, name = ProtoField.string, bytes = ProtoField.bytes, integers = ProtoField.bytes,
    container = ProtoField.bytes,
}
local isNumber = { u8 = true, u16 = true, u32 = true, u64 = true }
local hexadecimal = { version = true, features = true, identifier = true, code = true, contentKind = true }
local choices = { code = codes, contentKind = kindNames }
local tagFields, parts = {}, { range = { { "first", 8 }, { "last", 8 } } }
for number, name in pairs(registry.tags) do
    local value, filter = registry.values[name], "martlet.tlv." .. name
    local make = makers[value.type]
    tagFields[number] = isNumber[value.type]
        and make(filter, name, hexadecimal[value.shown] and base.HEX or base.DEC, value.choices or choices[value.shown])
        or make(filter, name)
    f["tag " .. name] = tagFields[number]
    parts[name] = value.parts
end
local partFields = {}
for name, list in pairs(parts) do
    local prefix = "martlet.tlv." .. (name == "range" and "sessionAck.range" or name) .. "."
    for i, part in ipairs(list) do
        local make = part[2] == 2 and ProtoField.uint16 or part[2] == 4 and ProtoField.uint32 or ProtoField.uint64
        partFields[name .. i] = make(prefix .. part[1], part[1])
        f["part " .. name .. i] = partFields[name .. i]
    end
end
local featureFields = {}
for bit, name in pairs(registry.features) do
    featureFields[bit] = ProtoField.bool("martlet.feature." .. name, name)
    f["feature " .. name] = featureFields[bit]
end
fields.all = f

-- Expert information: one item for each code that bytes can cause, and a few notes.

local raised = [[badMagic unsupportedVersion frameTooLarge expectedHello badChecksum reservedBits unknownCritical
    malformedTLV tlvTooDeep tooManyTLVs inflateLimit inflateFailed compressionNotAllowed protocolViolation invalidHello
    messageTooLarge invalidValue missingField duplicateField]]
local experts, refusals, allExperts = {}, {}, {}
local function expert(name, text, group, severity)
    local made = ProtoExpert.new("martlet.expert." .. name, text, group, severity)
    allExperts[name] = made
    return made
end
for name in raised:gmatch("%S+") do
    experts[name] = expert(
        name, "Malformed: " .. name .. "; the rest of this direction cannot be parsed", PI_MALFORMED, PI_ERROR)
    refusals[name] = expert("refused." .. name, "Refused: " .. name, PI_PROTOCOL, PI_WARN)
end
local remarks = {
    checksum = expert("checksum", "The checksum differs", PI_CHECKSUM, PI_ERROR),
    unknown = expert("unknown", "An unknown type", PI_UNDECODED, PI_NOTE),
    unknownTag = expert("unknownTag", "An unknown tag", PI_UNDECODED, PI_CHAT),
    again = expert("again", "Duplicate: the sequence was received before", PI_SEQUENCE, PI_NOTE),
    missing = expert("missing", "Previous sequences are missing", PI_SEQUENCE, PI_NOTE),
    dead = expert("dead", "Not parsed: this direction was malformed before", PI_UNDECODED, PI_WARN),
    inside = expert("inside", "Not parsed: the capture begins within this direction", PI_UNDECODED, PI_NOTE),
    beginning = expert(
        "beginning", "Not parsed: the capture does not contain the context of these frames", PI_UNDECODED, PI_NOTE),
    dictionary = expert(
        "dictionary", "Not parsed: the deflate stream needs chat.dict beside the plugin", PI_UNDECODED, PI_WARN),
    errorCode = expert("errorCode", "An error code", PI_RESPONSE_CODE, PI_NOTE),
}
fields.experts = allExperts
fields.malformed, fields.refused, fields.remarks = experts, refusals, remarks
fields.tags, fields.parts, fields.layouts, fields.features = tagFields, partFields, parts, featureFields

return fields
