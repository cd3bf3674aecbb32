-- Packets (Specs/wire.md §15.1) and their shared deflate stream (§16): the conversion of bytes to frames.
--
-- A direction has `context` and `inflater`, which correspond to the parsed bytes. `lost` states the reason if it cannot
-- be parsed further: its beginning is not in the capture, or the dictionary is missing.

local body = require("martlet_body")
local compact = require("martlet_compact")
local inflate = require("martlet_inflate")
local sum = require("martlet_sum")
local tlv = require("martlet_compact_tlv")
local packet = {}

local maxPayload, checksumSize = 4096, 4
local lastOfFlush = "\0\0\255\255"
local codes = {
    protocolViolation = true, frameTooLarge = true, compressionNotAllowed = true, tlvTooDeep = true, tooManyTLVs = true,
}

-- chat.dict in the folder of this file or in its folder of the sources; nil if it is in neither.
local dictionary
for _, place in ipairs({ "", "../dictionary/" }) do
    local folder = debug.getinfo(1, "S").source:gsub("^@", ""):match("^(.*[/\\])") or "./"
    local file = not dictionary and io.open(folder .. place .. "chat.dict", "rb")
    if file then
        dictionary = file:read("*a")
        file:close()
    end
end

-- Whether the head is that of a deflated packet.
function packet.isDeflated(front) return front:byte() >= 0xA0 and front:byte() <= 0xBF end

-- The head of a packet (W-77, W-78); nil if it is incomplete, or nil and the name of the code.
function packet.head(front)
    local first = front:byte()
    if first >= 0x01 and first <= 0x7F then return { size = 1, length = first, total = 1 + first + checksumSize } end
    local isDeflated = packet.isDeflated(front)
    if first < 0xC0 and not isDeflated then return nil, "badMagic" end
    if #front < 2 then return nil end
    local length = body.u16(front, 1) % (isDeflated and 0x2000 or 0x4000)
    if length > maxPayload then return nil, "frameTooLarge" end
    if length == 0 and not isDeflated then return nil, "protocolViolation" end
    return { size = 2, length = length, total = 2 + length + checksumSize, isDeflated = isDeflated }
end

-- The checksum of a complete packet, and the one that it contains.
function packet.sums(raw)
    return sum.crc32(raw:sub(1, -1 - checksumSize)), body.u32(raw, #raw - checksumSize + 1)
end

-- The inflated payload, or nil and the name of the code. The state of the direction is updated.
local function payloadOf(raw, record, way)
    local head = record.head
    local payload = raw:sub(head.size + 1, head.size + head.length)
    if not head.isDeflated then return payload end
    if head.length == 0 then
        way.inflater, record.ends = nil, true
        return ""
    end
    if not way.inflater then
        if not dictionary then
            way.lost = "dictionary"
            return nil
        end
        way.inflater = inflate.new(dictionary)
    end
    local inflated, code = way.inflater:inflate(payload .. lastOfFlush, maxPayload)
    record.inflated = inflated
    return inflated, code
end

-- Parses a complete packet: its `frames`, and in `error` the error that ends the stream after them.
function packet.read(raw, head, way, maxBody, isChecked)
    local record = { head = head, frames = {} }
    if isChecked then
        local right, expected = packet.sums(raw)
        record.sum, record.isRight = right, right == expected
        if right ~= expected then
            record.error = "badChecksum"
            return record
        end
    end
    local payload
    if not way.lost then payload, record.error = payloadOf(raw, record, way) end
    record.lost = way.lost
    if not payload then return record end
    way.context = way.context or compact.newContext()
    local cursor = tlv.cursor(payload)
    while cursor:rest() > 0 and not record.error do
        local isWell, frame = pcall(compact.read, cursor, way.context, maxBody)
        if isWell then
            record.frames[#record.frames + 1] = frame
        elseif codes[frame] then
            record.error = frame
        else
            error(frame, 0)
        end
    end
    return record
end

return packet
