// A link at the client: sessions, acknowledgement, credit and resume (session.md, connection.md section 7).

import { encodeBody, firstU64, parseBody } from '../wire/bodies.js'
import { type CodeName, WireError } from '../wire/errors.js'
import { encodeFrame } from '../wire/header.js'
import type { Frame } from '../wire/receiver.js'
import {
    type AckBody, Code, Feature, Flag, type Limits, type PongBody, type RequestBody, type ResetBody,
    type SessionPosition, Tag, Type, type WelcomeBody,
} from '../wire/registry.generated.js'
import { type TypeInfo, types } from '../wire/tables.js'
import { readTLVs } from '../wire/tlv.js'
import type { Fields } from '../wire/values.js'
import { Bucket } from './bucket.js'
import { GrantedCredit, UsedCredit } from './credit.js'
import type { Queued } from './queue.js'
import { RoundTrip } from './roundtrip.js'
import { type EndedSession, Session } from './session.js'

const ackDelay = 25
const maxEnded = 256
const maxPongs = 4
const maxSessions = 255
const maxQueued = 8_192
const sessionsOfAnAck = 30
const ackTimeout = 60_000
const frameOverhead = 192
const windowLength = 8_192
/** The sessions of an ack without news that count as a frame without progress (S-59). */
const staleSessions = 32

/** What a frame of the peer means to the owner of the link. */
export type LinkEvent =
    | { kind: 'opened', session: number, fields: Fields }
    | { kind: 'frame', session: number, type: number, fields: Fields }
    | { kind: 'unreadable', session: number, offset: bigint }
    | { kind: 'ended', session: number, code: number, reason?: string | undefined, retryAfter?: number | undefined }
    | { kind: 'pong', fields: PongBody }

const info = (type: number): TypeInfo => types.get(type)!

/** Whether the low bits of a sequence are behind those of an earlier sequence. */
const isAfter = (low: number, other: number): boolean => (low - other | 0) > 0

/** A link of a device with a server. It outlives connections; its owner attaches and detaches them. */
export class Link {
    readonly roundTrip = new RoundTrip()
    private readonly control: Session
    private readonly sessions = new Map<number, Session>()
    private readonly ended = new Map<number, EndedSession>()
    private readonly granted: GrantedCredit
    private readonly used: UsedCredit
    private readonly opens = new Bucket(255, 30)
    private readonly peerOpens = new Bucket(256, 33)
    private readonly peerPings = new Bucket(100, 10)
    private readonly unknownFrames = new Bucket(32, 32 / 60)
    private readonly idleFrames = new Bucket(1_000, 200)
    private nextId = 1
    private events: LinkEvent[] = []
    private pongs: { nonce: bigint, timestamp: number, at: number }[] = []
    private pings: Uint8Array[] = []
    private probe: { nonce: bigint, transmission: number } | undefined
    private pingsSent = 0
    private nextNonce = 1n
    private newest: { timestamp: number, at: number } | undefined
    private echoed = -1
    private ackAt: number | undefined
    private isAckUrgent = false
    private transmission = 0
    private timerAt: number | undefined
    private expiries = 0
    private creditProbeAt: number | undefined
    private creditProbeDelay = 0
    private progressAt = 0
    private heardAt = 0
    private exempt: number | undefined
    private isAttached = false
    private heldBytes = 0

    /**
     * @param origin the instant from which timestamps count (W-15)
     * @param welcome the welcome that began the link
     */
    constructor(private readonly origin: number, private welcome: WelcomeBody) {
        const { limits } = welcome
        this.control = new Session(0, undefined, limits.sessionWindow, limits.maxMessage)
        this.granted = new GrantedCredit(limits.linkWindow)
        this.used = new UsedCredit(limits.linkWindow)
    }

    get limits(): Limits {
        return this.welcome.limits
    }

    has(feature: bigint): boolean {
        return (this.welcome.features & feature) !== 0n
    }

    /** Whether an answer or an acknowledgement of the peer is due (C-47). */
    get isWaiting(): boolean {
        return this.all().some((session) => session.queue.hasUnacknowledged)
    }

    // MARK: Connections

    /** The positions for a hello that requests a resume (C-29). */
    positions(): SessionPosition[] {
        return this.all().map(({ id, window }) => ({ session: id, received: window.cumulative }))
    }

    /**
     * Continues on a connection whose welcome has arrived, resumed if `welcome` has positions (C-32, C-33).
     *
     * @returns the ends of sessions that the server no longer has
     * @throws WireError protocolViolation
     */
    attach(welcome: WelcomeBody, now: number): LinkEvent[] {
        this.events = []
        if (welcome.resume !== undefined) this.resume(welcome, welcome.resume.sessionPosition)
        this.welcome = welcome
        this.isAttached = true
        // The server may send each frame of its window once more (S-14).
        for (const record of this.ended.values()) record.late = Number(record.cumulative & 0xffffffffn) - windowLength
        this.progressAt = now
        this.timerAt = this.creditProbeAt = undefined
        this.expiries = 0
        this.transmission = 0
        this.echoed = -1
        this.newest = undefined
        this.pongs = []
        this.pings = []
        this.pingsSent = 0
        this.probe = undefined
        if (welcome.resume !== undefined) for (const session of this.all()) this.report(session, now)
        return this.events
    }

    detach(): void {
        this.isAttached = false
    }

    private resume(welcome: WelcomeBody, positions: SessionPosition[]): void {
        const old = this.welcome.limits
        const isLower = Object.entries(welcome.limits).some(([name, value]) => value < old[name as keyof Limits])
        const losesZlib = this.has(Feature.zlib) && !(welcome.features & Feature.zlib)
        const isImpossible = positions.some(({ session, received }) => {
            const known = this.session(session)
            return known === undefined ? received !== 0n && !this.ended.has(session) : !known.queue.isPossible(received)
        })
        if (isLower || losesZlib || isImpossible) throw new WireError('protocolViolation')
        this.granted.widen(welcome.limits.linkWindow)
        this.used.widen(welcome.limits.linkWindow)
        const named = new Map(positions.map(({ session, received }) => [session, received]))
        for (const session of this.all()) {
            const position = named.get(session.id)
            if (position !== undefined) session.queue.acknowledge(position, [])
            else if (session.hasReceivedClose) this.end(session, Code.none)
            session.queue.restart()
            if (session.isComplete) this.end(session, Code.none)
        }
    }

    // MARK: Sending

    /** Whether another session can be opened; if not, when that may be tried again in milliseconds (S-4). */
    opensAt(now: number): number {
        if (this.sessions.size >= Math.min(this.limits.maxSessions, maxSessions)) return now + 1_000
        return this.opens.nextAt(now)
    }

    /** Opens a session, and returns its ID (S-2, S-5). */
    open(kind: number, fields: Fields, now: number): number {
        this.opens.take(now)
        while (this.sessions.has(this.nextId) || this.ended.has(this.nextId)) this.advanceId()
        const session = new Session(this.nextId, kind, this.limits.sessionWindow, this.limits.maxMessage)
        this.advanceId()
        this.sessions.set(session.id, session)
        this.enqueue(session, Type.open, { ...fields, sessionKind: kind })
        return session.id
    }

    /** Whether a session exists and this endpoint has not closed it. */
    isUsable(id: number): boolean {
        const session = this.session(id)
        return session !== undefined && !session.hasSentClose
    }

    /** Whether another message or request may be sent: there is room for it (S-31), and it is not held back (S-9). */
    hasRoom(id: number): boolean {
        const session = this.session(id)
        return session !== undefined && !session.isSuspended && session.queue.length < maxQueued
    }

    /** Sends a reliable frame on a session, which must be usable. */
    send(id: number, type: number, fields: Fields): void {
        const session = this.session(id)
        if (session === undefined || session.hasSentClose) return
        const isHeld = session.isSuspended && (type === Type.request || type === Type.cancel)
        if (isHeld) session.held.push({ type, fields })
        else this.enqueue(session, type, fields)
    }

    /** Sends a transient frame, or drops it (S-52). */
    sendTransient(id: number, fields: Fields): void {
        const session = this.sessions.get(id)
        if (session?.hasSentClose === false && !session.isSuspended && this.isAttached) {
            session.addTransient(encodeBody(info(Type.transient), fields))
        }
    }

    /** Closes a session behind its frames (S-7). */
    close(id: number): void {
        const session = this.sessions.get(id)
        if (session === undefined || session.hasSentClose) return
        this.enqueue(session, Type.close, {})
        session.hasSentClose = true
    }

    /** Ends a session at once (S-10). */
    reset(id: number, code: CodeName | number): void {
        const session = this.sessions.get(id)
        if (session === undefined) return
        this.sendReset(id, typeof code === 'number' ? code : Code[code], session.used.used)
        this.end(session, undefined)
    }

    /** Sends a ping of the heartbeat, and returns its nonce (C-47). */
    ping(): bigint {
        return this.sendPing(false)
    }

    private sendPing(ackNow: boolean): bigint {
        const nonce = this.nextNonce++
        const flags = Flag.checksummed | (ackNow ? Flag.ackNow : 0)
        this.pings.push(new Uint8Array([flags]), encodeBody(info(Type.ping), { nonce }))
        this.pingsSent++
        return nonce
    }

    private sendReset(session: number, code: number, creditUsed: bigint): void {
        this.enqueue(this.control, Type.reset, { session, code, creditUsed })
    }

    private enqueue(session: Session, type: number, fields: Fields): void {
        const flags = Flag.reliable | Flag.checksummed | session.priority << 4
        session.queue.add(info(type), flags, encodeBody(info(type), fields))
    }

    private advanceId(): void {
        this.nextId = this.nextId >= 65_535 ? 1 : this.nextId + 2
    }

    /** Returns the bytes that can be sent now: acks first, then by priority (S-46, S-47, S-49). */
    poll(now: number): Uint8Array[] {
        if (!this.isAttached) return []
        this.checkTimers(now)
        const frames: Uint8Array[] = []
        const order = [this.control, ...[...this.sessions.values()].sort((a, b) => a.priority - b.priority)]
        let isBlocked = false
        for (const session of order) isBlocked = this.pollSession(session, now, frames) || isBlocked
        this.checkCredit(isBlocked, now)
        const unreliable: Uint8Array[] = []
        for (const { nonce, timestamp, at } of this.pongs) {
            const held = Math.min(Math.round((now - at) * 1_000), 0xffffffff)
            const body = encodeBody(info(Type.pong), { nonce, echo: { timestamp, held } })
            unreliable.push(this.frame(Type.pong, body, now))
        }
        for (let index = 0; index < this.pings.length; index += 2) {
            unreliable.push(this.frame(Type.ping, this.pings[index + 1]!, now, this.pings[index]![0]))
        }
        this.pongs = []
        this.pings = []
        const isDue = this.ackAt !== undefined && (this.isAckUrgent || this.ackAt <= now)
        const isJoined = this.ackAt !== undefined && frames.length + unreliable.length > 0
        return [...(isDue || isJoined ? this.takeAcks(now) : []), ...unreliable, ...frames]
    }

    private pollSession(session: Session, now: number, frames: Uint8Array[]): boolean {
        let isBlocked = false
        let canBeTransient = true
        const reliable: Uint8Array[] = []
        for (const frame of session.queue.pending()) {
            if (frame.isCharged || frame.info.number === Type.open) canBeTransient = false
            if (!this.charge(session, frame)) {
                isBlocked = true
                break
            }
            session.queue.sent(frame, ++this.transmission)
            reliable.push(encodeFrame({
                type: frame.info.number, sequence: Number(frame.sequence & 0xffffffffn), flags: frame.flags,
                timestamp: this.timestamp(now), compression: 0, session: session.id, body: frame.body,
            }))
            if (this.timerAt === undefined) {
                this.timerAt = now + Math.max(this.roundTrip.timeout, 1_000)
                this.progressAt = now
            }
        }
        // A transient frame stands before reliable ones, but not before open or frames that are sent again (S-49).
        const transients = session.hasTransients ? session.takeTransients().map((body) =>
            this.frame(Type.transient, body, now, Flag.checksummed | session.priority << 4, session.id)) : []
        frames.push(...(canBeTransient ? [...transients, ...reliable] : [...reliable, ...transients]))
        return isBlocked
    }

    /** Uses credit for a frame that is sent for the first time, and returns whether there was enough (S-40). */
    private charge(session: Session, frame: Queued): boolean {
        if (!frame.info.credited || frame.isCharged) return true
        const length = BigInt(frame.body.length)
        if (session.used.available < length) return false
        if (frame.messageLength > 0) {
            const whole = BigInt(frame.messageLength)
            if (this.used.available >= whole) {
                this.used.reserved += whole
            } else if (this.exempt === undefined && frame.messageLength > frame.body.length) {
                if (this.used.available < length) return false
                this.exempt = session.id
            } else {
                return false
            }
        } else if (this.exempt === session.id && this.used.available < length) {
            return false
        }
        if (this.exempt !== session.id) this.used.reserved -= length
        this.used.used += length
        session.used.used += length
        frame.isCharged = true
        if (frame.isLast && this.exempt === session.id) this.exempt = undefined
        return true
    }

    private frame(type: number, body: Uint8Array, now: number, flags: number = Flag.checksummed, session = 0):
        Uint8Array {
        return encodeFrame({ type, sequence: 0, timestamp: this.timestamp(now), flags, compression: 0, session, body })
    }

    /** Milliseconds since the link was created (W-15). */
    timestamp(now: number): number {
        return Math.floor(now - this.origin) >>> 0
    }

    private takeAcks(now: number): Uint8Array[] {
        const reported = this.all().filter((session) => session.isUnreported)
        const acks = reported.map((session) => {
            session.isUnreported = false
            return {
                session: session.id, cumulative: session.window.cumulative,
                credit: session.granted.announce(session.assembler.byteCount), ranges: session.window.ranges(),
            }
        })
        for (const id of this.endedToAck) {
            const record = this.ended.get(id)
            if (record === undefined) continue
            acks.push({ session: id, cumulative: record.cumulative, credit: record.creditReceived, ranges: [] })
        }
        this.endedToAck.clear()
        this.ackAt = undefined
        this.isAckUrgent = false
        const frames: Uint8Array[] = []
        do {
            const body: Fields = {
                linkCredit: this.granted.announce(this.incompleteBytes()), sessionAck: acks.splice(0, sessionsOfAnAck),
            }
            if (this.newest !== undefined && this.newest.timestamp !== this.echoed) {
                const held = Math.min(Math.round((now - this.newest.at) * 1_000), 0xffffffff)
                body['echo'] = { timestamp: this.newest.timestamp, held }
                this.echoed = this.newest.timestamp
            }
            frames.push(this.frame(Type.ack, encodeBody(info(Type.ack), body), now))
        } while (acks.length > 0)
        return frames
    }

    private readonly endedToAck = new Set<number>()

    private incompleteBytes(): number {
        const sum = this.all().reduce((total, session) => total + session.assembler.byteCount, 0)
        return Math.min(sum, this.limits.maxMessage)
    }

    // MARK: Timers

    /** The next instant at which `poll` has something to do. */
    get deadline(): number {
        if (!this.isAttached) return Infinity
        const ack = this.ackAt === undefined ? Infinity : this.isAckUrgent ? -Infinity : this.ackAt
        const overdue = this.isWaiting ? this.progressAt + ackTimeout : Infinity
        return Math.min(ack, this.timerAt ?? Infinity, this.creditProbeAt ?? Infinity, overdue)
    }

    /** The timer of retransmission, and the limit for acknowledgements (S-27 to S-30). */
    private checkTimers(now: number): void {
        if (!this.isWaiting) {
            this.timerAt = undefined
            this.expiries = 0
            return
        }
        if (now >= this.progressAt + ackTimeout) {
            if (this.heardAt > this.progressAt) throw new WireError('ackTimeout')
            // A silent peer, or a process that was suspended, is not this fault.
            this.progressAt = now
        }
        if (this.timerAt === undefined || now < this.timerAt) return
        if (++this.expiries >= 3) throw new WireError('idleTimeout')
        this.sendProbe()
        this.timerAt = now + Math.max(this.roundTrip.timeout, 1_000) * 2 ** this.expiries
    }

    private sendProbe(): void {
        this.probe = { nonce: this.sendPing(true), transmission: this.transmission + 1 }
    }

    /** Probes for lost credit (S-41). */
    private checkCredit(isBlocked: boolean, now: number): void {
        if (!isBlocked || this.isWaiting) {
            this.creditProbeAt = undefined
            this.creditProbeDelay = 0
        } else if (this.creditProbeAt === undefined) {
            this.creditProbeDelay = Math.min(Math.max(this.creditProbeDelay * 2, this.roundTrip.timeout), 60_000)
            this.creditProbeAt = now + this.creditProbeDelay
        } else if (now >= this.creditProbeAt) {
            this.sendProbe()
            this.creditProbeDelay = Math.min(this.creditProbeDelay * 2, 60_000)
            this.creditProbeAt = now + this.creditProbeDelay
        }
    }

    // MARK: Receiving

    /**
     * Processes a frame of the peer (W-8, steps 7 to 11).
     *
     * @throws WireError, which ends the connection
     */
    receive(frame: Frame, now: number): LinkEvent[] {
        this.events = []
        this.expiries = 0
        this.heardAt = now
        const isReliable = (frame.flags & Flag.reliable) !== 0
        if (frame.info === undefined && !this.unknownFrames.take(now)) throw new WireError('unknownFlood')
        if (frame.hasTimestamp && (isReliable || frame.type === Type.ping)) {
            const isNewer = this.newest === undefined || (frame.timestamp - this.newest.timestamp | 0) > 0
            if (isNewer) this.newest = { timestamp: frame.timestamp, at: now }
        }
        if (isReliable) this.receiveReliable(frame, now)
        else if (frame.info !== undefined) this.receiveUnreliable(frame, frame.info, now)
        return this.events
    }

    private receiveUnreliable(frame: Frame, type: TypeInfo, now: number): void {
        if (type.number === Type.transient && this.sessions.get(frame.session) === undefined) return
        const fields = parseBody(type, frame.body, 'server')
        switch (type.number) {
            case Type.ack: this.receiveAck(fields as unknown as AckBody, now); break
            case Type.ping: {
                if (!this.peerPings.take(now)) throw new WireError('controlFlood')
                if (frame.flags & Flag.ackNow) for (const session of this.all()) this.report(session, now, true)
                if (this.pongs.length < maxPongs) {
                    this.pongs.push({ nonce: fields['nonce'] as bigint, timestamp: frame.timestamp, at: now })
                }
                break
            }
            case Type.pong: this.receivePong(fields as unknown as PongBody, now); break
            case Type.transient:
                this.events.push({ kind: 'frame', session: frame.session, type: type.number, fields })
        }
    }

    private receivePong(pong: PongBody, now: number): void {
        if (this.pingsSent > 0) this.pingsSent--
        else this.waste(now)
        this.sample(pong.echo.timestamp, pong.echo.held, now)
        if (this.probe !== undefined && pong.nonce === this.probe.nonce) {
            for (const session of this.all()) session.queue.lose(this.probe.transmission)
            this.probe = undefined
        }
        this.events.push({ kind: 'pong', fields: pong })
    }

    private sample(timestamp: number, held: number, now: number): void {
        this.roundTrip.add((this.timestamp(now) - timestamp) >>> 0, held / 1_000)
    }

    private receiveAck(ack: AckBody, now: number): void {
        const named = new Set<number>()
        for (const { session, cumulative, ranges } of ack.sessionAck) {
            const known = this.session(session)
            if (known === undefined) continue
            if (named.has(session)) throw new WireError('protocolViolation')
            named.add(session)
            known.queue.check(cumulative, ranges)
        }
        if (ack.echo !== undefined) this.sample(ack.echo.timestamp, ack.echo.held, now)
        let isProgress = this.used.raise(ack.linkCredit)
        let isAcknowledged = false
        let stale = 0
        for (const { session, cumulative, credit, ranges } of ack.sessionAck) {
            const known = this.session(session)
            const isFirst = known?.queue.acknowledge(cumulative, ranges) ?? false
            const isRaised = known?.used.raise(credit) ?? false
            if (!isFirst && !isRaised) stale++
            isAcknowledged ||= isFirst
            isProgress ||= isRaised
            if (known === undefined) continue
            if (known.isComplete) this.end(known, Code.none)
        }
        if (isAcknowledged) {
            this.progressAt = now
            this.timerAt = this.isWaiting ? now + Math.max(this.roundTrip.timeout, 1_000) : undefined
        }
        this.waste(now, (isAcknowledged || isProgress ? 0 : 1) + Math.floor(stale / staleSessions))
    }

    /** Counts a frame without progress (S-59). */
    waste(now: number, count = 1): void {
        if (!this.idleFrames.take(now, count)) throw new WireError('controlFlood')
    }

    private receiveReliable(frame: Frame, now: number): void {
        const session = this.session(frame.session) ?? this.unknown(frame, now)
        if (session === undefined) return
        const hadGap = session.window.hasGap
        const sequence = session.window.locate(frame.sequence)
        if (sequence === undefined) {
            this.waste(now)
            this.report(session, now, true)
            return
        }
        const isNext = sequence === session.window.cumulative + 1n
        const bytes = frame.body.length + frameOverhead
        if (!isNext && (!session.window.hasRoom || this.heldBytes + bytes > this.limits.linkWindow)) {
            this.waste(now)
            return
        }
        if (frame.info?.credited) this.chargePeer(session, frame.body.length)
        session.window.add(sequence, frame)
        if (!isNext) this.heldBytes += bytes
        this.report(session, now, hadGap || !isNext || (frame.flags & Flag.ackNow) !== 0)
        for (let isFirst = isNext; ; isFirst = false) {
            const next = session.window.next()
            if (next === undefined) return
            if (!isFirst) this.heldBytes -= next.body.length + frameOverhead
            this.process(session, next, now)
            if (session.id !== 0 && this.sessions.get(session.id) !== session) return
        }
    }

    /** A credited frame within both limits (S-36). It is charged also if it is a fault. */
    private chargePeer(session: Session, length: number): void {
        const count = BigInt(length)
        session.granted.received += count
        this.granted.received += count
        const isBeyond = session.granted.received > session.granted.announced ||
            this.granted.received > this.granted.announced
        if (isBeyond) throw new WireError('creditExceeded')
    }

    /** A reliable frame of a session that does not exist (S-14, S-15, S-2). */
    private unknown(frame: Frame, now: number): Session | undefined {
        const record = this.ended.get(frame.session)
        if (record !== undefined) {
            // Frames that were in flight when the session ended arrive once each (S-14).
            const isLate = isAfter(frame.sequence, record.late) &&
                !isAfter(frame.sequence, Number(record.cumulative & 0xffffffffn) + windowLength)
            if (isLate) {
                record.late = frame.sequence
            } else {
                this.waste(now)
                this.isAckUrgent = true
            }
            this.endedToAck.add(frame.session)
            this.schedule(now)
            return undefined
        }
        if (frame.type === Type.open) {
            if (frame.sequence !== 1) throw new WireError('protocolViolation')
            parseBody(info(Type.open), frame.body, 'server')
        }
        if (!this.peerOpens.take(now)) throw new WireError('churnLimit')
        this.remember(frame.session, { cumulative: 0n, creditReceived: 0n, late: 0 })
        this.sendReset(frame.session, frame.type === Type.open ? Code.unsupportedKind : Code.unknownSession, 0n)
        return undefined
    }

    /** Processes a frame in the order of its session. */
    private process(session: Session, frame: Frame, now: number): void {
        if (session.hasReceivedClose) throw new WireError('protocolViolation')
        if (frame.isFragment && frame.body.length < 256) this.waste(now)
        let body: Uint8Array | undefined
        try {
            body = session.assembler.add(frame)
        } catch (error) {
            if ((error as WireError).scope !== 'session') throw error
            this.fail(session, (error as WireError).code)
            return
        }
        if (body === undefined || frame.info === undefined) return
        const credit = frame.info.credited ? body.length : 0
        try {
            this.dispatch(session, frame.info, parseBody(frame.info, body, 'server'), now)
        } catch (error) {
            if (!(error instanceof WireError) || error.scope === 'connection') throw error
            this.refuse(session, frame.info, body, error.code)
        }
        if (credit > 0) this.giveBack(session, credit, now)
    }

    /** The reaction to an invalid field of a message or a request (W-72, R-32, S-58). */
    private refuse(session: Session, type: TypeInfo, body: Uint8Array, code: CodeName): void {
        const tlvs = readTLVs(body)
        if (type.number === Type.data) {
            const offset = firstU64(body, tlvs, Tag.offset)
            if (offset === undefined || offset === 0n) return
            this.events.push({ kind: 'unreadable', session: session.id, offset })
        } else {
            const correlation = firstU64(body, tlvs, Tag.correlation)!
            this.send(session.id, Type.response, { correlation, status: Code[code] })
        }
    }

    private dispatch(session: Session, type: TypeInfo, fields: Fields, now: number): void {
        if (session.id !== 0 && !session.isOpened && type.number !== Type.opened && type.number !== Type.close) {
            throw new WireError('protocolViolation')
        }
        switch (type.number) {
            case Type.open: throw new WireError('protocolViolation')
            case Type.opened:
                if (session.isOpened) throw new WireError('protocolViolation')
                session.isOpened = true
                this.events.push({ kind: 'opened', session: session.id, fields })
                break
            case Type.close:
                session.hasReceivedClose = true
                this.close(session.id)
                if (session.isComplete) this.end(session, Code.none)
                break
            case Type.reset: this.receiveReset(fields as unknown as ResetBody, now); break
            case Type.suspend: case Type.resume:
                session.isSuspended = type.number === Type.suspend
                if (!session.isSuspended) {
                    for (const { type, fields } of session.held.splice(0)) this.send(session.id, type, fields)
                }
                this.waste(now)
                break
            case Type.request: this.refuseRequest(session, fields as unknown as RequestBody); break
            case Type.cancel: break
            default: this.events.push({ kind: 'frame', session: session.id, type: type.number, fields })
        }
    }

    /** This client serves no methods (S-58). */
    private refuseRequest(session: Session, request: RequestBody): void {
        const { correlation } = request
        const status = request.recipient === undefined || session.id !== 0 ? Code.unknownMethod : Code.noRecipient
        this.send(session.id, Type.response, { correlation, status })
    }

    /** The credit of a reset's sender, and the answer if there is one (S-11, S-12). */
    private receiveReset(reset: ResetBody, now: number): void {
        const session = this.sessions.get(reset.session)
        const record = session?.toEnded() ?? this.ended.get(reset.session)
        if (record === undefined) {
            this.waste(now)
            this.remember(reset.session, { cumulative: 0n, creditReceived: 0n, late: 0 })
            return
        }
        if (reset.creditUsed !== undefined) {
            const difference = reset.creditUsed - record.creditReceived
            if (difference < 0n) throw new WireError('protocolViolation')
            if (this.granted.received + difference > this.granted.announced) throw new WireError('creditExceeded')
            this.granted.received += difference
            this.granted.returned += difference
            if (session === undefined) record.creditReceived += difference
            else session.granted.received += difference
            if (session !== undefined) session.granted.returned += difference
        }
        if (session === undefined) return
        if (session.queue.hasUnacknowledgedCredit) this.sendReset(session.id, reset.code, session.used.used)
        this.end(session, reset.code, reset.reason, reset.retryAfter)
    }

    private fail(session: Session, code: CodeName): void {
        this.sendReset(session.id, Code[code], session.used.used)
        this.end(session, Code[code])
    }

    /** Ends a session, and reports it if a code is given. */
    private end(session: Session, code: number | undefined, reason?: string, retryAfter?: number): void {
        this.granted.returned += session.granted.received - session.granted.returned
        if (this.exempt === session.id) this.exempt = undefined
        this.used.reserved -= this.reservedBy(session)
        const isClosed = session.hasReceivedClose
        this.sessions.delete(session.id)
        this.remember(session.id, session.toEnded())
        if (session.isUnreported && isClosed) this.endedToAck.add(session.id)
        if (code !== undefined) this.events.push({ kind: 'ended', session: session.id, code, reason, retryAfter })
    }

    /** The credit that is reserved for fragments of a session that were not sent. */
    private reservedBy(session: Session): bigint {
        let sum = 0n
        let isStarted = false
        for (const frame of session.queue.pending()) {
            if (frame.isCharged) isStarted = !frame.isLast
            else if (frame.messageLength > 0) break
            else if (isStarted || sum > 0n || frame.messageLength === 0) sum += BigInt(frame.body.length)
        }
        return this.exempt === session.id ? 0n : sum
    }

    private remember(id: number, record: EndedSession): void {
        this.ended.delete(id)
        this.ended.set(id, record)
        if (this.ended.size > maxEnded) {
            const [oldest] = this.ended.keys()
            this.ended.delete(oldest!)
        }
    }

    private giveBack(session: Session, count: number, now: number): void {
        session.granted.returned += BigInt(count)
        if (this.sessions.get(session.id) === session || session.id === 0) this.granted.returned += BigInt(count)
        const isDue = session.granted.needsAck(session.assembler.byteCount) ||
            this.granted.needsAck(this.incompleteBytes())
        if (isDue) this.report(session, now)
    }

    private report(session: Session, now: number, isUrgent = false): void {
        session.isUnreported = true
        this.schedule(now)
        if (isUrgent) this.isAckUrgent = true
    }

    private schedule(now: number): void {
        this.ackAt ??= now + ackDelay
    }

    private session(id: number): Session | undefined {
        return id === 0 ? this.control : this.sessions.get(id)
    }

    private all(): Session[] {
        return [this.control, ...this.sessions.values()]
    }
}
