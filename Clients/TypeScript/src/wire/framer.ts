// From a stream of bytes to frames: frames of wire.md section 3, and packets of sections 15 and 16.

import { ByteQueue, u32At } from './bytes.js'
import { crc32 } from './checksum.js'
import { Context } from './context.js'
import { dictionaryText } from './dictionary.generated.js'
import { WireError } from './errors.js'
import { checkHeader, checkStart, headerLength, isChecksumRight, parseFrame, type RawFrame } from './header.js'
import { InflateStream } from './inflate.js'
import { Flag } from './registry.generated.js'
import { CompactReader } from './varint.js'

const maxPayload = 4_096
let dictionary: Uint8Array | undefined

function presetDictionary(): Uint8Array {
    dictionary ??= Uint8Array.from(atob(dictionaryText), (character) => character.charCodeAt(0))
    return dictionary
}

/** What is in effect on a connection for the framing of its bytes. */
export interface Framing {
    maxBody: number
    compact: boolean
    sharedDeflate: boolean
}

/** Reads the frames of one direction of a connection. After an error it must not be used. */
export class Framer {
    private readonly queue = new ByteQueue()
    private readonly context: Context
    private packet: CompactReader | undefined
    private packetAt = 0
    private consumed = 0
    private inflate: InflateStream | undefined

    /** The number of packets without frames, and of deflate streams that began (S-59). */
    emptyPackets = 0
    streams = 0

    /**
     * @param framing what is in effect
     * @param checkEarly called with a whole header before the body is waited for (W-32)
     */
    constructor(private framing: Framing, private readonly checkEarly?: (header: Uint8Array) => void) {
        this.context = new Context(framing.maxBody)
    }

    /** Changes what is in effect, for the frames behind the last one. */
    setFraming(framing: Framing): void {
        this.framing = framing
        this.context.maxBody = framing.maxBody
    }

    /** Whether a unit has begun and is incomplete. */
    get isInside(): boolean {
        return this.queue.length > 0
    }

    add(bytes: Uint8Array): void {
        this.queue.add(bytes)
    }

    /** Returns the next frame, or undefined if more bytes are needed. */
    next(): RawFrame | undefined {
        try {
            for (;;) {
                if (this.packet !== undefined) {
                    if (this.packet.left > 0) return this.context.read(this.packet, this.packetAt)
                    this.packet = undefined
                }
                if (this.queue.length === 0) return undefined
                const first = this.queue.peek(1)[0]!
                if (!this.framing.compact || first === 0x8d) return this.frame()
                if (!this.readPacket(first)) return undefined
            }
        } catch (error) {
            const { code } = error as WireError
            throw new WireError(code, 'connection', this.packet === undefined ? this.consumed : this.packetAt)
        }
    }

    /** Checks the end of the stream (W-2). */
    finish(): void {
        if (this.isInside) throw new WireError('unexpectedEOF', 'connection', this.consumed)
    }

    private remove(count: number): void {
        this.queue.remove(count)
        this.consumed += count
    }

    private frame(): RawFrame | undefined {
        const header = this.queue.peek(headerLength)
        checkStart(header)
        if (header.length < headerLength) return undefined
        const length = headerLength + checkHeader(header, this.framing.maxBody)
        this.checkEarly?.(header)
        if (this.queue.length < length) return undefined
        const bytes = this.queue.peek(length)
        const isRight = (bytes[16]! & Flag.checksummed) !== 0 && isChecksumRight(bytes)
        if (!isRight) throw new WireError('badChecksum')
        const frame = parseFrame(bytes, this.consumed)
        this.remove(length)
        return frame
    }

    /** Reads a packet, and returns whether it is complete (W-77, W-78). */
    private readPacket(first: number): boolean {
        const isPlain = (first >= 0x01 && first <= 0x7f) || first >= 0xc0
        const isDeflated = first >= 0xa0 && first <= 0xbf && this.framing.sharedDeflate
        if (!isPlain && !isDeflated) throw new WireError('badMagic')
        const headLength = first < 0x80 ? 1 : 2
        if (this.queue.length < headLength) return false
        const head = this.queue.peek(2)
        const length = first < 0x80 ? first : (first & (isDeflated ? 0x1f : 0x3f)) << 8 | head[1]!
        if (length > maxPayload) throw new WireError('frameTooLarge')
        if (isPlain && length === 0) throw new WireError('protocolViolation')
        if (this.queue.length < headLength + length + 4) return false
        const bytes = this.queue.peek(headLength + length + 4)
        if (crc32(bytes.subarray(0, headLength + length)) !== u32At(bytes, headLength + length)) {
            throw new WireError('badChecksum')
        }
        let payload = bytes.slice(headLength, headLength + length)
        if (isDeflated) payload = this.inflated(payload)
        if (payload.length === 0) this.emptyPackets++
        this.packetAt = this.consumed
        this.packet = new CompactReader(payload, 0, payload.length)
        this.remove(bytes.length)
        return true
    }

    /** Inflates a payload. An empty one ends the stream (W-94). */
    private inflated(payload: Uint8Array): Uint8Array {
        if (payload.length === 0) {
            this.inflate = undefined
            return payload
        }
        if (this.inflate === undefined) {
            this.inflate = new InflateStream(presetDictionary())
            this.streams++
        }
        return this.inflate.flushed(payload, maxPayload)
    }
}
