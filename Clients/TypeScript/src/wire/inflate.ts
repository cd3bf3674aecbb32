// Raw deflate (RFC 1951) with a window, and zlib (RFC 1950).
//
// It is synchronous and strict: a final block of a shared stream, or an incomplete one, is an error (W-92), and output
// is bounded before it is held (W-19, W-95). DecompressionStream reports neither.

import { adler32 } from './checksum.js'
import { empty, u32At } from './bytes.js'
import { WireError } from './errors.js'

const windowLength = 32_768
const lengthBases = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258]
const lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const distanceBases = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12289, 16385, 24577]
const distanceBits = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13]
const orderOfLengths = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

const fail = (): never => {
    throw new WireError('inflateFailed')
}

/** A Huffman code: the number of codes of each length, and the symbols in the order of their codes. */
interface Huffman {
    counts: Uint16Array
    symbols: Uint16Array
}

/** Makes a code of the lengths of its symbols. An incomplete code is permitted only with one code of one bit. */
function huffman(lengths: ArrayLike<number>, mayBeIncomplete: boolean): Huffman {
    const counts = new Uint16Array(16)
    for (let symbol = 0; symbol < lengths.length; symbol++) counts[lengths[symbol]!]++
    let left = 1
    for (let length = 1; length < 16; length++) {
        left = left * 2 - counts[length]!
        if (left < 0) fail()
    }
    const used = lengths.length - counts[0]!
    if (left > 0 && !(mayBeIncomplete && (used === 0 || (used === 1 && counts[1] === 1)))) fail()
    const offsets = new Uint16Array(16)
    for (let length = 1; length < 15; length++) offsets[length + 1] = offsets[length]! + counts[length]!
    const symbols = new Uint16Array(lengths.length)
    for (let symbol = 0; symbol < lengths.length; symbol++) {
        const length = lengths[symbol]!
        if (length !== 0) symbols[offsets[length]++] = symbol
    }
    return { counts, symbols }
}

const fixedLengths = huffman(Array.from({ length: 288 }, (_, s) => s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8), false)
const fixedDistances = huffman(new Array<number>(32).fill(5), false)

/** A stream of raw deflate, which keeps its window between calls. */
export class InflateStream {
    private history: Uint8Array
    private output = new Uint8Array(1024)
    private used = 0
    private input = empty
    private at = 0
    private bits = 0
    private bitCount = 0

    /** @param dictionary the bytes before the stream (W-93) */
    constructor(dictionary: Uint8Array = empty) {
        this.history = dictionary
    }

    /** Inflates a payload that was flushed, whose last four bytes are left out (W-92). */
    flushed(payload: Uint8Array, limit: number): Uint8Array {
        const input = new Uint8Array(payload.length + 4)
        input.set(payload)
        input.set([0, 0, 0xff, 0xff], payload.length)
        this.begin(input)
        do {
            if (this.block(limit)) fail()
        } while (this.at < input.length || this.bitCount >= 3)
        if (this.bitCount > 0) fail()
        return this.result()
    }

    /** Inflates a whole stream that begins at a position, and returns the position behind it. */
    whole(input: Uint8Array, from: number, limit: number): { bytes: Uint8Array, end: number } {
        this.begin(input)
        this.at = from
        while (!this.block(limit)) { /* the next block */ }
        return { bytes: this.result(), end: this.at }
    }

    private begin(input: Uint8Array): void {
        this.input = input
        this.at = this.bits = this.bitCount = this.used = 0
    }

    private result(): Uint8Array {
        const bytes = this.output.slice(0, this.used)
        const history = new Uint8Array(Math.min(windowLength, this.history.length + bytes.length))
        const fresh = bytes.subarray(Math.max(0, bytes.length - history.length))
        history.set(this.history.subarray(this.history.length - (history.length - fresh.length)))
        history.set(fresh, history.length - fresh.length)
        this.history = history
        return bytes
    }

    private take(count: number): number {
        while (this.bitCount < count) {
            if (this.at >= this.input.length) fail()
            this.bits |= this.input[this.at++]! << this.bitCount
            this.bitCount += 8
        }
        const value = this.bits & ((1 << count) - 1)
        this.bits >>>= count
        this.bitCount -= count
        return value
    }

    private symbol(code: Huffman): number {
        let value = 0
        let first = 0
        let index = 0
        for (let length = 1; length < 16; length++) {
            value |= this.take(1)
            const count = code.counts[length]!
            if (value - count < first) return code.symbols[index + value - first]!
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        return fail()
    }

    /** Inflates a block, and returns whether it is the final one. */
    private block(limit: number): boolean {
        const final = this.take(1) === 1
        const kind = this.take(2)
        if (kind === 0) this.stored(limit)
        else if (kind === 1) this.compressed(fixedLengths, fixedDistances, limit)
        else if (kind === 2) this.dynamic(limit)
        else fail()
        return final
    }

    private stored(limit: number): void {
        this.bits = this.bitCount = 0
        if (this.at + 4 > this.input.length) fail()
        const length = this.input[this.at]! | (this.input[this.at + 1]! << 8)
        const inverse = this.input[this.at + 2]! | (this.input[this.at + 3]! << 8)
        if (length !== (~inverse & 0xffff)) fail()
        this.at += 4
        if (this.at + length > this.input.length) fail()
        for (let index = 0; index < length; index++) this.emit(this.input[this.at++]!, limit)
    }

    private dynamic(limit: number): void {
        const lengthCount = this.take(5) + 257
        const distanceCount = this.take(5) + 1
        const orderCount = this.take(4) + 4
        if (lengthCount > 286 || distanceCount > 30) fail()
        const orders = new Uint8Array(19)
        for (let index = 0; index < orderCount; index++) orders[orderOfLengths[index]!] = this.take(3)
        const code = huffman(orders, false)
        const lengths = new Uint8Array(lengthCount + distanceCount)
        for (let index = 0; index < lengths.length;) {
            const symbol = this.symbol(code)
            if (symbol < 16) {
                lengths[index++] = symbol
                continue
            }
            if (symbol === 16 && index === 0) fail()
            const value = symbol === 16 ? lengths[index - 1]! : 0
            let count = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : 11 + this.take(7)
            if (index + count > lengths.length) fail()
            while (count-- > 0) lengths[index++] = value
        }
        if (lengths[256] === 0) fail()
        this.compressed(huffman(lengths.subarray(0, lengthCount), true),
            huffman(lengths.subarray(lengthCount), true), limit)
    }

    private compressed(lengths: Huffman, distances: Huffman, limit: number): void {
        for (;;) {
            const symbol = this.symbol(lengths)
            if (symbol === 256) return
            if (symbol < 256) {
                this.emit(symbol, limit)
                continue
            }
            if (symbol > 285) fail()
            let length = lengthBases[symbol - 257]! + this.take(lengthBits[symbol - 257]!)
            const distanceSymbol = this.symbol(distances)
            if (distanceSymbol > 29) fail()
            const distance = distanceBases[distanceSymbol]! + this.take(distanceBits[distanceSymbol]!)
            if (distance > this.used + this.history.length) fail()
            while (length-- > 0) {
                const from = this.used - distance
                this.emit(from >= 0 ? this.output[from]! : this.history[this.history.length + from]!, limit)
            }
        }
    }

    private emit(byte: number, limit: number): void {
        if (this.used >= limit) throw new WireError('inflateLimit')
        if (this.used === this.output.length) {
            const next = new Uint8Array(Math.min(this.output.length * 2, Math.max(limit, 1)))
            next.set(this.output)
            this.output = next
        }
        this.output[this.used++] = byte
    }
}

/** Inflates a body in zlib format, of at most `limit` bytes (W-19). */
export function inflateZlib(body: Uint8Array, limit: number): Uint8Array {
    const [method = 0, flags = 0] = body
    const isHead = (method & 15) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0 && (flags & 32) === 0
    if (body.length < 2 || !isHead) fail()
    const { bytes, end } = new InflateStream().whole(body, 2, limit)
    if (end + 4 !== body.length || u32At(body, end) !== adler32(bytes)) fail()
    return bytes
}
