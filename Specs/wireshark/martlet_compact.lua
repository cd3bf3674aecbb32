-- Compact frames (Specs/wire.md §15.3 to §15.5): the context of one direction, and the frame of §3 that each
-- represents. Nothing is parsed after an error, so the context may be updated while a frame is parsed.

local registry = require("martlet_registry")
local tlv = require("martlet_compact_tlv")
local sum = require("martlet_sum")
local compact, forms = {}, registry.form

local fail, u16, u32, u64 = tlv.fail, tlv.u16, tlv.u32, tlv.u64
local maxSessionCount, authorCount, maxSenderCount = 256, 8, 128
local maxU16, maxU32 = 0xFFFF, 0xFFFFFFFF
local urgent, normal = 0, 2
local magicAndVersion = string.char(0x8D, 0x4D, 0x52, 0x54, 1, 0)
local never = { hello = true, welcome = true, reject = true, goaway = true, auth = true }
local zero, one = UInt64.new(0), UInt64.new(1)

-- Whether a byte has the bit.
local function has(byte, bit) return math.floor(byte / bit) % 2 == 1 end

local function integer(s)
    local number = 0
    for i = 1, #s do number = number * 256 + s:byte(i) end
    return number
end

function compact.newContext()
    local context = {
        session = 0, timestamp = 0, counter = zero, echoed = 0, linkCredit = zero, acceptedAt = zero, authors = {},
        sessions = {}, count = 0,
    }
    for place = 0, authorCount - 1 do context.authors[place] = {} end
    return context
end

-- The state of a session in the context.
local function of(context, id)
    local found = context.sessions[id]
    if not found then
        -- Session 0 exists from the start.
        if id ~= 0 and context.count == maxSessionCount - 1 then fail() end
        if id ~= 0 then context.count = context.count + 1 end
        found = {
            priority = id == 0 and urgent or normal, delivered = zero, counter = zero, offset = zero, cumulative = zero,
            credit = zero,
        }
        context.sessions[id] = found
    end
    return found
end

-- Bodies (W-86)

local function textBody(counter, text)
    return tlv.tlv("counter", u64(counter)) .. tlv.tlv("kind", u16(registry.kind.text))
        .. tlv.tlv("content", tlv.tlv("text", text))
end

local function words(cursor, isInUTF16)
    local s = cursor:take(cursor:rest())
    return isInUTF16 and tlv.utf8(s) or s
end

local bodies = {}

bodies[forms.textAt] = function(cursor, context, _, form)
    context.counter = context.counter + one
    if form == forms.textAt then context.counter = context.counter + cursor:signed() end
    return textBody(context.counter, words(cursor, form == forms.text16))
end
bodies[forms.text], bodies[forms.text16] = bodies[forms.textAt], bodies[forms.textAt]

bodies[forms.delivery] = function(cursor, context, session)
    local bits = cursor:byte()
    if bits % 0x40 >= authorCount then fail() end
    local author = context.authors[bits % authorCount]
    if has(bits, 0x80) then
        author.device = cursor:take(8)
        author.sender = cursor:take(cursor:small(maxSenderCount))
        author.counter = zero
    end
    if (author.sender or "") == "" then fail() end
    session.delivered = session.delivered + one + cursor:signed()
    context.acceptedAt = context.acceptedAt + cursor:signed()
    author.counter = author.counter + one + cursor:signed()
    return tlv.tlv("offset", u64(session.delivered)) .. tlv.tlv("acceptedAt", u64(context.acceptedAt))
        .. tlv.tlv("device", author.device) .. tlv.tlv("sender", author.sender)
        .. textBody(author.counter, words(cursor, has(bits, 0x40)))
end

bodies[forms.accepted] = function(cursor, _, session, form)
    local counter, offset, count = session.counter + one, session.offset + one, 1
    if form == forms.accepted then
        counter, offset = counter + cursor:signed(), offset + cursor:signed()
        count = cursor:small(maxU32)
    end
    local others = UInt64.new(count) - one
    session.counter, session.offset = counter + others, offset + others
    return tlv.tlv("acceptedRun", u64(counter) .. u32(count) .. u64(offset))
end
bodies[forms.acceptedNext] = bodies[forms.accepted]

bodies[forms.ack] = function(cursor, context, _, form)
    local bits = form == forms.ack and cursor:byte() or 0
    if bits >= 0x20 then fail() end
    local id = has(bits, 0x01) and cursor:small(maxU16) or context.session
    if id == 0 and not has(bits, 0x01) then fail() end
    local session = of(context, id)
    local echo = ""
    session.cumulative = session.cumulative + (has(bits, 0x02) and cursor:varint() or one)
    if has(bits, 0x04) then session.credit = session.credit + cursor:varint() end
    if has(bits, 0x08) then context.linkCredit = context.linkCredit + cursor:varint() end
    if has(bits, 0x10) then
        context.echoed = (context.echoed + cursor:varint():lower()) % 2 ^ 32
        echo = tlv.tlv("echo", u32(context.echoed) .. u32(cursor:small(maxU32)))
    end
    return echo .. tlv.tlv("linkCredit", u64(context.linkCredit))
        .. tlv.tlv("sessionAck", u16(id) .. u64(session.cumulative) .. u64(session.credit))
end
bodies[forms.ackNext] = bodies[forms.ack]

-- The fields that the byte of fields indicates (W-81).
local function announced(cursor, fields, form)
    local values = {}
    if has(fields, 0x01) then values.session = cursor:small(maxU16) end
    if has(fields, 0x02) then values.sequence = cursor:take(4) end
    if has(fields, 0x04) then values.later = cursor:varint():lower() end
    if has(fields, 0x08) then values.flags = cursor:byte() end
    values.type = has(fields, 0x10) and integer(cursor:take(2)) or registry.typeOfForm[form]
    if has(fields, 0x20) then values.compression = cursor:byte() end
    return values
end

-- The header without its length and checksum, and the state of its session. The context is not updated yet.
local function header(context, values)
    local rule = registry.rules[values.type]
    local isOnLink = rule ~= nil and rule.session == "0"
    local id = values.session or isOnLink and 0 or context.session
    if id == 0 and not isOnLink and not values.session then fail() end
    local session = of(context, id)
    local flags = values.flags or 0x08 + session.priority * 0x10 + (rule and rule.reliable and 1 or 0)
    if not has(flags, 0x08) or flags >= 0x40 then fail() end
    local sequence = values.sequence
    if not sequence then
        if has(flags, 0x01) and not session.next then fail() end
        sequence = u32(has(flags, 0x01) and session.next or 0)
    end
    return {
        type = values.type, sequence = sequence, timestamp = (context.timestamp + (values.later or 0)) % 2 ^ 32,
        flags = flags, compression = values.compression or 0, id = id, session = session,
    }
end

local function learn(context, head)
    if head.id ~= 0 then context.session = head.id end
    context.timestamp = head.timestamp
    head.session.priority = math.floor(head.flags / 0x10) % 4
    if has(head.flags, 0x01) then head.session.next = integer(head.sequence) + 1 end
end

-- Parses the next compact frame: its `form`, its byte of `fields` if present, its position, and the `bytes` of the
-- frame in the form of §3.
function compact.read(cursor, context, maxBody)
    local from = cursor.at
    local first = cursor:byte()
    local form, fields = first % 64, has(first, 0x40) and cursor:byte() or 0
    if fields >= 0x40 or has(fields, 0x10) ~= (form == 0) or form ~= 0 and not registry.typeOfForm[form] then fail() end
    local values = announced(cursor, fields, form)
    if never[registry.types[values.type]] or values.compression and form >= forms.text then fail() end
    if (values.compression or 0) > 1 then fail("compressionNotAllowed") end
    local head = header(context, values)
    local bodyAt, body = cursor.at, nil
    if form >= forms.acceptedNext then
        if has(first, 0x80) then fail() end
        body = bodies[form](cursor, context, head.session, form)
    else
        local s = cursor:take(has(first, 0x80) and cursor:small(cursor:rest()) or cursor:rest())
        bodyAt = cursor.at - #s
        if values.compression then
            body = s
        elseif bodies[form] then
            body = bodies[form](tlv.cursor(s), context, head.session, form)
        else
            body = tlv.expand(s, maxBody)
        end
    end
    if #body > maxBody then fail("frameTooLarge") end
    learn(context, head)
    local front = magicAndVersion .. u16(head.type) .. head.sequence .. u32(head.timestamp)
        .. string.char(head.flags, head.compression) .. u16(head.id) .. u32(#body)
    return {
        form = form, fields = has(first, 0x40) and fields or nil, from = from, bodyFrom = bodyAt, to = cursor.at - 1,
        bytes = front .. u32(sum.crc32(front, sum.crc32(body))) .. body,
    }
end

return compact
