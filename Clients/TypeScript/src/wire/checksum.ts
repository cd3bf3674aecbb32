// CRC-32 (W-9) and Adler-32 (RFC 1950).

const table = new Uint32Array(256).map((_, index) => {
    let value = index
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
    return value
})

/** Continues a CRC-32 of IEEE 802.3 over bytes. */
export function crc32(bytes: Uint8Array, previous = 0): number {
    let value = ~previous
    for (const byte of bytes) value = table[(value ^ byte) & 0xff]! ^ (value >>> 8)
    return ~value >>> 0
}

/** Returns the Adler-32 of bytes. */
export function adler32(bytes: Uint8Array): number {
    let low = 1
    let high = 0
    for (const byte of bytes) {
        low = (low + byte) % 65521
        high = (high + low) % 65521
    }
    return high * 65536 + low
}
