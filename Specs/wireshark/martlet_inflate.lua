-- Raw Deflate (RFC 1951) of a stream with flushes, which Wireshark cannot inflate: its function needs whole buffers and
-- supports no dictionary.
--
-- A stream is a coroutine that consumes bytes and yields when there are none, also within a code, so it needs no
-- explicit states. An error is thrown as the name of its code and ends the stream.

local inflate = {}
inflate.__index = inflate

local windowSize = 32768
local maxCodeLength = 15
local endOfBlock, maxLengthSymbol, maxDistanceSymbol = 256, 285, 29
local maxLiteralCount, maxDistanceCount = 286, 30
local lengthBases = {
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
}
local lengthBits = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 }
local distanceBases = {
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
}
local distanceBits = {
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
}
-- The order of the code lengths of the code length alphabet.
local codeOrder = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 }

local function fail(code) error(code or "inflateFailed", 0) end

-- The next `count` bits, the first one is the lowest.
local function take(stream, count)
    while stream.bitCount < count do
        while stream.at > #stream.input do coroutine.yield() end
        stream.bits = stream.bits + stream.input:byte(stream.at) * 2 ^ stream.bitCount
        stream.at, stream.bitCount = stream.at + 1, stream.bitCount + 8
    end
    local value = stream.bits % 2 ^ count
    stream.bits, stream.bitCount = (stream.bits - value) / 2 ^ count, stream.bitCount - count
    return value
end

-- The symbols of a Huffman code by their bits with a leading 1. `lengths` contains the lengths for the symbols from 0.
local function codeOf(lengths, mayBeIncomplete)
    local counts, longest = {}, 0
    for length = 0, maxCodeLength do counts[length] = 0 end
    for symbol = 0, #lengths do
        counts[lengths[symbol]] = counts[lengths[symbol]] + 1
        longest = math.max(longest, lengths[symbol])
    end
    local free, code, next = 1, 0, {}
    counts[0] = 0
    for length = 1, maxCodeLength do
        free = free * 2 - counts[length]
        if free < 0 then fail() end
        code = (code + counts[length - 1]) * 2
        next[length] = code
    end
    -- A single symbol, or none, leaves unused codes.
    if free > 0 and longest > 0 and not (mayBeIncomplete and longest == 1) then fail() end
    local symbols = longest <= 1 and { [2] = -1, [3] = -1 } or {}
    for symbol = 0, #lengths do
        local length = lengths[symbol]
        if length > 0 then
            symbols[2 ^ length + next[length]] = symbol
            next[length] = next[length] + 1
        end
    end
    return symbols
end

local function symbol(stream, code, most)
    local path = 1
    for _ = 1, maxCodeLength do
        path = path * 2 + take(stream, 1)
        local found = code[path]
        if found then
            if found < 0 or found > most then fail() end
            return found
        end
    end
    fail()
end

local function keep(stream, byte)
    stream.window[stream.count % windowSize] = byte
    stream.count = stream.count + 1
end

local function put(stream, byte)
    keep(stream, byte)
    stream.out[#stream.out + 1] = string.char(byte)
    if #stream.out > stream.limit then fail("inflateLimit") end
end

local function stored(stream)
    take(stream, stream.bitCount % 8)
    local length, other = take(stream, 16), take(stream, 16)
    if length + other ~= 0xFFFF then fail() end
    for _ = 1, length do put(stream, take(stream, 8)) end
end

local function compressed(stream, literals, distances)
    while true do
        local found = symbol(stream, literals, maxLengthSymbol)
        if found == endOfBlock then return end
        if found < endOfBlock then
            put(stream, found)
        else
            local at = found - endOfBlock
            local length = lengthBases[at] + take(stream, lengthBits[at])
            at = symbol(stream, distances, maxDistanceSymbol) + 1
            local distance = distanceBases[at] + take(stream, distanceBits[at])
            if distance > stream.count then fail() end
            for _ = 1, length do put(stream, stream.window[(stream.count - distance) % windowSize]) end
        end
    end
end

local function fixedCodes()
    local lengths, distances = {}, {}
    for i = 0, 287 do lengths[i] = i < 144 and 8 or i < 256 and 9 or i < 280 and 7 or 8 end
    for i = 0, 31 do distances[i] = 5 end
    return codeOf(lengths), codeOf(distances)
end

local function dynamicCodes(stream)
    local literalCount, distanceCount = take(stream, 5) + 257, take(stream, 5) + 1
    local codeCount = take(stream, 4) + 4
    if literalCount > maxLiteralCount or distanceCount > maxDistanceCount then fail() end
    local own = {}
    for i = 0, 18 do own[i] = 0 end
    for i = 1, codeCount do own[codeOrder[i]] = take(stream, 3) end
    local code = codeOf(own)
    local lengths, count = {}, 0
    while count < literalCount + distanceCount do
        local found, times = symbol(stream, code, 18), 1
        local value = found
        if found == 16 then
            if count == 0 then fail() end
            value, times = lengths[count - 1], 3 + take(stream, 2)
        elseif found > 16 then
            value, times = 0, found == 17 and 3 + take(stream, 3) or 11 + take(stream, 7)
        end
        for _ = 1, times do lengths[count], count = value, count + 1 end
    end
    if count > literalCount + distanceCount or lengths[endOfBlock] == 0 then fail() end
    local distances = {}
    for i = literalCount, count - 1 do
        distances[i - literalCount], lengths[i] = lengths[i], nil
    end
    return codeOf(lengths, true), codeOf(distances, true)
end

-- A stream never ends by itself (W-92): a final block is an error.
local function blocks(stream)
    local isLast
    repeat
        stream.isBetweenBlocks = true
        isLast = take(stream, 1) == 1
        stream.isBetweenBlocks = false
        local kind = take(stream, 2)
        if kind == 0 then
            stored(stream)
        elseif kind == 1 then
            compressed(stream, fixedCodes())
        elseif kind == 2 then
            compressed(stream, dynamicCodes(stream))
        else
            fail()
        end
    until isLast
    fail()
end

-- A stream with these bytes in its window.
function inflate.new(dictionary)
    local stream = setmetatable({ window = {}, count = 0, bits = 0, bitCount = 0, input = "", at = 1 }, inflate)
    for i = 1, #dictionary do keep(stream, dictionary:byte(i)) end
    stream.run = coroutine.create(blocks)
    return stream
end

local faults = { inflateFailed = true, inflateLimit = true }

-- The output for further bytes, which end between two blocks (W-92); or nil and the name of the code.
function inflate:inflate(input, limit)
    self.input, self.at, self.out, self.limit = input, 1, {}, limit
    local isWell, code = coroutine.resume(self.run, self)
    if isWell and self.isBetweenBlocks then return table.concat(self.out) end
    if isWell then return nil, "inflateFailed" end
    if not faults[code] then error(code) end
    return nil, code
end

return inflate
