// Varints, and a reader of compact values (W-80).

import { WireError } from './errors.js'

const mask64 = 2n ** 64n - 1n

/** Reads compact values of a range of bytes. Anything that is missing is `protocolViolation` (W-79). */
export class CompactReader {
    constructor(readonly bytes: Uint8Array, private at: number, readonly end: number) { }

    get position(): number {
        return this.at
    }

    get left(): number {
        return this.end - this.at
    }

    u8(): number {
        if (this.at >= this.end) return violation()
        return this.bytes[this.at++]!
    }

    u16(): number {
        return this.u8() << 8 | this.u8()
    }

    u32(): number {
        return this.u16() * 65_536 + this.u16()
    }

    u64(): bigint {
        return BigInt(this.u32()) << 32n | BigInt(this.u32())
    }

    /** A varint of at most 10 bytes and 64 bits. */
    varint(): bigint {
        let low = 0
        for (let index = 0; index < 4; index++) {
            const byte = this.u8()
            low |= (byte & 0x7f) << (7 * index)
            if (byte < 0x80) return BigInt(low)
        }
        let value = BigInt(low)
        for (let index = 4; index < 10; index++) {
            const byte = this.u8()
            value |= BigInt(byte & 0x7f) << BigInt(7 * index)
            if (byte < 0x80) return value > mask64 ? violation() : value
        }
        return violation()
    }

    /** A varint of at most so many bits. */
    varintOf(bits: number): number {
        const value = this.varint()
        if (value >= 1n << BigInt(bits)) violation()
        return Number(value)
    }

    signed(): bigint {
        const value = this.varint()
        return value & 1n ? -(value >> 1n) - 1n : value >> 1n
    }

    /** The length of something that must fit into the rest. */
    length(): number {
        const value = this.varint()
        if (value > BigInt(this.left)) violation()
        return Number(value)
    }

    take(count: number): Uint8Array {
        if (count > this.left) violation()
        this.at += count
        return this.bytes.slice(this.at - count, this.at)
    }

    /** A reader of the next bytes, which this one skips. */
    inner(count: number): CompactReader {
        this.at += count
        return new CompactReader(this.bytes, this.at - count, this.at)
    }
}

/** Reports a part of a payload that does not conform to wire.md section 15. */
export function violation(): never {
    throw new WireError('protocolViolation')
}

/** A sum modulo 2^64. */
export const sum64 = (a: bigint, b: bigint): bigint => (a + b) & mask64
