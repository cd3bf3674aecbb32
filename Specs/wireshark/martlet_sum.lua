-- CRC-32 of IEEE 802.3 and Adler-32 of RFC 1950, implemented with tables.

local sum = {}
local bits = bit32 or bit or require("bit")
local bxor, band, rshift = bits.bxor, bits.band, bits.rshift

local crcs = {}
for i = 0, 255 do
    local crc = i
    for _ = 1, 8 do
        crc = crc % 2 == 1 and bxor(rshift(crc, 1), 0xEDB88320) or rshift(crc, 1)
    end
    crcs[i] = crc
end

-- The CRC-32 of a string, continued from that of the preceding bytes.
function sum.crc32(s, before)
    local crc = bxor(before or 0, 0xFFFFFFFF)
    for at = 1, #s, 4096 do
        for _, byte in ipairs({ s:byte(at, at + 4095) }) do
            crc = bxor(crcs[band(bxor(crc, byte), 0xFF)], rshift(crc, 8))
        end
    end
    return bxor(crc, 0xFFFFFFFF) % 4294967296
end

function sum.adler32(s)
    local a, b = 1, 0
    for at = 1, #s, 4096 do
        for _, byte in ipairs({ s:byte(at, at + 4095) }) do
            a = (a + byte) % 65521
            b = (b + a) % 65521
        end
    end
    return b * 65536 + a
end

return sum
