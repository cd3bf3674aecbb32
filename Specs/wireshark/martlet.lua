-- Martlet in Wireshark and tshark: frames, fields, fragments, sessions and errors (Specs/wire.md). README.md describes
-- the use. martlet_link.lua follows the connections while packets are parsed for the first time. The results are kept,
-- because Wireshark may dissect packets again in any order.

local folder = debug.getinfo(1, "S").source:gsub("^@", ""):match("^(.*[/\\])") or "./"
package.path = folder .. "?.lua;" .. package.path

local fields = require("martlet_fields")
local body = require("martlet_body")
local link = require("martlet_link")
local packet = require("martlet_packet")
local read = require("martlet_read")
local show = require("martlet_show")

local martlet = Proto("martlet", "Martlet")
martlet.fields = fields.all
martlet.experts = fields.experts
local remarks = fields.remarks

local prefs = martlet.prefs
prefs.ports = Pref.range(
    "TCP ports", "7227", "Connections of these ports are dissected without a check of their first bytes", 65535)
prefs.checksums = Pref.bool("Check checksums", true, "Whether CRC-32 is computed")
prefs.max_body = Pref.uint("Maximum body", 1048576, "In bytes, if the capture contains no handshake")
prefs.between_messages = Pref.bool(
    "Captures begin between messages", false,
    "If the capture contains no handshake: whether an invalid body is malformed, not the end of a message")
prefs.faults_end = Pref.bool(
    "Faults end a direction", true, "Whether a direction is not parsed after a frame whose body is refused")
read.prefs, show.martlet = prefs, martlet

local streamField = Field.new("tcp.stream")
local completenessField = Field.new("tcp.completeness")

-- Connections by TCP stream; the results of frames and packets by their position and their bytes.
local connections, records, packets = {}, {}, {}

function martlet.init()
    connections, records, packets = {}, {}, {}
    link.reset()
end

local function connectionOf(pinfo)
    local stream = streamField()
    local key = stream and stream.value
    if not key then
        -- Without a tree there are no fields. Both directions of a pair of addresses are one connection.
        local ends = { read.address(pinfo.src, pinfo.src_port), read.address(pinfo.dst, pinfo.dst_port) }
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

-- Whether a port is one of the preference.
local function isOurs(port)
    for first, last in tostring(prefs.ports):gmatch("(%d+)%-?(%d*)") do
        if port >= tonumber(first) and port <= tonumber(last ~= "" and last or first) then return true end
    end
    return false
end

-- Ends this direction at the packet. The following bytes are not parsed.
local function fail(way, pinfo) way.deadIn = way.deadIn or pinfo.number end

-- The key of a unit's results: the position in its packet and its first bytes. A packet may contain the end of a
-- reassembled unit, whose offsets begin at 0 again, and others.
local function keyOf(pinfo, tvb, offset, front)
    return pinfo.number .. ":" .. tvb:offset() + offset .. ":" .. front
end

-- Dissects one frame at `offset`. Returns its size; nil and the number of missing bytes; or nil and false if the
-- direction has ended.
local function dissectFrame(tvb, pinfo, tree, offset, connection, way, words)
    local there = tvb:len() - offset
    local front = tvb:raw(offset, math.min(there, read.headerSize))
    local key = keyOf(pinfo, tvb, offset, front)
    local record = records[key]
    if not record and not pinfo.visited then
        local sender = link.sender(connection, read.address(pinfo.src, pinfo.src_port))
        local code = read.checkHeader(front, connection, sender, way.count == 0 and connection.hasBeginning)
        if code == "badMagic" and way.count == 0 and not connection.hasBeginning then
            record = { inside = true }
        elseif code then
            record = { broken = code }
        elseif there < read.headerSize then
            return nil, DESEGMENT_ONE_MORE_SEGMENT
        else
            local size = read.headerSize + body.u32(front, 21)
            if there < size then return nil, size - there end
            record = read.frame(tvb:range(offset, size):tvb(), connection, way, pinfo)
            way.count = way.count + 1
        end
        records[key] = record
        if record.broken or record.error or record.inside then fail(way, pinfo) end
    end
    if not record then
        if way.deadIn == pinfo.number then show.rest(tree, tvb:range(offset), remarks.dead) end
        return nil, false
    end
    if record.inside or record.broken then
        if record.inside then show.rest(tree, tvb:range(offset), remarks.inside) end
        if record.broken then
            show.broken(tree, tvb:range(offset, math.min(there, read.headerSize)), record.broken)
            words[#words + 1] = "[" .. record.broken .. "]"
        end
        return nil, false
    end
    local size = read.headerSize + record.header.length
    -- The first part of a frame in several messages has the key of the whole one.
    if there < size then return nil, size - there end
    show.frame(tree, tvb:range(offset, size):tvb(), record)
    words[#words + 1] = show.summary(record)
    if record.error then return nil, false end
    return size
end

-- Parses a packet at `offset`. Returns its head or the code of its error, whether it is complete, and its key; nil for
-- a plain frame.
local function packetAt(tvb, pinfo, offset)
    local there = tvb:len() - offset
    local front = tvb:raw(offset, math.min(there, 2))
    if front:sub(1, 1) == read.magic:sub(1, 1) then return nil end
    local head, code = packet.head(front)
    local size = head and math.min(there, head.total) or #front
    local raw = tvb:raw(offset, size)
    return {
        head = head, code = code, isWhole = head and there >= head.total, raw = raw, range = tvb:range(offset, size),
        missing = head and head.total - there or DESEGMENT_ONE_MORE_SEGMENT, key = keyOf(pinfo, tvb, offset, raw),
    }
end

-- Whether the unit is a packet. If the capture does not contain the handshake, its checksum must be valid the first
-- time, and the context is unknown.
local function isPacket(unit, connection, way, pinfo)
    if not unit then return false end
    if pinfo.visited then return packets[unit.key] ~= nil end
    if connection.compact ~= nil or connection.hasBeginning or way.lost then
        return connection.compact or way.lost ~= nil
    end
    if not unit.isWhole then return false end
    local right, expected = packet.sums(unit.raw)
    if right == expected then way.lost = "beginning" end
    return right == expected
end

-- The frames of a packet in the form of §3.
local function framesOf(record)
    local parts = {}
    for i, frame in ipairs(record.frames) do parts[i] = frame.bytes end
    local bytes = table.concat(parts)
    return #bytes > 0 and ByteArray.new(bytes, true):tvb("Frames of a packet")
end

-- Parses a complete packet and its frames, up to the first one that ends the stream.
local function readPacket(raw, head, connection, way, pinfo)
    local record = packet.read(raw, head, way, connection.maxBody, prefs.checksums)
    local tvb, at = framesOf(record), 0
    for _, frame in ipairs(record.frames) do
        frame.record = read.frame(tvb:range(at, #frame.bytes):tvb(), connection, way, pinfo)
        way.count = way.count + 1
        at = at + #frame.bytes
        if frame.record.error then break end
    end
    return record
end

local function showPacket(tree, range, record, words)
    local trees = show.packet(tree, range, record)
    local tvb, at = framesOf(record), 0
    for i, frame in ipairs(record.frames) do
        if not frame.record then return false end
        show.frame(trees[i], tvb:range(at, #frame.bytes):tvb(), frame.record)
        words[#words + 1] = show.summary(frame.record)
        at = at + #frame.bytes
        if frame.record.error then return false end
    end
    words[#words + 1] = show.packetSummary(record)
    return not record.error
end

-- One packet of the capture may contain equal packets with different frames, each in its own tvb. The results of a key
-- are therefore used in turn.
local function nextOf(kept)
    kept.at = kept.at % #kept + 1
    return kept[kept.at]
end

-- Dissects one packet, like dissectFrame.
local function dissectPacket(unit, pinfo, tree, connection, way, words)
    local isFirstTime = not pinfo.visited
    local code = unit.code
    if connection.sharedDeflate == false and packet.isDeflated(unit.raw) then code = "badMagic" end
    if isFirstTime then
        if not code and not unit.isWhole then return nil, unit.missing end
        local record = code and { broken = code } or readPacket(unit.raw, unit.head, connection, way, pinfo)
        packets[unit.key] = packets[unit.key] or { at = 0 }
        table.insert(packets[unit.key], record)
    end
    local record = nextOf(packets[unit.key])
    local isWell = false
    if record.broken then
        show.broken(tree, unit.range, record.broken)
        words[#words + 1] = "[" .. record.broken .. "]"
    else
        isWell = showPacket(tree, unit.range, record, words)
    end
    if isWell then return unit.head.total end
    if isFirstTime then fail(way, pinfo) end
    return nil, false
end

local function wayOf(connection, pinfo)
    local source = read.address(pinfo.src, pinfo.src_port)
    if not connection.ways[source] then
        connection.ways[source] = { count = 0, index = next(connection.ways) == nil and 1 or 2 }
    end
    if not connection.client then
        if isOurs(pinfo.dst_port) then connection.client = source end
        if isOurs(pinfo.src_port) then connection.client = read.address(pinfo.dst, pinfo.dst_port) end
    end
    return connection.ways[source]
end

-- The maximum number of frames of a packet in the list of packets.
local maxWords = 4

-- Dissects the bytes of a direction. Returns the offset of an incomplete unit and the number of its missing bytes, if
-- there is one.
local function dissect(tvb, pinfo, tree)
    local connection = connectionOf(pinfo)
    local way = wayOf(connection, pinfo)
    pinfo.cols.protocol = "Martlet"
    local words, offset = {}, 0
    if way.deadIn and (pinfo.number > way.deadIn or not pinfo.visited) then
        show.rest(tree, tvb:range(), remarks.dead)
        return
    end
    local incomplete, missingCount
    while offset < tvb:len() do
        local unit = packetAt(tvb, pinfo, offset)
        local size, missing
        if isPacket(unit, connection, way, pinfo) then
            size, missing = dissectPacket(unit, pinfo, tree, connection, way, words)
        else
            size, missing = dissectFrame(tvb, pinfo, tree, offset, connection, way, words)
        end
        if not size then
            if missing then incomplete, missingCount = offset, missing end
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
    return incomplete, missingCount
end

-- Whether a connection begins with a request or an answer of HTTP. No frame begins with a letter (W-5).
local function isHTTP(tvb)
    local front = tvb:raw(0, math.min(tvb:len(), 5))
    return front:sub(1, 4) == "GET " or front == "HTTP/"
end

function martlet.dissector(tvb, pinfo, tree)
    local connection = connectionOf(pinfo)
    if connection.isHTTP == nil then connection.isHTTP = isHTTP(tvb) end
    -- The dissector of HTTP calls that of WebSockets.
    if connection.isHTTP then return Dissector.get("http"):call(tvb, pinfo, tree) end
    local offset, missing = dissect(tvb, pinfo, tree)
    if offset then pinfo.desegment_offset, pinfo.desegment_len = offset, missing end
    return tvb:len()
end

-- Binary messages of a WebSocket (C-120). A frame may span messages: its parts are kept until the last one.
local web = Proto("martlet_web", "Martlet over WebSocket")
-- What each message contains, by the number of the packet, in the order of its messages: the joined bytes that end with
-- it if a frame began in an earlier one, true if none did, false inside a frame.
local messages = {}

function web.init() messages = {} end

-- Adds a message to the parts of the direction, and returns what the message contains.
local function join(way, bytes)
    local open = way.open
    if not open then return true end
    table.insert(open.parts, bytes)
    open.missing = open.missing - #bytes
    return open.missing <= 0 and table.concat(open.parts)
end

function web.dissector(tvb, pinfo, tree)
    local way = wayOf(connectionOf(pinfo), pinfo)
    local kept = messages[pinfo.number] or { at = 0 }
    messages[pinfo.number] = kept
    if not pinfo.visited then table.insert(kept, join(way, tvb:raw())) end
    local content = nextOf(kept)
    pinfo.cols.protocol = "Martlet"
    if not content then return tvb:len() end
    local whole = content == true and tvb or ByteArray.new(content, true):tvb("Frame in several messages")
    local offset, missing = dissect(whole, pinfo, tree)
    if not pinfo.visited then
        if missing == DESEGMENT_ONE_MORE_SEGMENT then missing = 1 end
        way.open = offset and { parts = { whole:raw(offset) }, missing = missing }
    end
    return tvb:len()
end

-- Registration and heuristics.

-- Recognizes a stream that begins with a frame.
local function heuristic(tvb, pinfo, tree)
    if tvb:len() < 5 or tvb:raw(0, 4) ~= read.magic then return false end
    pinfo.conversation = martlet
    martlet.dissector(tvb, pinfo, tree)
    return true
end

martlet:register_heuristic("tcp", heuristic)
pcall(function() martlet:register_heuristic("tls", heuristic) end)
DissectorTable.get("ws.protocol"):add("martlet", web)

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
