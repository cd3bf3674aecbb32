// The checks of a frame that need no state of the link: W-8, steps 1 to 6.

import type { Sender } from './bodies.js'
import { u16At } from './bytes.js'
import { WireError } from './errors.js'
import { Framer } from './framer.js'
import type { RawFrame } from './header.js'
import { inflateZlib } from './inflate.js'
import { Feature, Flag, type Limits, Type } from './registry.generated.js'
import { type TypeInfo, types } from './tables.js'

export const handshakeMaxBody = 12_288

/** A frame whose header is right and whose body is inflated. */
export interface Frame extends RawFrame {
    /** The row of the type, or undefined if the type is unknown. */
    info: TypeInfo | undefined
    /** Whether another fragment of the same message follows (W-21); never for an unknown type (W-13). */
    isFragment: boolean
}

/** Before the peer's first frame, until welcome, and after it. */
export type Phase = 'start' | 'handshake' | 'established'

const handshakeTypes: readonly number[] = [Type.welcome, Type.reject, Type.goaway, Type.auth]
const neverCompressed: readonly number[] = [Type.hello, Type.welcome, Type.reject, Type.auth]

/** Receives the frames of one direction of a connection. After an error it must not be used. */
export class Receiver {
    private readonly framer: Framer
    private zlib = false

    /** @param from the endpoint that sends the bytes */
    constructor(private readonly from: Sender, private phase: Phase = 'start') {
        this.framer = new Framer({ maxBody: handshakeMaxBody, compact: false, sharedDeflate: false },
            (header) => this.checkFirst(u16At(header, 6)))
    }

    get isInsideFrame(): boolean {
        return this.framer.isInside
    }

    /** Packets without frames and deflate streams so far (S-59). */
    get idlePackets(): number {
        return this.framer.emptyPackets + 16 * this.framer.streams
    }

    add(bytes: Uint8Array): void {
        this.framer.add(bytes)
    }

    /** Applies what welcome names to the frames behind it (W-41, W-42). */
    establish(version: number, features: bigint, limits: Pick<Limits, 'maxBody'>): void {
        this.phase = 'established'
        this.zlib = (features & Feature.zlib) !== 0n
        this.maxBody = limits.maxBody
        const compact = (features & Feature.compact) !== 0n && version >= 0x0101
        this.framer.setFraming({
            maxBody: limits.maxBody, compact, sharedDeflate: compact && (features & Feature.sharedDeflate) !== 0n,
        })
    }

    private maxBody = handshakeMaxBody

    /** Returns the next frame, or undefined if more bytes are needed. */
    next(): Frame | undefined {
        const raw = this.framer.next()
        if (raw === undefined) return undefined
        try {
            return this.check(raw)
        } catch (error) {
            throw new WireError((error as WireError).code, 'connection', raw.at)
        }
    }

    finish(): void {
        this.framer.finish()
    }

    /** A client's first frame is hello (W-32). */
    private checkFirst(type: number): void {
        if (this.from === 'client' && this.phase === 'start' && type !== Type.hello) {
            throw new WireError('expectedHello')
        }
    }

    private check(raw: RawFrame): Frame {
        const info = types.get(raw.type)
        const mayBeCompressed = this.zlib && this.phase === 'established' && !neverCompressed.includes(raw.type)
        if (raw.compression !== 0 && !mayBeCompressed) throw new WireError('compressionNotAllowed')
        if (this.from === 'server' && this.phase !== 'established' && !handshakeTypes.includes(raw.type)) {
            throw new WireError('protocolViolation')
        }
        if (info === undefined) {
            if (raw.type & 0x8000) throw new WireError('unknownCritical')
        } else {
            this.checkColumns(raw, info)
        }
        if (this.phase === 'start' && raw.type === Type.hello) this.phase = 'handshake'
        const body = raw.compression === 0 || info === undefined ? raw.body : inflateZlib(raw.body, this.maxBody)
        return { ...raw, body, info, isFragment: info !== undefined && (raw.flags & Flag.moreFragments) !== 0 }
    }

    /** The columns of wire.md section 13.1, and whether the type is allowed at this time (W-74). */
    private checkColumns(raw: RawFrame, info: TypeInfo): void {
        const isReliable = (raw.flags & Flag.reliable) !== 0
        const isOnSession = info.session === 'any' || (info.session === '0') === (raw.session === 0)
        const isRight = isReliable === info.reliable && isOnSession &&
            (info.sender === 'both' || info.sender === this.from) && (isReliable || raw.sequence === 0) &&
            (info.fragments || !(raw.flags & Flag.moreFragments))
        if (!isRight) throw new WireError('protocolViolation')
        if (this.phase === 'established' && [Type.hello, Type.welcome, Type.reject].includes(raw.type as never)) {
            throw new WireError('protocolViolation')
        }
        const parity = this.from === 'client' ? 1 : 0
        if (raw.type === Type.open && raw.session % 2 !== parity) throw new WireError('protocolViolation')
    }
}
