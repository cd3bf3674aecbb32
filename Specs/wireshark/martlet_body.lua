-- The rules for bodies (Specs/wire.md §4 and §13): the structure, the fields of each type, the form of each value.
--
-- Bodies are Lua strings. An error is returned as the name of its code, the offset in the body, and, for a field of a
-- message or a request that can be identified, the word "message": then only that message or request is refused (§12).

local registry = require("martlet_registry")
local body = {}

body.maxDepth = 8
body.maxCount = 1024
local maxContentCount = 1008
local maxClientCount = 1020
local relayTags = { "offset", "acceptedAt", "device", "sender" }

function body.u16(s, at)
    local a, b = s:byte(at, at + 1)
    return a * 256 + b
end

function body.u32(s, at)
    local a, b, c, d = s:byte(at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
end

-- A 64-bit number; exact up to 2^53, which suffices for display.
function body.u64(s, at)
    return body.u32(s, at) * 4294967296 + body.u32(s, at + 4)
end

local u16, u32 = body.u16, body.u32

-- -1, 0 or 1: the comparison of the 64-bit number at `a` in `s` with the one at `b` in `t`.
local function compare(s, a, t, b)
    for i = 0, 7 do
        local x, y = s:byte(a + i), t:byte(b + i)
        if x ~= y then return x < y and -1 or 1 end
    end
    return 0
end

-- The 64-bit number at `at` plus a small number, as 8 bytes; nil beyond 2^64.
local function plus(s, at, number)
    local low = u32(s, at + 4) + number
    local high = u32(s, at) + math.floor(low / 4294967296)
    low = low % 4294967296
    if high >= 4294967296 then return nil end
    local bytes = {}
    for i, word in ipairs({ high, low }) do
        for j = 0, 3 do bytes[(i - 1) * 4 + j + 1] = math.floor(word / 256 ^ (3 - j)) % 256 end
    end
    return string.char((table.unpack or unpack)(bytes))
end

local zeros, one = ("\0"):rep(8), ("\0"):rep(7) .. "\1"

-- W-31: the refused characters of names, alternately first and last.
local notInNames = {
    0x0000, 0x001F, 0x007F, 0x00A0, 0x00AD, 0x00AD, 0x034F, 0x034F, 0x0600, 0x0605, 0x061C, 0x061C, 0x06DD, 0x06DD,
    0x070F, 0x070F, 0x0890, 0x0891, 0x08E2, 0x08E2, 0x115F, 0x1160, 0x1680, 0x1680, 0x17B4, 0x17B5, 0x180B, 0x180F,
    0x2000, 0x200F, 0x2028, 0x202F, 0x205F, 0x206F, 0x3000, 0x3000, 0x3164, 0x3164, 0xE000, 0xF8FF, 0xFDD0, 0xFDEF,
    0xFE00, 0xFE0F, 0xFEFF, 0xFEFF, 0xFFA0, 0xFFA0, 0xFFF0, 0xFFFB, 0x110BD, 0x110BD, 0x110CD, 0x110CD,
    0x13430, 0x1343F, 0x1BCA0, 0x1BCA3, 0x1D173, 0x1D17A, 0xE0000, 0xE0FFF, 0xF0000, 0x10FFFF,
}

local function mayBeInName(point)
    if point % 0x10000 >= 0xFFFE then return false end
    for at = 1, #notInNames, 2 do
        if point >= notInNames[at] and point <= notInNames[at + 1] then return false end
    end
    return true
end

-- Whether text is well-formed UTF-8 and, for a name, satisfies W-31.
local function isText(s, isName)
    local i, n = 1, #s
    if isName and (s:find("^ ") or s:find(" $") or s:find("  ", 1, true)) then return false end
    while i <= n do
        local first, second = s:byte(i, i + 1)
        local size, low, high = 1, 0x80, 0xBF
        if first >= 0xC2 and first <= 0xDF then
            size = 2
        elseif first >= 0xE0 and first <= 0xEF then
            size = 3
            if first == 0xE0 then low = 0xA0 elseif first == 0xED then high = 0x9F end
        elseif first >= 0xF0 and first <= 0xF4 then
            size = 4
            if first == 0xF0 then low = 0x90 elseif first == 0xF4 then high = 0x8F end
        elseif first >= 0x80 then
            return false
        end
        if i + size - 1 > n then return false end
        if size > 1 and (second < low or second > high) then return false end
        for at = i + 2, i + size - 1 do
            local next = s:byte(at)
            if next < 0x80 or next > 0xBF then return false end
        end
        if isName then
            local point = size == 1 and first or first % 2 ^ (7 - size)
            for at = i + 1, i + size - 1 do point = point * 64 + s:byte(at) % 64 end
            if not mayBeInName(point) then return false end
        end
        i = i + size
    end
    return true
end

-- The forms of values: each function returns whether a value is permitted.
local function int(size, least, most)
    return function(v)
        if #v ~= size then return false end
        if size == 8 then return least ~= 1 or v ~= zeros end
        local number = 0
        for i = 1, size do number = number * 256 + v:byte(i) end
        return number >= (least or 0) and number <= (most or math.huge)
    end
end

local function bytes(least, most)
    return function(v) return #v >= least and #v <= (most or math.huge) end
end

local function text(least, most)
    return function(v) return #v >= least and #v <= (most or math.huge) and isText(v, false) end
end

local function name(most)
    return function(v) return #v >= 1 and #v <= most and isText(v, true) end
end

local function sessionAck(v)
    if #v < 18 or (#v - 18) % 16 ~= 0 or #v > 18 + 32 * 16 then return false end
    -- A range adjacent to the previous one would begin here.
    local floor = plus(v, 3, 1)
    for at = 19, #v, 16 do
        if not floor or compare(v, at, floor, 1) <= 0 or compare(v, at + 8, v, at) < 0 then return false end
        floor = v:sub(at + 8, at + 15)
    end
    return true
end

local function acceptedRun(v)
    if #v ~= 20 then return false end
    local count = u32(v, 9)
    if v:sub(1, 8) == zeros or count == 0 then return false end
    if not plus(v, 1, count - 1) or not plus(v, 13, count - 1) then return false end
    return v:sub(13, 20) ~= zeros or count == 1
end

-- By the type of the value.
local makers = {
    u8 = function(least, most) return int(1, least, most) end,
    u16 = function(least, most) return int(2, least, most) end,
    u32 = function(least, most) return int(4, least, most) end,
    u64 = function(least, most) return int(8, least, most) end,
    text = text,
    name = function(_, most) return name(most) end,
    bytes = bytes,
}
local forms = { sessionAck = sessionAck, acceptedRun = acceptedRun }
for tagName, value in pairs(registry.values) do
    if value.type == "integers" then
        local size = 0
        for _, part in ipairs(value.parts) do size = size + part[2] end
        forms[tagName] = forms[tagName] or bytes(size, size)
    elseif value.type ~= "container" then
        forms[tagName] = makers[value.type](value.least or 0, value.most)
    end
end

local function parsed(layout)
    local rows = {}
    for word in layout:gmatch("%S+") do
        local field, mark, most = word:match("^(%a+)([?*+]?)(%d*)$")
        rows[registry.tag[field]] = {
            name = field, least = (mark == "?" or mark == "*") and 0 or 1, most = tonumber(most) or 1,
            repeats = most ~= "",
        }
    end
    return rows
end

local rules = {}
for key, layout in pairs(registry.layouts) do rules[key] = parsed(layout) end

function body.isContainer(tag)
    local low = tag % 0x8000
    return low >= 0x0100 and low <= 0x01FF
end

-- The TLVs of the outermost level of s[from, to): a list of { tag, at, length }, `at` is the start of the value,
-- counted from 1. The structure must have been checked.
function body.level(s, from, to)
    local fields = {}
    local at = from
    while at < to do
        local tag, length = u16(s, at), u32(s, at + 2)
        fields[#fields + 1] = { tag = tag, at = at + 6, length = length }
        at = at + 6 + length
    end
    return fields
end

-- Checks the structure (§4.1 to §4.3) and counts the TLVs. One loop is used, so the depth of the input needs no stack.
local function walk(s, from, to)
    local ends, count, at = { to }, 0, from
    while true do
        while at == ends[#ends] do
            ends[#ends] = nil
            if #ends == 0 then return nil, count end
        end
        local limit = ends[#ends]
        if limit - at < 6 then return "malformedTLV", at - 1 end
        local tag, length = u16(s, at), u32(s, at + 2)
        if length > limit - at - 6 then return "malformedTLV", at - 1 end
        count = count + 1
        if count > body.maxCount then return "tooManyTLVs", at - 1 end
        at = at + 6
        if body.isContainer(tag) then
            if #ends > body.maxDepth then return "tlvTooDeep", at - 7 end
            ends[#ends + 1] = at + length
        else
            at = at + length
        end
    end
end

-- The first field of a level with a tag.
function body.find(fields, tagName)
    for _, field in ipairs(fields) do
        if field.tag == registry.tag[tagName] then return field end
    end
end

-- Checks the numbers of TLVs (W-27), which precede all fields (W-8).
local function checkCounts(s, typeName, count)
    if count <= maxContentCount or not rules[typeName][registry.tag.content] then return nil end
    local isRelayed = typeName ~= "data"
    for _, field in ipairs(body.level(s, 1, #s + 1)) do
        if field.tag == registry.tag.content then
            local _, inside = walk(s, field.at, field.at + field.length)
            if inside > maxContentCount then return "tooManyTLVs", field.at - 1 end
        end
        for _, tag in ipairs(relayTags) do isRelayed = isRelayed or field.tag == registry.tag[tag] end
    end
    if not isRelayed and count > maxClientCount then return "tooManyTLVs", 0 end
end

-- Checks a content (W-63).
local function checkContent(s, content, kind)
    if kind ~= registry.kind.text then return nil end
    local found
    for _, field in ipairs(body.level(s, content.at, content.at + content.length)) do
        if field.tag == registry.tag.text then
            if found then return "duplicateField", field.at - 7 end
            found = field
        end
    end
    if not found then return "missingField", content.at - 1 end
    if found.length < 1 or not isText(s:sub(found.at, found.at + found.length - 1)) then
        return "invalidValue", found.at - 1
    end
end

-- Checks one level by its layout, which `key` names. Returns the fields by name.
local function checkLevel(s, key, from, to)
    local seen = {}
    local rows = rules[key]
    for _, field in ipairs(body.level(s, from, to)) do
        local row = rows[field.tag]
        local at = field.at - 7
        if not row then
            if field.tag >= 0x8000 then return nil, "unknownCritical", at end
        else
            local count = (seen[row.name] and seen[row.name].count or 0) + 1
            if count > row.most then return nil, row.repeats and "tooManyTLVs" or "duplicateField", at end
            local form = forms[row.name]
            if form and not form(s:sub(field.at, field.at + field.length - 1)) then
                return nil, "invalidValue", at
            end
            seen[row.name] = seen[row.name] or field
            seen[row.name].count = count
            if row.name == "sessionPosition" then
                seen.positions = seen.positions or {}
                local session = u16(s, field.at)
                if seen.positions[session] then return nil, "duplicateField", at end
                seen.positions[session] = true
            end
        end
    end
    for _, row in pairs(rows) do
        if row.least > 0 and not seen[row.name] then return nil, "missingField", from - 1 end
    end
    return seen
end

-- The rules between the fields of a type.
local checks = {}

function checks.data(s, seen, sender)
    local relayed = 0
    for _, tag in ipairs(relayTags) do
        if seen[tag] then relayed = relayed + 1 end
    end
    if relayed ~= 0 and relayed ~= 4 then return "invalidValue", 0 end
    if sender and relayed ~= (sender == "server" and 4 or 0) then return "invalidValue", 0 end
    return checkContent(s, seen.content, u16(s, seen.kind.at))
end

function checks.transient(s, seen)
    local count = (seen.typing and 1 or 0) + (seen.presence and 1 or 0) + ((seen.kind or seen.content) and 1 or 0)
    if count > 1 then return "invalidValue", 0 end
    if count == 0 or (seen.kind == nil) ~= (seen.content == nil) then return "missingField", 0 end
    if seen.content then return checkContent(s, seen.content, u16(s, seen.kind.at)) end
end

function checks.receipt(s, seen)
    local kind = s:byte(seen.receiptKind.at)
    if kind == 3 and not (seen.counter and seen.code) or kind ~= 3 and not seen.upTo then return "missingField", 0 end
end

function checks.ack(s)
    local sessions = {}
    for _, field in ipairs(body.level(s, 1, #s + 1)) do
        if field.tag == registry.tag.sessionAck then
            local session = u16(s, field.at)
            if sessions[session] then return "protocolViolation", field.at - 7 end
            sessions[session] = true
        end
    end
end

function checks.gap(s, seen)
    if compare(s, seen.first.at, one, 1) < 0 or compare(s, seen.upTo.at, s, seen.first.at) < 0 then
        return "invalidValue", 0
    end
end

-- An update is empty, or has an entry (W-102).
function checks.update(s, seen)
    if seen.room then
        if not (seen.membership and seen.head and seen.first) then return "missingField", 0 end
    elseif next(seen) then
        return "missingField", 0
    end
end

local function checkContainers(kind)
    return function(s, seen)
        for _, container in ipairs({ "limits", "resume" }) do
            local field = seen[container]
            if field then
                local _, code, at = checkLevel(s, container .. " of " .. kind, field.at, field.at + field.length)
                if code then return code, at end
            end
        end
    end
end
checks.hello, checks.welcome = checkContainers("hello"), checkContainers("welcome")

-- The fields that identify a message or a request.
local namedBy = { data = "counter", request = "correlation" }

-- Whether a code is that of a field's error: 0x04xx.
local function isOfField(code) return registry.code[code] >= 0x0400 end

-- Checks a complete body. Returns nil, or the name of the code, the offset, and "message" if only that is refused.
function body.check(typeName, s, sender)
    local code, at = walk(s, 1, #s + 1)
    if code then return code, at end
    code, at = checkCounts(s, typeName, at)
    if code then return code, at end
    local seen
    seen, code, at = checkLevel(s, typeName, 1, #s + 1)
    if seen and checks[typeName] then code, at = checks[typeName](s, seen, sender) end
    if not code then return nil end
    if typeName == "hello" and isOfField(code) then code = "invalidHello" end
    if isOfField(code) and namedBy[typeName] then
        local field = body.find(body.level(s, 1, #s + 1), namedBy[typeName])
        if field and forms[namedBy[typeName]](s:sub(field.at, field.at + field.length - 1)) then
            return code, at, "message"
        end
        -- A client processes an invalid message that a relay has accepted as a gap (R-32).
        if typeName == "data" then return code, at, sender == "server" and "message" or "session" end
    end
    return code, at
end

return body
