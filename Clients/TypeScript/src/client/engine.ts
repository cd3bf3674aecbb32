// The client without input and output: events in with their time, outputs out, and a deadline (connection.md).
//
// The owner calls one method for each event, then performs the outputs, and calls `poll` no later than `deadline`.
// All times are milliseconds of one monotonic clock that continues while the machine sleeps, where there is one (C-53).

import { encodeBody, parseBody } from '../wire/bodies.js'
import { equalBytes } from '../wire/bytes.js'
import { codeName, WireError } from '../wire/errors.js'
import { encodeFrame } from '../wire/header.js'
import { type Frame, Receiver } from '../wire/receiver.js'
import {
    type AuthBody, Code, Feature, Flag, type GoawayBody, type Limits, type ResponseBody, SessionKind, Type,
    type UpdateBody, type WelcomeBody,
} from '../wire/registry.generated.js'
import { types } from '../wire/tables.js'
import type { Fields } from '../wire/values.js'
import { Link, type LinkEvent } from '../link/link.js'
import { Channel } from './channel.js'
import { type Endpoint, redirected } from './endpoint.js'
import type { ConnectionState, EngineEvent } from './events.js'
import { Heartbeat, type Mode } from './heartbeat.js'
import { type Failure, ReconnectPolicy } from './policy.js'
import { type Answer, Requests } from './requests.js'
import { type Outgoing, RoomMachine, type Start } from './room.js'

/** The timeouts of C-60 in milliseconds. */
const timeouts = { connecting: 15_000, welcome: 10_000, disconnecting: 5_000, frame: 30_000 }
const version = 0x0101
const features = Feature.requests | Feature.receipts | Feature.presence | Feature.compact | Feature.sharedDeflate |
    Feature.attachments | Feature.accountSession | Feature.zlib
const limits: Limits = {
    maxBody: 65_536, maxMessage: 1_048_576, linkWindow: 1_048_576, sessionWindow: 262_144, maxSessions: 255,
}
const maxChallenges = 4
const spreadLifetime = 600_000

/** Who connects, as what, and where. */
export interface Identity {
    endpoint: Endpoint
    account: string
    device: bigint
    agent: string
}

/** What a client presents in hello or in auth (C-12, C-68). */
export interface Credential {
    mechanism?: string | undefined
    credential?: Uint8Array | undefined
}

/** What the owner of an engine has to do. */
export type Output =
    | { type: 'connect', connection: number, endpoint: Endpoint }
    | { type: 'send', connection: number, bytes: Uint8Array }
    | { type: 'end', connection: number, isAbrupt: boolean }
    | { type: 'authenticate', connection: number }
    | { type: 'challenge', connection: number, message: Uint8Array }
    | { type: 'renew', connection: number }
    | { type: 'event', event: EngineEvent }

type Phase = 'connecting' | 'authenticating' | 'awaiting' | 'established' | 'ending'

/** One connection, or an attempt to make one (C-5). */
interface Connection {
    id: number
    phase: Phase
    receiver: Receiver
    until: number
    hello: Fields | undefined
    isResume: boolean
    isExchange: boolean
    challenges: number
    expected: Uint8Array | undefined
    lifetimeAt: number
    isRenewing: boolean
    frameSince: number | undefined
    /** Packets and streams that brought nothing (S-59). */
    idlePackets: number
}

/** A client of one account and device. */
export class Engine {
    private outputs: Output[] = []
    private connection: Connection | undefined
    private link: Link | undefined
    private token: { link: bigint, resumeToken: Uint8Array } | undefined
    private linkOrigin = 0
    private heartbeat: Heartbeat | undefined
    private readonly policy: ReconnectPolicy
    private readonly requests = new Requests()
    private readonly rooms = new Map<string, RoomMachine>()
    private readonly files = new Map<string, Channel>()
    private account: Channel | undefined
    private nextConnection = 1
    private isWanted = false
    private state: ConnectionState = 'offline'
    private unauthenticated = 0
    private target: Endpoint
    private mode: Mode = 'foreground'
    private hasPath = true
    private spreadAt = Infinity
    private waiting: { channel: Channel, method: string, content: Uint8Array, until: number, duration: number,
        done: (answer: Answer) => void }[] = []

    /** @param random a number from 0 to 1, 1 excluded */
    constructor(private identity: Identity, private readonly random: () => number) {
        this.policy = new ReconnectPolicy(random)
        this.target = identity.endpoint
    }

    /** Removes and returns the outputs. */
    take(): Output[] {
        const taken = this.outputs
        this.outputs = []
        return taken
    }

    /** The next instant at which `poll` has something to do. */
    get deadline(): number {
        const { connection, link } = this
        const isUp = connection?.phase === 'established'
        const rooms = [...this.rooms.values()].map((room) => isUp ? room.deadline : room.expiry)
        const channels = this.channels().map((channel) => isUp ? channel.deadline : Infinity)
        return Math.min(
            connection === undefined ? this.policy.deadline : connection.until,
            isUp ? Math.min(link?.deadline ?? Infinity, this.heartbeat?.deadline ?? Infinity, this.spreadAt,
                connection.lifetimeAt) : Infinity,
            connection?.frameSince === undefined ? Infinity : connection.frameSince + timeouts.frame,
            this.requests.deadline, ...this.waiting.map(({ until }) => until), ...rooms, ...channels)
    }

    get connectionState(): ConnectionState {
        return this.state
    }

    // MARK: Wishes of the user

    /** Requests a connection, at once (C-6). */
    connect(now: number): void {
        this.isWanted = true
        this.unauthenticated = 0
        if (this.connection === undefined) this.policy.now(now)
        this.poll(now)
    }

    /** Requests no connection: leaves the link in good order (C-7, C-42). */
    disconnect(now: number): void {
        this.isWanted = false
        this.policy.cancel()
        const { attached } = this
        if (attached !== undefined) for (const room of this.rooms.values()) room.flush(attached)
        this.poll(now)
        this.endLink()
        if (this.connection !== undefined) this.finish(this.connection, Code.none, now)
        this.setState('offline', Code.none, '')
    }

    /** The application is in the foreground or the background (C-48, C-51). */
    setMode(mode: Mode, now: number): void {
        this.mode = mode
        if (this.heartbeat !== undefined) this.heartbeat.mode = mode
        if (mode === 'foreground') {
            this.heartbeat?.pingNow()
            if (this.connection === undefined) this.policy.foreground(now)
        }
        this.poll(now)
    }

    /** The path has changed or has come up, or is gone (C-54, C-57, C-109). */
    setPath(hasPath: boolean, now: number): void {
        if (this.hasPath && !hasPath) this.policy.pathLost()
        this.hasPath = hasPath
        if (hasPath) {
            this.policy.pathChanged(now)
            this.heartbeat?.pingNow()
        }
        this.poll(now)
    }

    /** Takes another device ID, which its owner has stored durably (R-152, C-103). */
    renewDevice(device: bigint, now: number): void {
        this.identity = { ...this.identity, device }
        this.endLink()
        for (const room of this.rooms.values()) room.renewed()
        if (this.connection !== undefined) this.finish(this.connection, Code.none, now)
        this.policy.now(now)
    }

    // MARK: Rooms

    openRoom(name: string, start: Start, now: number): RoomMachine {
        let room = this.rooms.get(name)
        if (room === undefined) {
            room = new RoomMachine(name, start, this.random, (event) => this.emit(event))
            this.rooms.set(name, room)
        } else if (room.channel.givenUp !== undefined) {
            room.channel.retry()
        }
        this.poll(now)
        return room
    }

    room(name: string): RoomMachine | undefined {
        return this.rooms.get(name)
    }

    closeRoom(name: string, now: number): void {
        this.rooms.get(name)?.close(this.attached)
        this.rooms.delete(name)
        this.poll(now)
    }

    publish(room: string, message: Outgoing, now: number): void {
        this.rooms.get(room)?.publish(message)
        if (this.connection === undefined) this.policy.hurry(now)
        this.poll(now)
    }

    setTyping(room: string, isTyping: boolean, now: number): void {
        this.rooms.get(room)?.setTyping(isTyping, this.attached, now)
        this.poll(now)
    }

    /** Keeps the account's own session open, whose updates are reported. */
    openAccount(now: number): void {
        this.account ??= new Channel(this.identity.account, SessionKind.account, this.random)
        this.poll(now)
    }

    /**
     * Sends a request without a recipient to the relay, when there is a session for it.
     *
     * @param place a room's session, its session for attachments, or the account's session
     * @param duration the deadline in milliseconds, counted from now
     */
    request(place: { room: string } | { files: string } | 'account', method: string, content: Uint8Array,
        duration: number, now: number, done: (answer: Answer) => void): void {
        let channel: Channel | undefined
        if (place === 'account') {
            channel = this.account ??= new Channel(this.identity.account, SessionKind.account, this.random)
        } else if ('files' in place) {
            channel = this.files.get(place.files)
            channel ??= new Channel(place.files, SessionKind.attachment, this.random)
            this.files.set(place.files, channel)
        } else {
            channel = this.rooms.get(place.room)?.channel
        }
        if (channel === undefined) return done({ status: Code.unknownSession, content: new Uint8Array(0) })
        this.waiting.push({ channel, method, content, until: now + duration, duration, done })
        if (this.connection === undefined) this.policy.hurry(now)
        this.poll(now)
    }

    // MARK: The carrier

    /** The carrier of a connection is up (C-6). */
    carrierUp(id: number, now: number): void {
        const connection = this.current(id)
        if (connection?.phase !== 'connecting') return
        connection.until = now + timeouts.welcome
        if (connection.hello === undefined) connection.phase = 'authenticating'
        else this.sendHello(connection, now)
        this.poll(now)
    }

    /** The credential of an attempt; undefined if there is none at present. */
    authenticated(id: number, credential: Credential | undefined, now: number): void {
        const connection = this.current(id)
        if (connection === undefined || connection.hello !== undefined) return
        if (credential === undefined) return this.lose(connection, 'other', now)
        connection.isExchange = credential.mechanism !== undefined
        connection.hello = { ...credential } as Fields
        if (connection.phase === 'authenticating') this.sendHello(connection, now)
        this.poll(now)
    }

    /** The answer to a challenge, and the last message of the server; undefined if there is no valid answer (C-70). */
    answered(id: number, answer: Uint8Array | undefined, expected: Uint8Array | undefined, now: number): void {
        const connection = this.current(id)
        if (connection === undefined) return
        if (answer === undefined) return this.distrust(connection, now)
        connection.expected = expected
        this.write(connection, Type.auth, { credential: answer }, now)
        this.poll(now)
    }

    /** A fresh token for an established connection (C-71). */
    renewed(id: number, credential: Uint8Array, now: number): void {
        const connection = this.current(id)
        if (connection?.phase !== 'established' || connection.isRenewing) return
        connection.isRenewing = true
        this.write(connection, Type.auth, { credential }, now)
    }

    /** Bytes have arrived on a connection. */
    carrierData(id: number, bytes: Uint8Array, now: number): void {
        const connection = this.current(id)
        if (connection === undefined || connection.phase === 'ending') return
        connection.receiver.add(bytes)
        try {
            for (;;) {
                const frame = connection.receiver.next()
                if (frame === undefined) break
                connection.frameSince = undefined
                this.heartbeat?.heard(now)
                this.receive(connection, frame, now)
                if (this.connection !== connection || (connection.phase as Phase) === 'ending') return
            }
            const { idlePackets } = connection.receiver
            this.link?.waste(now, idlePackets - connection.idlePackets)
            connection.idlePackets = idlePackets
            connection.frameSince = connection.receiver.isInsideFrame ? connection.frameSince ?? now : undefined
        } catch (error) {
            if (!(error instanceof WireError)) throw error
            this.fault(connection, error, now)
        }
        this.poll(now)
    }

    /** The carrier has ended, or could not be made; `isRefused` if the port was refused (C-94). */
    carrierEnded(id: number, isRefused: boolean, now: number): void {
        const connection = this.current(id)
        if (connection === undefined) return
        if (connection.phase === 'ending') {
            this.connection = undefined
            if (this.isWanted && this.policy.deadline === Infinity) this.policy.now(now)
            return this.poll(now)
        }
        this.lose(connection, connection.phase === 'established' ? 'ended' : isRefused ? 'refused' : 'other', now)
        this.poll(now)
    }

    // MARK: Time

    /** Does what is due. */
    poll(now: number): void {
        for (const room of this.rooms.values()) room.expire(now)
        this.expireRequests(now)
        const { connection } = this
        if (connection === undefined) {
            if (this.isWanted && now >= this.policy.deadline) this.attempt(now)
            return
        }
        const frameLate = connection.frameSince !== undefined && now >= connection.frameSince + timeouts.frame
        if (now >= connection.until || frameLate) return this.timeout(connection, now)
        if (connection.phase !== 'established' || this.link === undefined) return
        try {
            this.pollLink(connection, this.link, now)
        } catch (error) {
            if (!(error instanceof WireError)) throw error
            this.fault(connection, error, now)
        }
    }

    private pollLink(connection: Connection, link: Link, now: number): void {
        const { heartbeat } = this
        heartbeat?.setWaiting(link.isWaiting || this.requests.count > 0, now)
        const due = heartbeat?.poll(now)
        if (due === 'dead') return this.lose(connection, 'other', now, true)
        if (due === 'ping') link.ping()
        if (now >= this.spreadAt) {
            this.spreadAt = now + spreadLifetime
            link.ping()
        }
        if (now >= connection.lifetimeAt) {
            connection.lifetimeAt = Infinity
            this.outputs.push({ type: 'renew', connection: connection.id })
        }
        for (const room of this.rooms.values()) room.poll(link, now)
        if (this.link !== link || this.connection !== connection) return
        for (const channel of this.channels()) channel.poll(link, () => ({ cursor: 0n }), now)
        this.sendRequests(link, now)
        this.requests.expire(link, now)
        for (const bytes of link.poll(now)) this.outputs.push({ type: 'send', connection: connection.id, bytes })
        heartbeat?.setWaiting(link.isWaiting || this.requests.count > 0, now)
    }

    private timeout(connection: Connection, now: number): void {
        if (connection.phase === 'ending') {
            this.outputs.push({ type: 'end', connection: connection.id, isAbrupt: true })
            this.connection = undefined
            if (this.isWanted && this.policy.deadline === Infinity) this.policy.now(now)
            return
        }
        this.lose(connection, 'other', now, true)
    }

    private channels(): Channel[] {
        const feature = (bit: bigint): boolean => this.link?.has(bit) ?? false
        return [
            ...(this.account !== undefined && feature(Feature.accountSession) ? [this.account] : []),
            ...(feature(Feature.attachments) ? this.files.values() : []),
        ]
    }

    private sendRequests(link: Link, now: number): void {
        if (!link.has(Feature.requests)) return
        this.waiting = this.waiting.filter(({ channel, method, content, until, done }) => {
            if (channel.givenUp !== undefined) {
                done({ status: channel.givenUp, content: new Uint8Array(0) })
                return false
            }
            const { session } = channel
            if (session === undefined || !link.isUsable(session)) return true
            this.requests.send(link, session, { method, content }, until - now, now, done)
            return false
        })
    }

    private expireRequests(now: number): void {
        const late = this.waiting.filter(({ until }) => until <= now)
        if (late.length === 0) return
        this.waiting = this.waiting.filter(({ until }) => until > now)
        for (const { done } of late) done({ status: Code.deadlineExceeded, content: new Uint8Array(0) })
    }

    // MARK: Connections

    private get attached(): Link | undefined {
        return this.connection?.phase === 'established' ? this.link : undefined
    }

    private current(id: number): Connection | undefined {
        return this.connection?.id === id ? this.connection : undefined
    }

    private attempt(now: number): void {
        this.policy.attempted()
        this.connection = {
            id: this.nextConnection++, phase: 'connecting', receiver: new Receiver('server', 'handshake'),
            until: now + timeouts.connecting, hello: undefined, isResume: false, isExchange: false, challenges: 0,
            expected: undefined, lifetimeAt: Infinity, isRenewing: false, frameSince: undefined,
            idlePackets: 0,
        }
        const { id } = this.connection
        this.outputs.push({ type: 'connect', connection: id, endpoint: this.target })
        this.outputs.push({ type: 'authenticate', connection: id })
        this.target = this.identity.endpoint
        this.setState('connecting', Code.none, '')
    }

    private sendHello(connection: Connection, now: number): void {
        connection.phase = 'awaiting'
        connection.isResume = this.link !== undefined && this.token !== undefined
        const { account, device, agent } = this.identity
        this.write(connection, Type.hello, {
            spokenVersion: [version], features, limits: { ...limits }, account, device, agent,
            ...connection.hello,
            ...(connection.isResume ? {
                resume: { ...this.token!, sessionPosition: this.link!.positions() as unknown as Fields[] },
            } : {}),
        }, now)
    }

    /** Writes a frame of the handshake, or one that is not the link's (C-14). */
    private write(connection: Connection, type: number, fields: Fields, now: number): void {
        const body = encodeBody(types.get(type)!, fields)
        const isOfLink = type === Type.goaway && connection.phase === 'established'
        const timestamp = isOfLink ? this.link?.timestamp(now) ?? 0 : 0
        const flags = Flag.checksummed
        const bytes = encodeFrame({ type, sequence: 0, timestamp, flags, compression: 0, session: 0, body })
        this.outputs.push({ type: 'send', connection: connection.id, bytes })
    }

    private receive(connection: Connection, frame: Frame, now: number): void {
        const info = frame.info
        if (info !== undefined && (info.session === '0') && [Type.welcome, Type.reject, Type.goaway, Type.auth]
            .includes(frame.type as never)) {
            this.receiveHandshake(connection, frame.type, parseBody(info, frame.body, 'server'), now)
            return
        }
        if (this.link === undefined) throw new WireError('protocolViolation')
        for (const event of this.link.receive(frame, now)) this.handle(event, now)
    }

    private receiveHandshake(connection: Connection, type: number, fields: Fields, now: number): void {
        switch (type) {
            case Type.welcome: this.welcome(connection, fields as unknown as WelcomeBody, now); break
            case Type.auth: this.receiveAuth(connection, fields as unknown as AuthBody, now); break
            default: this.receiveGoaway(connection, fields as unknown as GoawayBody, type === Type.reject, now)
        }
    }

    /** Checks welcome before anything is done (C-20, C-70). */
    private welcome(connection: Connection, welcome: WelcomeBody, now: number): void {
        if (connection.isExchange) {
            const { credential } = welcome
            const isProved = credential !== undefined && connection.expected !== undefined &&
                equalBytes(credential, connection.expected)
            if (!isProved) return this.distrust(connection, now)
        }
        const isVersion = welcome.spokenVersion >> 8 === version >> 8
        if (!isVersion || (welcome.resume !== undefined) !== connection.isResume) {
            throw new WireError('protocolViolation')
        }
        const isCompact = welcome.spokenVersion >= 0x0101
        const known = isCompact ? features : features & 15n
        // No limit above its own, whatever welcome has (C-20).
        const least = Object.fromEntries(Object.entries(welcome.limits).map(([name, value]) =>
            [name, Math.min(value as number, limits[name as keyof Limits])])) as unknown as Limits
        const effective: WelcomeBody = { ...welcome, features: welcome.features & known, limits: least }
        if (this.link === undefined || !connection.isResume) {
            this.linkOrigin = now
            this.link = new Link(this.linkOrigin, effective)
        }
        this.token = { link: welcome.link, resumeToken: welcome.resumeToken }
        let ended: LinkEvent[]
        try {
            ended = this.link.attach(effective, now)
        } catch (error) {
            this.endLink()
            throw error
        }
        connection.receiver.establish(welcome.spokenVersion, effective.features, effective.limits)
        connection.phase = 'established'
        connection.until = Infinity
        this.unauthenticated = 0
        this.policy.welcomed(now, connection.isResume, welcome.reconnectSpread)
        this.heartbeat = new Heartbeat(this.random, this.link.roundTrip, welcome.heartbeatInterval, now)
        this.heartbeat.mode = this.mode
        this.spreadAt = welcome.reconnectSpread === undefined ? Infinity : now + spreadLifetime
        this.scheduleRenewal(connection, welcome.credentialLifetime, now)
        this.setState('online', Code.none, '')
        for (const event of ended) this.handle(event, now)
    }

    private scheduleRenewal(connection: Connection, lifetime: number | undefined, now: number): void {
        if (lifetime === undefined || connection.isExchange) return
        const wanted = lifetime * 0.75 * (0.95 + 0.1 * this.random())
        connection.lifetimeAt = now + Math.max(Math.min(wanted, lifetime - 1_000), 1_000)
    }

    private receiveAuth(connection: Connection, auth: AuthBody, now: number): void {
        if (connection.phase === 'established') {
            if (!connection.isRenewing) throw new WireError('protocolViolation')
            connection.isRenewing = false
            return this.scheduleRenewal(connection, auth.credentialLifetime, now)
        }
        const isDue = connection.isExchange && ++connection.challenges <= maxChallenges && auth.credential !== undefined
        if (!isDue) throw new WireError('protocolViolation')
        this.outputs.push({ type: 'challenge', connection: connection.id, message: auth.credential! })
    }

    /** The server has not proved that it knows the password's keys (C-70). */
    private distrust(connection: Connection, now: number): void {
        this.stop(Code.unauthenticated, 'the server has not proved its identity')
        this.finish(connection, Code.unauthenticated, now)
    }

    /** The reactions to reject and goaway (C-43, C-34, C-39). */
    private receiveGoaway(connection: Connection, goaway: GoawayBody, isReject: boolean, now: number): void {
        const { code, reason = '', retryAfter, redirect } = goaway
        if (code === Code.resumeRejected && isReject && connection.isResume) {
            this.endLink()
            if (connection.isExchange) {
                connection.hello = connection.expected = undefined
                connection.challenges = 0
                connection.phase = 'authenticating'
                this.outputs.push({ type: 'authenticate', connection: connection.id })
            } else {
                this.sendHello(connection, now)
            }
            return
        }
        const wasEstablished = connection.phase === 'established'
        this.drop(connection, now)
        const isFinal = [Code.forbidden, Code.revoked, Code.unsupportedVersion, Code.replaced].includes(code as never)
        if (code === Code.revoked || code === Code.replaced) this.endLink()
        if (isFinal || (code === Code.unauthenticated && ++this.unauthenticated >= 2)) {
            return this.stop(code, reason)
        } else if (redirect !== undefined) {
            const target = redirected(this.identity.endpoint, redirect)
            if (target === undefined) {
                this.policy.failed('other', now, retryAfter)
            } else {
                this.target = target
                this.policy.redirected(now, retryAfter)
            }
        } else {
            const isDraining = [Code.draining, Code.serverBusy, Code.tooManyLinks].includes(code as never) ||
                retryAfter !== undefined
            this.policy.failed(isDraining && wasEstablished ? 'draining' : 'other', now, retryAfter)
        }
        this.setState('offline', code, reason)
    }

    /** A fault of the server ends the connection with a goaway; the link is resumed (C-41). */
    private fault(connection: Connection, error: WireError, now: number): void {
        if (error.code === 'idleTimeout') return this.lose(connection, 'other', now, true)
        const isEstablished = connection.phase === 'established'
        // The first frame of a client is hello (W-32).
        const hasBegun = connection.phase !== 'connecting' && connection.phase !== 'authenticating'
        if (hasBegun) this.write(connection, Type.goaway, { code: Code[error.code] }, now)
        this.drop(connection, now)
        if (!isEstablished && error.code === 'protocolViolation') this.endLink()
        this.policy.failed('other', now)
        this.setState('offline', Code[error.code], codeName(Code[error.code]))
    }

    private lose(connection: Connection, failure: Failure, now: number, isAbrupt = false): void {
        this.drop(connection, now, isAbrupt)
        this.policy.failed(failure, now)
        if (!this.hasPath) this.policy.pathLost()
        if (this.rooms.size > 0 && [...this.rooms.values()].some((room) => room.isWaiting)) this.policy.hurry(now)
        this.setState('offline', Code.none, '')
    }

    /** Abandons a connection; events of it are ignored from then on (C-4). */
    private drop(connection: Connection, now: number, isAbrupt = false): void {
        this.outputs.push({ type: 'end', connection: connection.id, isAbrupt })
        this.connection = undefined
        this.heartbeat = undefined
        this.link?.detach()
        for (const room of this.rooms.values()) room.setTyping(false, undefined, now)
    }

    /** Sends goaway and waits for the end of the carrier (C-7). */
    private finish(connection: Connection, code: number, now: number): void {
        if (connection.phase === 'ending') return
        if (connection.phase !== 'connecting') this.write(connection, Type.goaway, { code }, now)
        connection.phase = 'ending'
        connection.until = now + timeouts.disconnecting
        this.heartbeat = undefined
        this.link?.detach()
        this.outputs.push({ type: 'end', connection: connection.id, isAbrupt: false })
    }

    /** No attempt until the user requests one (C-44). */
    private stop(code: number, reason: string): void {
        this.isWanted = false
        this.policy.stop()
        this.setState('stopped', code, reason)
    }

    /** Discards the link. Its requests have failed (C-36, S-57). */
    private endLink(): void {
        this.link = undefined
        this.token = undefined
        for (const room of this.rooms.values()) room.lost()
        for (const channel of [this.account, ...this.files.values()]) channel?.lost()
        this.requests.fail(Code.unknownSession)
    }

    // MARK: Frames of sessions

    private handle(event: LinkEvent, now: number): void {
        if (event.kind === 'pong') {
            if (event.fields.reconnectSpread !== undefined) {
                this.policy.setSpread(event.fields.reconnectSpread)
                this.spreadAt = now + spreadLifetime
            }
            return
        }
        if (event.kind === 'frame' && event.type === Type.response) {
            this.requests.receive(event.session, event.fields as unknown as ResponseBody)
            return
        }
        if (event.kind === 'ended') this.requests.fail(event.code || Code.unknownSession, event.session)
        for (const room of this.rooms.values()) {
            if (room.channel.session === event.session) return room.receive(event, now)
        }
        for (const channel of [this.account, ...this.files.values()]) {
            if (channel === undefined || channel.session !== event.session) continue
            if (event.kind === 'opened') channel.opened()
            if (event.kind === 'ended') channel.ended(event, now)
            const isList = channel === this.account
            if (isList && event.kind === 'opened') this.emit({ type: 'update', entry: {} })
            if (isList && event.kind === 'frame' && event.type === Type.update) {
                this.emit({ type: 'update', entry: event.fields as unknown as UpdateBody })
            }
        }
    }

    private setState(state: ConnectionState, code: number, reason: string): void {
        const isSame = this.state === state && code === Code.none
        this.state = state
        if (!isSame) this.emit({ type: 'state', state, code, reason })
    }

    private emit(event: EngineEvent): void {
        this.outputs.push({ type: 'event', event })
    }
}
