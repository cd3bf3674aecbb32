-- The state of links and connections while a capture is parsed for the first time (Specs/connection.md, session.md):
-- the phase, the negotiated parameters, the sequences of each direction of each session, unfinished messages.
--
-- This module does not use Wireshark. `link.read` receives one frame and returns a record of its results, which the
-- dissector keeps for later dissections of the frame.

local registry = require("martlet_registry")
local body = require("martlet_body")
local link = {}

link.handshakeBody = 12 * 1024
local maxUncredited = 64 * 1024
local credited = { data = true, request = true, response = true }
-- The frames that a server may send before welcome (§5).
local beforeWelcome = { welcome = true, reject = true, goaway = true, auth = true }

-- By link ID, eight bytes.
local links = {}

function link.reset() links = {} end

-- A link: `whole` if its beginning was parsed, so that sequences start at 1; `sure` if parsing began between two
-- messages.
local function newLink(whole, sure) return { whole = whole, sure = whole or sure, sessions = {}, id = nil } end

-- A connection without parsed frames. `handshake` states that its first packet is in the capture; `limits` are the
-- assumptions otherwise: maxBody, maxMessage, and whether a stream begins between two messages.
function link.newConnection(handshake, limits)
    return {
        phase = handshake and "handshake" or nil,
        maxBody = handshake and link.handshakeBody or limits.maxBody,
        maxMessage = limits.maxMessage,
        sure = limits.betweenMessages,
        zlib = not handshake,
        compact = nil,
        link = nil,
        client = nil,
    }
end

-- The sender with that address: "client", "server" or nil.
function link.sender(connection, source)
    if not connection.client then return nil end
    return connection.client == source and "client" or "server"
end

-- The first frames determine the roles, and whether the handshake follows.
function link.recognize(connection, typeNumber, source, destination)
    local name = registry.types[typeNumber]
    local rule = registry.rules[typeNumber]
    if not connection.client then
        if rule and rule.from == "client" then connection.client = source end
        if rule and rule.from == "server" then connection.client = destination end
    end
    if connection.phase then return end
    if name == "hello" or name == "reject" then
        connection.phase, connection.zlib, connection.maxBody = "handshake", false, link.handshakeBody
    elseif name ~= "welcome" and name ~= "goaway" and name ~= "auth" then
        connection.phase = "established"
    end
end

-- Checks a header against the phase and its type (Specs/wire.md §5, §13.1), in order. Returns the name of the code or
-- nil.
function link.check(connection, header, sender, isFirst)
    local name, rule = registry.types[header.type], registry.rules[header.type]
    if isFirst and sender == "client" and connection.phase == "handshake" and name ~= "hello" then
        return "expectedHello"
    end
    if header.compression ~= 0 then
        local resuming = connection.phase == "handshake" and sender == "client" and connection.resumesWithZlib
        if rule and rule.handshake or not (connection.zlib or resuming) then return "compressionNotAllowed" end
    end
    if sender == "client" and connection.phase == "established" and name == "hello" then return "protocolViolation" end
    if sender == "server" and connection.phase == "handshake" and not beforeWelcome[name] then
        return "protocolViolation"
    end
    if sender == "server" and connection.phase == "established" and (name == "welcome" or name == "reject") then
        return "protocolViolation"
    end
    if not rule then return header.type >= 0x8000 and "unknownCritical" or nil end
    local inPlace = rule.session == "any" or (rule.session == "0") == (header.session == 0)
    if header.reliable ~= rule.reliable or not inPlace or not header.reliable and header.sequence ~= 0
        or header.more and not rule.fragments or sender and rule.from and rule.from ~= sender
        or name == "open" and sender and header.session % 2 ~= (sender == "client" and 1 or 0) then
        return "protocolViolation"
    end
end

local function sessionOf(connection, id)
    local known = connection.link
    if not known.sessions[id] then
        local next = known.whole and 1 or nil
        known.sessions[id] = {
            client = { next = next, sure = known.sure }, server = { next = next, sure = known.sure },
        }
    end
    return known.sessions[id]
end

-- Records the sequence of a reliable frame (S-17).
local function locate(way, header, record)
    local low = header.sequence
    if not way.next then
        way.next = low
    end
    local distance = (low - way.next) % 4294967296
    if distance >= 2147483648 then distance = distance - 4294967296 end
    record.sequence = way.next + distance
    record.again = distance < 0
    if distance >= 0 then
        record.missing = distance
        way.next = record.sequence + 1
        if distance > 0 then way.begun, way.sure = nil, false end
    end
end

-- Adds a frame to its message (§3.9). Returns the name of the code if that is not permitted, and true if the message is
-- incomplete.
local function join(connection, way, name, header, record)
    if record.again then return nil, header.more and name ~= nil end
    local more = header.more and name ~= nil
    local begun = way.begun
    if not begun then
        if more then
            way.begun = { type = header.type, parts = { record.body }, size = #record.body, records = { record } }
            record.part = 1
        end
        return nil, more
    end
    if begun.type ~= header.type then return "protocolViolation" end
    begun.size = begun.size + #record.body
    begun.parts[#begun.parts + 1] = record.body
    begun.records[#begun.records + 1] = record
    record.part = #begun.parts
    if begun.size > (credited[name] and connection.maxMessage or maxUncredited) then
        way.begun, way.sure = nil, not more
        record.refused = "messageTooLarge"
        return nil, true
    end
    if more then return nil, true end
    way.begun = nil
    record.body = table.concat(begun.parts)
    record.fragments = {}
    for i, part in ipairs(begun.records) do
        record.fragments[i] = part.number
        part.wholeIn = record.number
    end
    return nil, false
end

-- Applies the effect of a valid body on the following frames.
local function follow(connection, name, header, sender, record)
    local s = record.body
    local fields = body.level(s, 1, #s + 1)
    local function value(tag, level)
        local field = body.find(level or fields, tag)
        return field and s:sub(field.at, field.at + field.length - 1), field
    end
    if name == "hello" then
        local _, resume = value("resume")
        if resume then
            local id = value("link", body.level(s, resume.at, resume.at + resume.length))
            connection.link = links[id] or newLink(false)
            connection.link.id = id
            connection.resumesWithZlib = value("features"):byte(8) % 2 == 1
        else
            connection.link = newLink(true)
            connection.resumesWithZlib = false
        end
    elseif name == "welcome" then
        local _, limits = value("limits")
        local level = body.level(s, limits.at, limits.at + limits.length)
        connection.phase = "established"
        connection.maxBody = body.u32(value("maxBody", level), 1)
        connection.maxMessage = body.u32(value("maxMessage", level), 1)
        local features = value("features"):byte(8)
        connection.zlib = features % 2 == 1
        -- Before 1.1 the other bits have no meaning (W-41).
        local is11 = body.u16(value("spokenVersion"), 1) >= 0x0101
        connection.compact = is11 and math.floor(features / 16) % 2 == 1
        connection.sharedDeflate = connection.compact and math.floor(features / 32) % 2 == 1
        connection.link.id = value("link")
        links[connection.link.id] = connection.link
    elseif name == "reject" then
        connection.link = nil
    elseif name == "open" then
        sessionOf(connection, header.session).room = value("room")
    elseif name == "close" then
        local session = sessionOf(connection, header.session)
        session[sender .. "Closed"] = true
        session.over = session.clientClosed and session.serverClosed
    elseif name == "reset" then
        local session = sessionOf(connection, body.u16(value("session"), 1))
        session.over, session.client.begun, session.server.begun = true, nil, nil
    end
end

-- Processes one frame with a valid header: `record` contains its number and its inflated body, and receives the
-- results. `key` is "client" or "server", an assumption if `sender` is unknown. Returns the name of the code that ends
-- the stream, and its offset in the body.
function link.read(connection, header, sender, key, record)
    local name = registry.types[header.type]
    if not connection.link then connection.link = newLink(connection.phase == "handshake", connection.sure) end
    record.link = connection.link
    local session = sessionOf(connection, header.session)
    local unfinished, sure = false, true
    if header.reliable then
        if name == "open" and session.over then
            connection.link.sessions[header.session] = nil
            session = sessionOf(connection, header.session)
            session.client.next, session.server.next = 1, 1
        end
        local way = session[key]
        locate(way, header, record)
        sure = way.sure and not record.again
        local code
        code, unfinished = join(connection, way, name, header, record)
        if code then return code end
        if not header.more then way.sure = true end
    end
    record.session = session
    if not name or unfinished then
        record.partial = unfinished and name ~= nil
        return nil
    end
    local code, at, scope = body.check(name, record.body, sender)
    if code then
        if scope then
            record.refused, record.at = code, at
            return nil
        end
        -- The end of a message whose beginning is not in the capture is not a complete body.
        if not sure and registry.rules[header.type].fragments then
            record.partial = true
            return nil
        end
        return code, at
    end
    record.whole = true
    follow(connection, name, header, key, record)
    return nil
end

return link
