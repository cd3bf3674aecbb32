-- The first parsing of frames: the checks of wire.md §3 in order, the results at the frame's position, and their
-- storage for later dissections.

local registry = require("martlet_registry")
local body = require("martlet_body")
local link = require("martlet_link")
local sum = require("martlet_sum")
local read = { headerSize = 28, magic = string.char(0x8D, 0x4D, 0x52, 0x54) }

-- The preferences, which the dissector sets.
read.prefs = nil

function read.address(ip, port) return tostring(ip) .. ":" .. port end

-- The checks of the header in order (W-6), as far as its bytes are available.
function read.checkHeader(s, connection, sender, isFirst)
    for i = 1, math.min(#s, 4) do
        if s:byte(i) ~= read.magic:byte(i) then return "badMagic" end
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

-- The bytes of a compressed body, or the name of the code (W-19).
--
-- Wireshark inflates as much as possible and does not report the end. The body must therefore end with the checksum of
-- the output, and a changed last byte must give another result; otherwise the stream ended before the last byte.
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

-- The results of a frame with valid framing: the name of its code, and the offset in the body.
local function readMeaning(frame, connection, way, record)
    local header, sender = record.header, record.sender
    local code = link.check(connection, header, sender, way.count == 0 and connection.hasBeginning)
    if code then return code end
    record.body = frame:raw():sub(read.headerSize + 1)
    if header.compression == 1 and registry.types[header.type] then
        record.body, code = inflate(frame:range(read.headerSize), connection.maxBody)
        if code then return code end
        record.inflated = true
    end
    return link.read(connection, header, sender, sender or (way.index == 1 and "client" or "server"), record)
end

-- Parses a complete frame: its results, and in `error` the error that ends the stream.
function read.frame(frame, connection, way, pinfo)
    local raw = frame:raw()
    local header = parseHeader(raw)
    local source, destination = read.address(pinfo.src, pinfo.src_port), read.address(pinfo.dst, pinfo.dst_port)
    link.recognize(connection, header.type, source, destination)
    local record = {
        number = pinfo.number, header = header, sender = link.sender(connection, source), connection = connection,
    }
    if read.prefs.checksums then
        record.sum = sum.crc32(raw:sub(1, 24), sum.crc32(raw:sub(read.headerSize + 1)))
        if not header.checksummed or record.sum ~= header.checksum then
            record.error = "badChecksum"
            return record
        end
    end
    local code, at = readMeaning(frame, connection, way, record)
    if code and read.prefs.faults_end then
        record.error, record.at = code, at
    elseif code then
        record.refused, record.at = code, at
    end
    return record
end

return read
