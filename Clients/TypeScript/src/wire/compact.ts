// Compact TLVs to bodies of wire.md section 4 (wire.md section 15.6).

import { Writer } from './bytes.js'
import { WireError } from './errors.js'
import { type TagInfo, tagsByCompactCode, widthOf } from './tables.js'
import { maxDepth, maxTLVs } from './tlv.js'
import { type CompactReader, violation } from './varint.js'

/** Builds a body of compact TLVs. Its bounds are checked in the order of its bytes (W-91). */
export class CompactBody {
    private readonly writer = new Writer()
    private count = 0

    constructor(private readonly maxBody: number) { }

    build(reader: CompactReader): Uint8Array {
        const open: { reader: CompactReader, lengthAt: number }[] = [{ reader, lengthAt: -1 }]
        for (;;) {
            const current = open.at(-1)!
            if (current.reader.left === 0) {
                open.pop()
                if (current.lengthAt < 0) return this.writer.take()
                this.writer.setU32(current.lengthAt, this.writer.length - current.lengthAt - 4)
                continue
            }
            const inner = this.tlv(current.reader, open.length)
            if (inner !== undefined) open.push({ reader: inner, lengthAt: this.writer.length - 4 })
        }
    }

    /** Adds a TLV, and returns a reader of its TLVs if it is a container. */
    private tlv(reader: CompactReader, depth: number): CompactReader | undefined {
        const code = reader.u8()
        if (code === 0) {
            const tag = reader.u16()
            const length = reader.length()
            this.head(tag, length)
            this.writer.bytes(reader.take(length))
            return undefined
        }
        const info = tagsByCompactCode.get(code) ?? violation()
        if (info.type === 'container') {
            const length = reader.length()
            this.head(info.number, 0)
            if (depth > maxDepth) throw new WireError('tlvTooDeep')
            return reader.inner(length)
        }
        const value = compactValue(info, reader)
        this.head(info.number, value.length)
        this.writer.bytes(value)
        return undefined
    }

    private head(tag: number, length: number): void {
        if (++this.count > maxTLVs) throw new WireError('tooManyTLVs')
        if (this.writer.length + 6 + length > this.maxBody) throw new WireError('frameTooLarge')
        this.writer.u16(tag).u32(length)
    }
}

/** Reads a value in the shape of its tag (W-90). */
function compactValue(info: TagInfo, reader: CompactReader): Uint8Array {
    const writer = new Writer()
    const width = widthOf(info.type)
    const integer = (bytes: number): void => {
        const value = reader.varint()
        if (value >= 1n << BigInt(8 * bytes)) violation()
        writer.integer(value, bytes)
    }
    if (width !== 0) {
        integer(width)
    } else if (info.type === 'integers') {
        for (const part of info.parts) integer(part.width)
        if (info.ranges > 0) {
            const count = reader.varint()
            if (count > BigInt(info.ranges)) violation()
            for (let index = 0n; index < 2n * count; index++) integer(8)
        }
    } else {
        return reader.take(reader.length())
    }
    return writer.take()
}
