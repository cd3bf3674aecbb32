-- Frames and packets in the tree, and a summary of each for the list of packets.

local registry = require("martlet_registry")
local fields = require("martlet_fields")
local read = require("martlet_read")
local tlv = require("martlet_tlv")
local f, remarks = fields.all, fields.remarks
local show = {}

-- The protocol, which the dissector sets.
show.martlet = nil

local function addHeader(tree, range)
    tree:add(f.magic, range(0, 4))
    local version = tree:add(f.version, range(4, 2))
    version:add(f.major, range(4, 1))
    version:add(f.minor, range(5, 1))
    tree:add(f.type, range(6, 2))
    tree:add(f.seq, range(8, 4))
    tree:add(f.timestamp, range(12, 4))
    local flags = tree:add(f.flags, range(16, 1))
    for _, name in ipairs({ "reliable", "more", "ackNow", "checksummed", "priority", "reserved" }) do
        flags:add(f[name], range(16, 1))
    end
    tree:add(f.compression, range(17, 1))
    tree:add(f.session, range(18, 2))
    tree:add(f.length, range(20, 4))
    return tree:add(f.checksum, range(24, 4))
end

local function generated(tree, field, value)
    if value ~= nil then tree:add(field, value):set_generated() end
end

-- Adds the error that ends the stream.
local function addError(tree, code, at)
    tree:add(f.error, registry.code[code]):set_generated()
    generated(tree, f.errorAt, at)
    tree:add_proto_expert_info(fields.malformed[code])
end

local function hex(s)
    return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end))
end

local function addPlace(tree, record)
    generated(tree, f.from, record.sender)
    generated(tree, f.link, record.link and record.link.id and hex(record.link.id))
    generated(tree, f.room, record.session and record.session.room)
    if not record.header.reliable then return end
    generated(tree, f.whole, record.sequence)
    if record.again then
        generated(tree, f.again, true)
        tree:add_proto_expert_info(remarks.again)
    elseif (record.missing or 0) > 0 then
        generated(tree, f.missing, record.missing)
        tree:add_proto_expert_info(remarks.missing)
    end
end

-- The body in the tree: in place, inflated, or reassembled.
local function shownBody(frame, record)
    if record.fragments then return ByteArray.new(record.body, true):tvb("Joined message") end
    if record.inflated then return ByteArray.new(record.body, true):tvb("Inflated body") end
    return frame:range(read.headerSize):tvb()
end

local function addBody(tree, frame, record)
    local header = record.header
    if record.part then generated(tree, f.part, record.part) end
    if record.partial then
        generated(tree, f.wholeIn, record.wholeIn)
        if header.length > 0 then tree:add(f.body, frame:range(read.headerSize)) end
        return
    end
    if record.fragments then
        generated(tree, f.fragments, #record.fragments)
        for _, number in ipairs(record.fragments) do generated(tree, f.fragmentIn, number) end
    end
    if record.refused then
        tree:add(f.refused, registry.code[record.refused]):set_generated()
        tree:add_proto_expert_info(fields.refused[record.refused])
    end
    if not registry.types[header.type] then tree:add_proto_expert_info(remarks.unknown) end
    if header.length == 0 then return end
    local isPlain = header.compression == 0 or record.inflated
    if record.whole or record.refused and isPlain then
        tlv.add(tree, shownBody(frame, record), fields)
    else
        tree:add(f.body, frame:range(read.headerSize))
    end
end

-- The summary of a frame for the list of packets.
function show.summary(record)
    local header = record.header
    local name = registry.types[header.type] or string.format("0x%04X", header.type)
    local place = header.reliable and record.sequence and string.format("%d/%.0f", header.session, record.sequence)
        or tostring(header.session)
    local words = name .. " " .. place
    if record.error then return words .. " [" .. record.error .. "]" end
    if record.refused then return words .. " [refused: " .. record.refused .. "]" end
    if record.partial then return words .. " [fragment]" end
    local summary = record.whole and tlv.summary(name, record.body)
    return summary and words .. " " .. summary or words
end

function show.frame(tree, frame, record)
    local item = tree:add(show.martlet, frame:range(), "Martlet, " .. show.summary(record))
    local checksum = addHeader(item, frame:range(0, read.headerSize))
    local status = not record.sum and 2 or record.sum == record.header.checksum and 1 or 0
    item:add(f.checksumStatus, status):set_generated()
    if status == 0 then
        checksum:append_text(string.format(" [should be 0x%08x]", record.sum))
        checksum:add_proto_expert_info(remarks.checksum)
    end
    addPlace(item, record)
    if record.error then addError(item, record.error, record.at) end
    addBody(item, frame, record)
end

-- A direction that cannot be parsed further.
function show.rest(tree, range, remark)
    local item = tree:add(show.martlet, range, "Martlet, not read")
    item:add_proto_expert_info(remark)
end

-- A malformed header of a frame or a packet, which may be incomplete.
function show.broken(tree, range, code)
    local item = tree:add(show.martlet, range, "Martlet, malformed: " .. code)
    if range:len() >= read.headerSize and code ~= "badMagic" then
        addHeader(item, range)
    end
    addError(item, code)
end

-- Packets

local bits = {
    { 0x01, "compactSession" }, { 0x02, "compactSequence" }, { 0x04, "compactTimestamp" }, { 0x08, "compactFlags" },
    { 0x10, "compactType" }, { 0x20, "compactCompression" },
}

-- A compact frame, with the frame of §3 that it represents.
local function addCompact(tree, payload, frame)
    local item = tree:add(f.compact, payload:range(frame.from - 1, frame.to - frame.from + 1))
    item:set_text("Compact frame: " .. registry.forms[frame.form])
    local first = payload:range(frame.from - 1, 1)
    item:add(f.compactHasLength, first)
    item:add(f.compactHasFields, first)
    item:add(f.compactForm, first)
    if frame.fields then
        local range = payload:range(frame.from, 1)
        local announced = item:add(f.compactFields, range)
        for _, bit in ipairs(bits) do announced:add(f[bit[2]], range) end
    end
    if frame.to >= frame.bodyFrom then
        item:add(f.compactBody, payload:range(frame.bodyFrom - 1, frame.to - frame.bodyFrom + 1))
    end
    return item
end

local function addChecksum(item, range, record)
    local checksum = item:add(f.packetChecksum, range)
    local status = record.isRight == nil and 2 or record.isRight and 1 or 0
    item:add(f.packetChecksumStatus, status):set_generated()
    if status ~= 0 then return end
    checksum:append_text(string.format(" [should be 0x%08x]", record.sum))
    checksum:add_proto_expert_info(remarks.checksum)
end

local function title(record)
    local words = record.head.isDeflated and "deflated packet" or "packet"
    if record.error then return words .. " [" .. record.error .. "]" end
    if record.lost then return words .. " [not read]" end
    if record.ends then return words .. ", which ends the stream" end
    return words .. (#record.frames == 1 and " of 1 frame" or " of " .. #record.frames .. " frames")
end

-- A packet without its frames: its tree, and the tree of each frame by its position.
function show.packet(tree, range, record)
    local head = record.head
    local item = tree:add(show.martlet, range, "Martlet, " .. title(record))
    item:add(f.packetDeflated, range(0, 1), head.isDeflated or false)
    item:add(f.packetLength, range(0, head.size), head.length)
    if head.length > 0 then item:add(f.packetPayload, range(head.size, head.length)) end
    addChecksum(item, range(head.size + head.length), record)
    generated(item, f.packetFrames, #record.frames)
    if record.ends then generated(item, f.packetEnds, true) end
    if record.lost then item:add_proto_expert_info(remarks[record.lost]) end
    local payload = head.length > 0 and range(head.size, head.length):tvb()
    if record.inflated then
        generated(item, f.packetInflated, #record.inflated)
        payload = #record.inflated > 0 and ByteArray.new(record.inflated, true):tvb("Inflated payload")
    end
    local trees = {}
    for i, frame in ipairs(record.frames) do trees[i] = addCompact(item, payload, frame) end
    if record.error then addError(item, record.error) end
    return trees
end

-- The summary of a packet without frames.
function show.packetSummary(record)
    if record.error then return "[" .. record.error .. "]" end
    return record.lost and "packet [not read]" or record.ends and "end of deflate" or nil
end

return show
