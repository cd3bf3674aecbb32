-- Fields in the tree, and a summary of a body for the list of packets.

local registry = require("martlet_registry")
local body = require("martlet_body")
local tlv = {}

local headSize = 6

-- The consecutive integers of a value.
local function addParts(item, range, name, fields)
    local layout = fields.layouts[name]
    if not layout then return end
    local at = 0
    for i, part in ipairs(layout) do
        if at + part[2] > range:len() then return end
        item:add(fields.parts[name .. i], range(at, part[2]))
        at = at + part[2]
    end
    if name ~= "sessionAck" then return end
    while at + 16 <= range:len() do
        item:add(fields.parts["range1"], range(at, 8))
        item:add(fields.parts["range2"], range(at + 8, 8))
        at = at + 16
    end
end

-- Whether a number field supports the number of bytes.
local function fits(name, length)
    local size = ({ u8 = 1, u16 = 2, u32 = 4, u64 = 8 })[registry.values[name].type]
    return not size or size == length
end

local function addLevel(tree, range, fields, isContent, depth)
    local at = 0
    while at + headSize <= range:len() do
        local tag, length = range(at, 2):uint(), range(at + 2, 4):uint()
        if at + headSize + length > range:len() then return end
        -- In a content only the range of the registry has its registered meaning.
        local name = registry.tags[tag]
        if isContent and (tag < 0x0200 or tag > 0x02FF) then name = nil end
        local whole = range(at, headSize + length)
        local value = length > 0 and range(at + headSize, length) or nil
        local item
        if name and value and fits(name, length) then
            item = tree:add(fields.tags[tag], value)
        else
            item = tree:add(fields.all.unknown, value or whole, value and value:bytes():raw() or "")
            item:set_text(string.format("%s: %d bytes", name or string.format("0x%04X", tag), length))
        end
        item:add(fields.all.tag, range(at, 2))
        item:add(fields.all.tagLength, range(at + 2, 4))
        if not name and not isContent then item:add_proto_expert_info(fields.remarks.unknownTag) end
        if value then
            if name then addParts(item, value, name, fields) end
            if name == "features" and length == 8 then
                for bit, field in pairs(fields.features) do
                    item:add(field, value(7, 1), math.floor(value(7, 1):uint() / 2 ^ bit) % 2 == 1)
                end
            end
            if (name == "code" or name == "status") and length == 2 and value:uint() ~= 0 then
                local name = registry.codes[value:uint()] or string.format("0x%04X", value:uint())
                item:add_proto_expert_info(fields.remarks.errorCode, "Error code " .. name)
            end
            if body.isContainer(tag) and depth < body.maxDepth then
                addLevel(item, value, fields, isContent or name == "content", depth + 1)
            end
        end
        at = at + headSize + length
    end
end

-- Adds every field of a body.
function tlv.add(tree, tvb, fields) addLevel(tree, tvb:range(), fields, false, 0) end

-- The main fields of each type, in order.
local summaries = {
    data = "offset sender counter", transient = "typing presence sender", receipt = "upTo counter", gap = "first upTo",
    hello = "account", welcome = "account epoch", reject = "code", goaway = "code", open = "room cursor",
    opened = "head first", close = "code", reset = "session code", resume = "cursor",
    update = "room head", request = "correlation method", response = "correlation status",
    cancel = "correlation", ack = "linkCredit", auth = "credentialLifetime",
}
local isText = { sender = true, account = true, room = true, method = true }
local isCode = { code = true, status = true }

-- The maximum number of bytes of a text that are shown.
local maxTextCount = 40

local function clean(s) return (s:gsub("[%z\1-\31\127]", ".")) end

function tlv.summary(typeName, s)
    local wanted = {}
    for name in (summaries[typeName] or ""):gmatch("%S+") do wanted[name] = true end
    local words = {}
    local level = body.level(s, 1, #s + 1)
    for _, field in ipairs(level) do
        local name = registry.tags[field.tag]
        if wanted[name] then
            local value = s:sub(field.at, field.at + field.length - 1)
            local shown
            if isText[name] then
                shown = clean(value)
            else
                local number = 0
                for i = 1, #value do number = number * 256 + value:byte(i) end
                shown = isCode[name] and registry.codes[number] or string.format("%.0f", number)
            end
            words[#words + 1] = name .. " " .. shown
        elseif typeName == "data" and name == "content" then
            local text = body.find(body.level(s, field.at, field.at + field.length), "text")
            local start = text and s:sub(text.at, text.at + math.min(text.length, maxTextCount) - 1)
            if start then words[#words + 1] = '"' .. clean(start) .. '"' end
        end
    end
    return #words > 0 and table.concat(words, ", ") or nil
end

return tlv
