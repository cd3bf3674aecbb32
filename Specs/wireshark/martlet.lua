-- Martlet in Wireshark and tshark: frames, fields, fragments, sessions, and what is wrong with them (Specs/wire.md).
-- README.md says how to use it. What is known of a connection comes from martlet_link.lua, while packets are read for
-- the first time; what a frame meant is kept, for it may be shown again, in any order.

local folder = debug.getinfo(1, "S").source:gsub("^@", ""):match("^(.*[/\\])") or "./"
package.path = folder .. "?.lua;" .. package.path

local registry = require("martlet_registry")
local fields = require("martlet_fields")
local body = require("martlet_body")
local link = require("martlet_link")
local sum = require("martlet_sum")

local martlet = Proto("martlet", "Martlet")
martlet.fields = fields.all
martlet.experts = fields.experts
local f, remarks = fields.all, fields.remarks

local headerSize = 28
local magic = string.char(0x8D, 0x4D, 0x52, 0x54)

local prefs = martlet.prefs
prefs.ports = Pref.range("TCP ports", "7227", "What is on these ports is Martlet, whatever it says", 65535)
prefs.checksums = Pref.bool("Check checksums", true, "Whether CRC-32 is computed")
prefs.max_body = Pref.uint("Longest body", 1048576, "In bytes, where the handshake is not in the capture")
prefs.between_messages = Pref.bool(
    "Captures begin between messages", false,
    "Where the handshake is not in the capture: whether what cannot be read is malformed, and not the end of a message")

local streamField = Field.new("tcp.stream")
local completenessField = Field.new("tcp.completeness")

-- Connections by TCP stream; what frames meant, by packet and header.
local connections, records = {}, {}

function martlet.init()
    connections, records = {}, {}
    link.reset()
end

local function address(ip, port) return tostring(ip) .. ":" .. port end

local function connectionOf(pinfo)
    local stream = streamField()
    local key = stream and stream.value
    if not key then
        -- Without a tree there are no fields: both ways of a pair of addresses are one connection.
        local ends = { address(pinfo.src, pinfo.src_port), address(pinfo.dst, pinfo.dst_port) }
        table.sort(ends)
        key = ends[1] .. " " .. ends[2]
    end
    if not connections[key] then
        local completeness = completenessField()
        local hasBeginning = completeness ~= nil and completeness.value % 2 == 1
        local limits = {
            maxBody = prefs.max_body, maxMessage = 16 * 1048576, betweenMessages = prefs.between_messages,
        }
        connections[key] = link.newConnection(hasBeginning, limits)
        connections[key].hasBeginning = hasBeginning
        connections[key].ways = {}
    end
    return connections[key]
end

-- Whether a port is one of the preference's.
local function isOurs(port)
    for first, last in tostring(prefs.ports):gmatch("(%d+)%-?(%d*)") do
        if port >= tonumber(first) and port <= tonumber(last ~= "" and last or first) then return true end
    end
    return false
end

-- Reading a frame for the first time.

-- Checks of the header in their order (W-6), as far as its bytes are there.
local function checkHeader(s, connection, sender, isFirst)
    for i = 1, math.min(#s, 4) do
        if s:byte(i) ~= magic:byte(i) then return "badMagic" end
    end
    if #s >= 5 and s:byte(5) ~= 1 then return "unsupportedVersion" end
    if #s >= 17 and s:byte(17) >= 0x40 then return "reservedBits" end
    if #s < 24 then return nil end
    if body.u32(s, 21) > connection.maxBody then return "frameTooLarge" end
    if s:byte(18) > 1 then return "compressionNotAllowed" end
    if isFirst and sender == "client" and connection.phase == "handshake" and body.u16(s, 7) ~= registry.type.hello then
        return "expectedHello"
    end
end

local function parseHeader(s)
    local flags = s:byte(17)
    return {
        type = body.u16(s, 7), sequence = body.u32(s, 9), flags = flags, reliable = flags % 2 == 1,
        more = math.floor(flags / 2) % 2 == 1, checksummed = math.floor(flags / 8) % 2 == 1, compression = s:byte(18),
        session = body.u16(s, 19), length = body.u32(s, 21), checksum = body.u32(s, 25),
    }
end

local function uncompressed(range)
    local done, plain = pcall(function() return range:uncompress("Inflated body") end)
    return done and plain and plain:raw() or nil
end

-- The bytes of a compressed body, or the code's name (W-19).
--
-- Wireshark inflates what it can and says nothing of the end. So the body must end with the sum of what came out, and
-- must no longer come to that when its last byte is another: else its stream ended before.
local function inflate(range, limit)
    local raw = range:raw()
    local bytes = uncompressed(range)
    if not bytes then return nil, "inflateFailed" end
    if #bytes > limit then return nil, "inflateLimit" end
    if #raw < 6 or sum.adler32(bytes) ~= body.u32(raw, #raw - 3) then return nil, "inflateFailed" end
    local other = raw:sub(1, -2) .. string.char((raw:byte(-1) + 1) % 256)
    if uncompressed(ByteArray.new(other, true):tvb("Another end"):range()) == bytes then return nil, "inflateFailed" end
    return bytes
end

-- Reads a whole frame: what it meant, and, in `error`, what ends the stream.
local function read(frame, connection, way, pinfo)
    local raw = frame:raw()
    local header = parseHeader(raw)
    local source, destination = address(pinfo.src, pinfo.src_port), address(pinfo.dst, pinfo.dst_port)
    link.recognize(connection, header.type, source, destination)
    local sender = link.sender(connection, source)
    local record = { number = pinfo.number, header = header, sender = sender, connection = connection }
    if prefs.checksums then
        record.sum = sum.crc32(raw:sub(1, 24), sum.crc32(raw:sub(headerSize + 1)))
        if not header.checksummed or record.sum ~= header.checksum then record.error = "badChecksum" end
    end
    record.error = record.error or link.check(connection, header, sender, way.count == 0 and connection.hasBeginning)
    if record.error then return record end
    record.body = raw:sub(headerSize + 1)
    if header.compression == 1 and registry.types[header.type] then
        record.body, record.error = inflate(frame:range(headerSize), connection.maxBody)
        if record.error then return record end
        record.inflated = true
    end
    local key = sender or (way.index == 1 and "client" or "server")
    record.error, record.at = link.read(connection, header, sender, key, record)
    return record
end

-- Showing it.

local tlv = require("martlet_tlv")

local function addHeader(tree, range, header)
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

-- Marks what ends the stream.
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

-- The body as the tree shows it: where it lies, inflated, or joined.
local function shownBody(frame, record)
    if record.fragments then return ByteArray.new(record.body, true):tvb("Joined message") end
    if record.inflated then return ByteArray.new(record.body, true):tvb("Inflated body") end
    return frame:range(headerSize):tvb()
end

local function addBody(tree, frame, record)
    local header = record.header
    if record.part then generated(tree, f.part, record.part) end
    if record.partial then
        generated(tree, f.wholeIn, record.wholeIn)
        if header.length > 0 then tree:add(f.body, frame:range(headerSize)) end
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
    if record.whole or record.refused then
        tlv.add(tree, shownBody(frame, record), fields)
    else
        tree:add(f.body, frame:range(headerSize))
    end
end

-- A few words on a frame, for the list of packets.
local function summary(record)
    local header = record.header
    local name = registry.types[header.type] or string.format("0x%04X", header.type)
    local place = header.reliable and record.sequence and string.format("%d/%.0f", header.session, record.sequence)
        or tostring(header.session)
    local words = name .. " " .. place
    if record.error then return words .. " [" .. record.error .. "]" end
    if record.refused then return words .. " [refused: " .. record.refused .. "]" end
    if record.partial then return words .. " [fragment]" end
    local said = record.whole and tlv.summary(name, record.body)
    return said and words .. " " .. said or words
end

local function show(tree, frame, record)
    local item = tree:add(martlet, frame:range(), "Martlet, " .. summary(record))
    local checksum = addHeader(item, frame:range(0, headerSize), record.header)
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

-- A way that cannot be read from here on.
local function showRest(tree, range, remark)
    local item = tree:add(martlet, range, "Martlet, not read")
    item:add_proto_expert_info(remark)
end

-- A malformed header, of which not all may be there.
local function showBroken(tree, range, code)
    local item = tree:add(martlet, range, "Martlet, malformed: " .. code)
    if range:len() >= headerSize and code ~= "badMagic" then
        addHeader(item, range, parseHeader(range:raw()))
    end
    addError(item, code)
end

-- Ends the way in this packet; what follows is not read.
local function fail(way, pinfo) way.deadIn = way.deadIn or pinfo.number end

-- One frame at `offset`: its size; or nil and how many bytes are missing; or nil and false when the way is dead.
local function dissectFrame(tvb, pinfo, tree, offset, connection, way, words)
    local there = tvb:len() - offset
    local front = tvb:raw(offset, math.min(there, headerSize))
    local key = pinfo.number .. ":" .. offset .. ":" .. front
    local record = records[key]
    if not record and not pinfo.visited then
        local sender = link.sender(connection, address(pinfo.src, pinfo.src_port))
        local code = checkHeader(front, connection, sender, way.count == 0 and connection.hasBeginning)
        if code == "badMagic" and way.count == 0 and not connection.hasBeginning then
            record = { inside = true }
        elseif code then
            record = { broken = code }
        elseif there < headerSize then
            return nil, DESEGMENT_ONE_MORE_SEGMENT
        else
            local size = headerSize + body.u32(front, 21)
            if there < size then return nil, size - there end
            record = read(tvb:range(offset, size):tvb(), connection, way, pinfo)
            way.count = way.count + 1
        end
        records[key] = record
        if record.broken or record.error or record.inside then fail(way, pinfo) end
    end
    if not record then return nil, false end
    if record.inside or record.broken then
        if record.inside then showRest(tree, tvb:range(offset), remarks.inside) end
        if record.broken then
            showBroken(tree, tvb:range(offset, math.min(there, headerSize)), record.broken)
            words[#words + 1] = "[" .. record.broken .. "]"
        end
        return nil, false
    end
    local size = headerSize + record.header.length
    show(tree, tvb:range(offset, size):tvb(), record)
    words[#words + 1] = summary(record)
    if record.error then return nil, false end
    return size
end

local function wayOf(connection, pinfo)
    local source = address(pinfo.src, pinfo.src_port)
    if not connection.ways[source] then
        connection.ways[source] = { count = 0, index = next(connection.ways) == nil and 1 or 2 }
    end
    if not connection.client then
        if isOurs(pinfo.dst_port) then connection.client = source end
        if isOurs(pinfo.src_port) then connection.client = address(pinfo.dst, pinfo.dst_port) end
    end
    return connection.ways[source]
end

-- How many frames of a packet its line in the list tells of.
local maxWords = 4

function martlet.dissector(tvb, pinfo, tree)
    local connection = connectionOf(pinfo)
    local way = wayOf(connection, pinfo)
    pinfo.cols.protocol = "Martlet"
    local words, offset = {}, 0
    if way.deadIn and pinfo.number > way.deadIn then
        showRest(tree, tvb:range(), remarks.dead)
        return tvb:len()
    end
    while offset < tvb:len() do
        local size, missing = dissectFrame(tvb, pinfo, tree, offset, connection, way, words)
        if not size then
            if missing then
                pinfo.desegment_offset, pinfo.desegment_len = offset, missing
            end
            break
        end
        offset = offset + size
    end
    if #words > 0 then
        local more = #words - maxWords
        local line = table.concat(words, ", ", 1, math.min(#words, maxWords))
        pinfo.cols.info:set(line .. (more > 0 and ", and " .. more .. " more" or "") .. " ")
        pinfo.cols.info:fence()
    end
    return tvb:len()
end

-- Finding it.

-- A stream whose first bytes are a frame's.
local function heuristic(tvb, pinfo, tree)
    if tvb:len() < 5 or tvb:raw(0, 4) ~= magic then return false end
    pinfo.conversation = martlet
    martlet.dissector(tvb, pinfo, tree)
    return true
end

martlet:register_heuristic("tcp", heuristic)
pcall(function() martlet:register_heuristic("tls", heuristic) end)

local ports = DissectorTable.get("tcp.port")
local taken
local function take()
    if taken then ports:remove(taken, martlet) end
    taken = tostring(prefs.ports)
    if taken ~= "" then ports:add(taken, martlet) end
end
take()
martlet.prefs_changed = take
ports:add_for_decode_as(martlet)
