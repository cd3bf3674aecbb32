-- Packets (Specs/wire.md §15.1) and the deflate that they share (§16): from bytes to the frames that they stand for.
--
-- A way has `context` and `inflater`, which are as far as it has been read. `lost` says that it cannot be read on: its
-- beginning is not in the capture, or the dictionary is not there.

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

-- chat.dict, from beside this file or from its folder in the sources; nil where it is in neither.
local dictionary
for _, place in ipairs({ "", "../dictionary/" }) do
    local folder = debug.getinfo(1, "S").source:gsub("^@", ""):match("^(.*[/\\])") or "./"
    local file = not dictionary and io.open(folder .. place .. "chat.dict", "rb")
    if file then
        dictionary = file:read("*a")
        file:close()
    end
end

-- Whether what begins so is deflated.
function packet.isDeflated(front) return front:byte() >= 0xA0 and front:byte() <= 0xBF end

-- What a packet's first bytes say (W-77, W-78); nil until they are there, or nil and the code's name.
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

-- The sum of a whole packet and the one that it says.
function packet.sums(raw)
    return sum.crc32(raw:sub(1, -1 - checksumSize)), body.u32(raw, #raw - checksumSize + 1)
end

-- The payload as it was written; nil, and the code's name where it is wrong. Takes the way on.
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

-- Reads a whole packet: its `frames`, and in `error` what ends the stream behind them.
function packet.read(raw, head, way, maxBody, isChecked)
    local record = { head = head, frames = {} }
    if isChecked then
        local right, said = packet.sums(raw)
        record.sum, record.isRight = right, right == said
        if right ~= said then
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
