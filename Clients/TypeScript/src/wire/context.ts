// The context of a direction, and the frames of the forms (wire.md sections 15.3 to 15.5).

import { textOf, u16At, utf8, Writer } from './bytes.js'
import { CompactBody } from './compact.js'
import { WireError } from './errors.js'
import type { RawFrame } from './header.js'
import { Flag, Kind, Tag, Type } from './registry.generated.js'
import { type TypeInfo, types, typesByForm } from './tables.js'
import { type CompactReader, sum64, violation } from './varint.js'

/** The values of a session in a context (W-84). */
interface SessionContext {
    /** The next sequence, once a reliable frame was seen. */
    next: number | undefined
    priority: number
    deliveredOffset: bigint
    acceptedCounter: bigint
    acceptedOffset: bigint
    cumulative: bigint
    credit: bigint
}

interface Publisher {
    device: bigint
    sender: Uint8Array
    counter: bigint
}

const maxSessions = 256
const withoutCompactForm: readonly number[] = [Type.hello, Type.welcome, Type.reject, Type.goaway, Type.auth]
const sessionContext = (priority: number): SessionContext => ({
    next: undefined, priority, deliveredOffset: 0n, acceptedCounter: 0n, acceptedOffset: 0n, cumulative: 0n,
    credit: 0n,
})

/** One direction's context. A frame with a fault changes nothing that a later frame could read. */
export class Context {
    private lastSession: number | undefined
    private timestamp = 0
    private counter = 0n
    private echoed = 0
    private linkCredit = 0n
    private acceptedAt = 0n
    private readonly publishers: (Publisher | undefined)[] = new Array<undefined>(8).fill(undefined)
    private readonly sessions = new Map<number, SessionContext>([[0, sessionContext(0)]])

    constructor(public maxBody: number) { }

    /** Reads the next compact frame of a payload (W-81). */
    read(reader: CompactReader, at: number): RawFrame {
        const first = reader.u8()
        const form = first & 0x3f
        const fields = first & 0x40 ? reader.u8() : 0
        if (fields & 0xc0 || (fields & 0x10) !== (form === 0 ? 0x10 : 0)) violation()
        const isShort = form >= 0x20
        if (form > 0x27 || (isShort && fields & 0x20) || (form >= 0x24 && first & 0x80)) violation()
        const announcedSession = fields & 0x01 ? reader.varintOf(16) : undefined
        const announcedSequence = fields & 0x02 ? reader.u32() : undefined
        const timestamp = fields & 0x04 ?
            Number((BigInt(this.timestamp) + reader.varint()) & 0xffffffffn) : this.timestamp
        const announcedFlags = fields & 0x08 ? reader.u8() : undefined
        const type = form === 0 ? reader.u16() : this.typeOfForm(form)
        const info = types.get(type)
        if (withoutCompactForm.includes(type)) violation()
        const compression = fields & 0x20 ? reader.u8() : undefined
        if (compression !== undefined && compression > 1) throw new WireError('compressionNotAllowed')
        const session = announcedSession ?? (info?.session === '0' ? 0 : this.lastSession ?? violation())
        if (announcedFlags !== undefined && (announcedFlags & 0xc8) !== 0x08) violation()
        if (!this.sessions.has(session) && this.sessions.size >= maxSessions) violation()
        const known = this.sessions.get(session) ?? sessionContext(session === 0 ? 0 : 2)
        const flags = announcedFlags ?? (Flag.checksummed | (info?.reliable ? Flag.reliable : 0) | known.priority << 4)
        const isReliable = (flags & Flag.reliable) !== 0
        const sequence = announcedSequence ?? (isReliable ? known.next ?? violation() : 0)
        const length = first & 0x80 ? reader.length() : undefined
        const bodyReader = form < 0x24 ? reader.inner(length ?? reader.left) : reader
        const body = compression !== undefined ? this.plain(bodyReader) :
            isShort ? this.short(form, session, known, bodyReader) : new CompactBody(this.maxBody).build(bodyReader)

        this.sessions.set(session, known)
        if (session !== 0) this.lastSession = session
        this.timestamp = timestamp
        if (isReliable) known.next = (sequence + 1) >>> 0
        known.priority = flags >> 4 & 3
        return {
            type, sequence, timestamp, hasTimestamp: (fields & 0x04) !== 0, flags, compression: compression ?? 0,
            session, minor: 0, body, at,
        }
    }

    private typeOfForm(form: number): number {
        if (form < 0x20) return (typesByForm.get(form) as TypeInfo | undefined ?? violation()).number
        return form < 0x24 ? Type.data : form < 0x26 ? Type.accepted : Type.ack
    }

    private plain(reader: CompactReader): Uint8Array {
        if (reader.left > this.maxBody) throw new WireError('frameTooLarge')
        return reader.take(reader.left)
    }

    /** The body of a form from 0x20 to 0x27 (W-86). */
    private short(form: number, session: number, known: SessionContext, reader: CompactReader): Uint8Array {
        switch (form) {
            case 0x21: return this.delivery(known, reader)
            case 0x24: return this.accepted(known, 0n, 0n, 1)
            case 0x25: return this.accepted(known, reader.signed(), reader.signed(), reader.varintOf(32))
            case 0x26: return this.ack(session, 0, reader)
            case 0x27: return this.ack(session, reader.u8(), reader)
            default: {
                const difference = form === 0x22 ? reader.signed() : 0n
                const text = form === 0x23 ? utf16(reader) : reader.take(reader.left)
                this.counter = sum64(this.counter, 1n + difference)
                return new FieldWriter().u64(Tag.counter, this.counter).text(text).take()
            }
        }
    }

    /** A message of the relay (W-87). */
    private delivery(known: SessionContext, reader: CompactReader): Uint8Array {
        const head = reader.u8()
        if (head & 0x38) violation()
        const publisher: Publisher = head & 0x80 ? { ...readPublisher(reader) } :
            { ...(this.publishers[head & 7] ?? violation()) }
        const offset = sum64(known.deliveredOffset, 1n + reader.signed())
        const acceptedAt = sum64(this.acceptedAt, reader.signed())
        publisher.counter = sum64(publisher.counter, 1n + reader.signed())
        const text = head & 0x40 ? utf16(reader) : reader.take(reader.left)
        this.publishers[head & 7] = publisher
        known.deliveredOffset = offset
        this.acceptedAt = acceptedAt
        return new FieldWriter().u64(Tag.offset, offset).u64(Tag.acceptedAt, acceptedAt)
            .u64(Tag.device, publisher.device).bytes(Tag.sender, publisher.sender)
            .u64(Tag.counter, publisher.counter).text(text).take()
    }

    private accepted(known: SessionContext, counterBy: bigint, offsetBy: bigint, count: number): Uint8Array {
        const counter = sum64(known.acceptedCounter, 1n + counterBy)
        const offset = sum64(known.acceptedOffset, 1n + offsetBy)
        known.acceptedCounter = sum64(counter, BigInt(count) - 1n)
        known.acceptedOffset = sum64(offset, BigInt(count) - 1n)
        return new FieldWriter().bytes(Tag.acceptedRun, new Writer().u64(counter).u32(count).u64(offset).take()).take()
    }

    /** An ack, whose session is in its body (W-88). */
    private ack(header: number, bits: number, reader: CompactReader): Uint8Array {
        if (bits & 0xe0) violation()
        const session = bits & 0x01 ? reader.varintOf(16) : this.lastSession ?? (header || violation())
        if (!this.sessions.has(session) && this.sessions.size >= maxSessions) violation()
        const known = this.sessions.get(session) ?? sessionContext(session === 0 ? 0 : 2)
        const cumulative = sum64(known.cumulative, bits & 0x02 ? reader.varint() : 1n)
        const credit = sum64(known.credit, bits & 0x04 ? reader.varint() : 0n)
        const linkCredit = sum64(this.linkCredit, bits & 0x08 ? reader.varint() : 0n)
        const writer = new FieldWriter()
        if (bits & 0x10) {
            const timestamp = Number((BigInt(this.echoed) + reader.varint()) & 0xffffffffn)
            writer.bytes(Tag.echo, new Writer().u32(timestamp).u32(reader.varintOf(32)).take())
            this.echoed = timestamp
        }
        this.sessions.set(session, known)
        known.cumulative = cumulative
        known.credit = credit
        this.linkCredit = linkCredit
        return writer.u64(Tag.linkCredit, linkCredit)
            .bytes(Tag.sessionAck, new Writer().u16(session).u64(cumulative).u64(credit).take()).take()
    }
}

function readPublisher(reader: CompactReader): Publisher {
    const device = reader.u64()
    const length = reader.length()
    if (length < 1 || length > 128) violation()
    return { device, sender: reader.take(length), counter: 0n }
}

/** The rest of a body in UTF-16, as UTF-8 (W-86). */
function utf16(reader: CompactReader): Uint8Array {
    const bytes = reader.take(reader.left)
    if (bytes.length % 2 !== 0) violation()
    const parts: string[] = []
    for (let at = 0; at < bytes.length; at += 2) parts.push(String.fromCharCode(u16At(bytes, at)))
    const text = utf8(parts.join(''))
    if (textOf(text) !== parts.join('')) violation()
    return text
}

/** Writes TLVs of the short forms. */
class FieldWriter {
    private readonly writer = new Writer()

    u64(tag: number, value: bigint): this {
        this.writer.u16(tag).u32(8).u64(value)
        return this
    }

    bytes(tag: number, value: Uint8Array): this {
        this.writer.u16(tag).u32(value.length).bytes(value)
        return this
    }

    /** The kind text, and a content with the text. */
    text(value: Uint8Array): this {
        this.bytes(Tag.kind, new Writer().u16(Kind.text).take())
        return this.bytes(Tag.content, new Writer().u16(Tag.text).u32(value.length).bytes(value).take())
    }

    take(): Uint8Array {
        return this.writer.take()
    }
}
