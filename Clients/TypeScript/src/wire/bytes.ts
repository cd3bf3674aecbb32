// Big-endian integers, text and a growing buffer.

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

export const empty = new Uint8Array(0)

/** Encodes text in UTF-8. A lone surrogate becomes U+FFFD. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text)

/** Decodes well-formed UTF-8, or returns undefined (W-30). */
export function textOf(bytes: Uint8Array): string | undefined {
    try {
        return decoder.decode(bytes)
    } catch {
        return undefined
    }
}

export const u16At = (bytes: Uint8Array, at: number): number => (bytes[at]! << 8) | bytes[at + 1]!

export const u32At = (bytes: Uint8Array, at: number): number => u16At(bytes, at) * 65536 + u16At(bytes, at + 2)

export const u64At = (bytes: Uint8Array, at: number): bigint =>
    (BigInt(u32At(bytes, at)) << 32n) | BigInt(u32At(bytes, at + 4))

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
    return a.length === b.length && a.every((byte, index) => byte === b[index])
}

/** Bytes that grow at the end. */
export class Writer {
    private buffer: Uint8Array
    private used = 0

    constructor(capacity = 128) {
        this.buffer = new Uint8Array(capacity)
    }

    get length(): number {
        return this.used
    }

    u8(value: number): this {
        this.grow(1)
        this.buffer[this.used++] = value
        return this
    }

    u16(value: number): this {
        return this.u8(value >>> 8).u8(value)
    }

    u32(value: number): this {
        return this.u16(value >>> 16).u16(value & 0xffff)
    }

    u64(value: bigint): this {
        return this.u32(Number((value >> 32n) & 0xffffffffn)).u32(Number(value & 0xffffffffn))
    }

    /** Writes an integer of a width of 1, 2, 4 or 8 bytes. */
    integer(value: number | bigint, width: number): this {
        if (width === 8) return this.u64(BigInt(value))
        const number = Number(value)
        return width === 4 ? this.u32(number) : width === 2 ? this.u16(number) : this.u8(number)
    }

    bytes(value: Uint8Array): this {
        this.grow(value.length)
        this.buffer.set(value, this.used)
        this.used += value.length
        return this
    }

    /** Replaces the integer of 32 bits at a position. */
    setU32(at: number, value: number): void {
        new DataView(this.buffer.buffer).setUint32(at, value)
    }

    /** Returns a copy of the bytes. */
    take(): Uint8Array {
        return this.buffer.slice(0, this.used)
    }

    private grow(count: number): void {
        if (this.used + count <= this.buffer.length) return
        const next = new Uint8Array(Math.max(this.buffer.length * 2, this.used + count))
        next.set(this.buffer.subarray(0, this.used))
        this.buffer = next
    }
}

/** Bytes that are added at the end and removed at the front. */
export class ByteQueue {
    private buffer = empty
    private start = 0

    get length(): number {
        return this.buffer.length - this.start
    }

    add(bytes: Uint8Array): void {
        if (this.length === 0) {
            this.buffer = bytes.slice()
        } else {
            const next = new Uint8Array(this.length + bytes.length)
            next.set(this.buffer.subarray(this.start))
            next.set(bytes, this.length)
            this.buffer = next
        }
        this.start = 0
    }

    /** Returns the first bytes, which the next `add` may move. */
    peek(count: number): Uint8Array {
        return this.buffer.subarray(this.start, this.start + count)
    }

    remove(count: number): void {
        this.start += count
    }
}
