-- Numbers and bodies of compact frames (Specs/wire.md §15.2, §15.6).
--
-- A cursor consumes the bytes of a string. An error is thrown as the name of its code. Numbers of 64 bits have the type
-- of Wireshark, because those of Lua are not always exact.

local registry = require("martlet_registry")
local body = require("martlet_body")
local compact = {}

local maxRanges = 32
local maxVarintSize = 10

-- W-90: the sizes of the integers in a value.
local sizes = {}
for name, value in pairs(registry.values) do
    local size = ({ u8 = 1, u16 = 2, u32 = 4, u64 = 8 })[value.type]
    sizes[name] = size and { size }
    if value.type == "integers" then
        sizes[name] = {}
        for i, part in ipairs(value.parts) do sizes[name][i] = part[2] end
    end
end

function compact.fail(code) error(code or "protocolViolation", 0) end
local fail = compact.fail

local Cursor = {}
Cursor.__index = Cursor

function compact.cursor(s) return setmetatable({ s = s, at = 1, stop = #s }, Cursor) end

function Cursor:rest() return self.stop - self.at + 1 end

function Cursor:take(count)
    if count > self:rest() then fail() end
    self.at = self.at + count
    return self.s:sub(self.at - count, self.at - 1)
end

function Cursor:byte() return self:take(1):byte() end

-- W-80, as a 64-bit number, assembled from parts of 28 bits, which Lua's numbers represent exactly.
function Cursor:varint()
    local parts, count = { 0, 0, 0 }, 0
    repeat
        if count == maxVarintSize then fail() end
        local byte = self:byte()
        local part = math.floor(count / 4) + 1
        parts[part] = parts[part] + byte % 128 * 2 ^ (count % 4 * 7)
        count = count + 1
    until byte < 128
    local low, middle, high = parts[1], parts[2], parts[3]
    if high > 0xFF then fail() end
    return UInt64.new(low + middle % 16 * 2 ^ 28, math.floor(middle / 16) + high * 2 ^ 24)
end

-- A varint up to a maximum, as a number of Lua.
function Cursor:small(most)
    local number = self:varint()
    if number:higher() > 0 or number:lower() > most then fail() end
    return number:lower()
end

-- A signed varint, as a number to be added modulo 2^64.
function Cursor:signed()
    local number = self:varint()
    local half = number:rshift(1)
    return number:lower() % 2 == 0 and half or half:bnot()
end

-- A varint as an integer of a given size.
function Cursor:integer(size)
    local whole = compact.u64(self:varint())
    if whole:sub(1, 8 - size):find("[^%z]") then fail() end
    return whole:sub(9 - size)
end

function compact.u64(number) return number:encode(false) end

function compact.u32(number)
    number = number % 4294967296
    return string.char(
        math.floor(number / 16777216), math.floor(number / 65536) % 256, math.floor(number / 256) % 256, number % 256)
end

function compact.u16(number) return string.char(math.floor(number / 256), number % 256) end

function compact.tlv(tagName, value)
    return compact.u16(registry.tag[tagName]) .. compact.u32(#value) .. value
end

local function integers(cursor, name)
    local parts = {}
    for i, size in ipairs(sizes[name]) do parts[i] = cursor:integer(size) end
    if name == "sessionAck" then
        for _ = 1, 2 * cursor:small(maxRanges) do parts[#parts + 1] = cursor:integer(8) end
    end
    return table.concat(parts)
end

-- The body of compact TLVs. One loop is used, so the depth of the input needs no stack.
function compact.expand(s, maxBody)
    local cursor, parts, size, count = compact.cursor(s), {}, 0, 0
    local function put(part)
        parts[#parts + 1] = part
        size = size + #part
    end
    local open = { { stop = #s } }
    while true do
        while cursor.at > cursor.stop do
            local done = table.remove(open)
            if #open == 0 then return table.concat(parts) end
            parts[done.part] = compact.u32(size - done.from)
            cursor.stop = open[#open].stop
        end
        count = count + 1
        if count > body.maxCount then fail("tooManyTLVs") end
        local code = cursor:byte()
        local name = registry.compactTags[code]
        if code == 0 then
            put(cursor:take(2))
            local value = cursor:take(cursor:small(#s))
            put(compact.u32(#value) .. value)
        elseif not name then
            fail()
        elseif body.isContainer(registry.tag[name]) then
            if #open > body.maxDepth then fail("tlvTooDeep") end
            local length = cursor:small(cursor:rest())
            if length > cursor:rest() then fail() end
            put(compact.u16(registry.tag[name]))
            put(compact.u32(0))
            cursor.stop = cursor.at + length - 1
            open[#open + 1] = { stop = cursor.stop, part = #parts, from = size }
        else
            put(compact.tlv(name, sizes[name] and integers(cursor, name) or cursor:take(cursor:small(#s))))
        end
        if size > maxBody then fail("frameTooLarge") end
    end
end

-- Converts UTF-16, big-endian without a byte order mark, to UTF-8.
function compact.utf8(s)
    if #s % 2 == 1 then fail() end
    local out, high = {}, nil
    for at = 1, #s, 2 do
        local unit = body.u16(s, at)
        if (unit >= 0xDC00 and unit <= 0xDFFF) ~= (high ~= nil) then fail() end
        if unit >= 0xD800 and unit <= 0xDBFF then
            high = unit
        else
            local point = high and 0x10000 + (high - 0xD800) * 1024 + unit - 0xDC00 or unit
            local most, front, tail = 0x80, 0, ""
            if point >= most then
                most, front = 0x40, 0x80
                repeat
                    tail = string.char(0x80 + point % 64) .. tail
                    point, most, front = math.floor(point / 64), most / 2, front / 2 + 0x80
                until point < most
            end
            out[#out + 1] = string.char(front + point) .. tail
            high = nil
        end
    end
    if high then fail() end
    return table.concat(out)
end

return compact
