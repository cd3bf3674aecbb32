// A client for applications.

import type { Connect } from '../carriers/carrier.js'
import { connectWebSocket } from '../carriers/websocket.js'
import { type Authentication, Driver } from '../client/driver.js'
import { parseEndpoint } from '../client/endpoint.js'
import { Engine } from '../client/engine.js'
import type { ConnectionState } from '../client/events.js'
import type { Answer } from '../client/requests.js'
import { encodeContent, parseContent } from '../messages/tlvs.js'
import { IndexedDBOutbox } from '../outbox/indexeddb.js'
import { MemoryOutbox } from '../outbox/memory.js'
import type { Outbox } from '../outbox/outbox.js'
import { codeName } from '../wire/errors.js'
import { parseBody } from '../wire/bodies.js'
import { utf8 } from '../wire/bytes.js'
import { isName } from '../wire/names.js'
import { Membership, Type, type UpdateBody } from '../wire/registry.generated.js'
import { types } from '../wire/tables.js'
import type { Fields } from '../wire/values.js'
import type { Core, CoreEvent } from './core.js'
import { LocalCore } from './core.js'
import { Emitter } from './emitter.js'
import { CodeError } from './errors.js'
import { checkFrom, type From, Room } from './room.js'
import { scram } from './scram.js'
import { canShare, SharedCore } from './tabs.js'

/** How a client connects, and as whom. */
export interface ClientOptions {
    /** `wss://host/martlet`, `ws://` for loopback; in Node with `connect` also `martlets://host:port`. */
    url: string
    /** The account, a name of 1 to 128 bytes (W-31). */
    account: string
    /** A token, or a function that is called for each connection and returns one (C-12). */
    token?: string | (() => Promise<string>)
    /** A password; it needs `permitPasswordWithoutTLS`, since a browser knows no channel binding (C-68). */
    password?: string
    permitPasswordWithoutTLS?: boolean
    /** `indexedDB` (default where there is one) survives a reload; `memory` does not. Or an outbox. */
    storage?: 'indexedDB' | 'memory' | Outbox
    /** Whether tabs with the same account and URL share one connection; by default with `indexedDB`. */
    shared?: boolean
    /** The name of the program, at most 128 bytes. */
    agent?: string
    /** How connections are made, by default by WebSocket. */
    connect?: Connect
}

export interface ClientEvents {
    /**
     * The state of the connection; `code` and `reason` are those of the server, for people (C-43). `stopped` with
     * `storageUnavailable`: the storage cannot be read or was deleted, the client has ended, and every call rejects.
     */
    state: { state: ConnectionState, code: string, reason: string }
    /** A failure of the storage that no call reports. The client continues. */
    error: CodeError
    /** An entry of the account's rooms has changed, or without an entry the whole list. */
    rooms: RoomEntry | undefined
}

/** A room of the account. */
export interface RoomEntry {
    room: string
    membership: 'none' | 'invited' | 'joined'
    inviter: string | undefined
    /** The last offset of the room, and the account's read offset. */
    head: bigint
    readUpTo: bigint
    /** The messages beyond the read offset, at most 100 (M-27). */
    unread: number
    /** The last message; its text may be shortened. */
    last: { sender: string, acceptedAt: number, kind: number, content: Uint8Array } | undefined
}

const requestDuration = 30_000
const pageLimit = 64
const memberships = ['none', 'invited', 'joined'] as const

/** A connection to a relay, its rooms, and the messages of its account on this device. */
export class Client extends Emitter<ClientEvents> {
    private readonly core: OpenCore
    private readonly outbox: Outbox
    private readonly openRooms = new Map<string, Room>()
    private readonly leftRooms = new Set<Room>()
    private local: LocalCore | undefined
    private readonly listeners = new AbortController()
    private current: ConnectionState = 'connecting'
    private ending: Promise<void> | undefined

    /** @throws CodeError, TypeError for an account or a URL that is not valid, or without a WebSocket and `connect` */
    constructor(private readonly options: ClientOptions) {
        super()
        const { url, account, storage, password } = options
        const endpoint = parseEndpoint(url)
        if (endpoint === undefined) throw new TypeError('the URL is not an endpoint')
        if (!isName(account) || utf8(account).length > 128) throw new TypeError('the account is not a name')
        if (password !== undefined && (endpoint.isSecure || options.permitPasswordWithoutTLS !== true)) {
            throw new CodeError('passwordNotPermitted')
        }
        if (options.connect === undefined && (typeof WebSocket === 'undefined' || !/^wss?:/.test(endpoint.url))) {
            throw new TypeError('the URL needs the option connect, such as tcp(): here is no WebSocket for it')
        }
        const name = `martlet ${endpoint.url} ${account}`
        const isStored = storage === 'indexedDB' || (storage === undefined && typeof indexedDB !== 'undefined')
        this.outbox = withCodes(typeof storage === 'object' ? storage : isStored ?
            new IndexedDBOutbox(name, (error) => void this.end(error, 'stopped')) : new MemoryOutbox())
        const lead = (onEvent: (event: CoreEvent) => void): Promise<LocalCore> => this.lead(endpoint, onEvent)
        this.core = new OpenCore((options.shared ?? isStored) && canShare() ?
            new SharedCore(name, lead, (event) => this.handle(event)) : lead((event) => this.handle(event)),
            this.signal)
        this.listen()
        void this.core.command({ op: 'state' })
            .then((state) => this.setState(state as ClientEvents['state']), () => undefined)
    }

    /** The state of the connection: of the leading tab, if several share it. */
    get state(): ConnectionState {
        return this.current
    }

    get account(): string {
        return this.options.account
    }

    /** Whether this tab has the connection. */
    get isLeader(): boolean {
        return this.local !== undefined
    }

    /**
     * Opens a room, or returns it if it is open. A name has 1 to 128 bytes (W-31).
     *
     * @param from where its messages begin, by default with the last 50
     * @throws TypeError for an invalid name, CodeError `invalidValue` for an invalid beginning, `closed`
     */
    room(name: string, from: From = { tail: 50 }): Room {
        if (!isName(name) || utf8(name).length > 128) throw new TypeError('the room is not a name')
        checkFrom(from)
        this.signal.throwIfAborted()
        let room = this.openRooms.get(name)
        if (room === undefined) {
            room = new Room(this, name, from, this.core, this.outbox)
            this.openRooms.set(name, room)
        }
        return room
    }

    /** The rooms of the account, in the order of the bytes of their names. Changes follow as `rooms`. */
    async rooms(): Promise<RoomEntry[]> {
        await this.core.command({ op: 'watch' })
        const result: RoomEntry[] = []
        for (let after: string | undefined; ;) {
            const behind = after === undefined ? {} : { room: after }
            const content = encodeContent('room? limit', { limit: pageLimit, ...behind } as Fields)
            const answer = await this.request('rooms.list', content)
            const { entry, hasMore } = parseContent(answer, 'entry* hasMore?')
            for (const body of entry as Uint8Array[]) {
                result.push(toEntry(parseBody(types.get(Type.update)!, body, 'server') as unknown as UpdateBody))
            }
            after = result.at(-1)?.room
            if (hasMore !== 1 || (entry as Uint8Array[]).length === 0) return result
        }
    }

    /** Joins a room, leaves it, or declines an invitation. */
    async setMembership(change: 'join' | 'leave' | 'decline', room: string): Promise<void> {
        await this.request(`rooms.${change}`, encodeContent('room', { room }))
    }

    async invite(account: string, room: string): Promise<void> {
        await this.request('rooms.invite', encodeContent('room account', { room, account }))
    }

    /**
     * Connects at once, for example after the user has pressed a button, or after `stopped` (C-44). It has no effect
     * after `close`.
     */
    connect(): void {
        void this.core.command({ op: 'connect' }).catch(() => undefined)
    }

    /**
     * Ends the client for good, and leaves in good order. What is pending, and every later call, rejects with `closed`.
     * Messages without an outcome stay stored, except in memory, where they are lost.
     *
     * @param timeout the most milliseconds in which the relay may still accept messages of this client
     */
    async close({ timeout = 0 }: { timeout?: number } = {}): Promise<void> {
        const sending = [...this.openRooms.values(), ...this.leftRooms].flatMap((room) => room.pending)
        if (timeout > 0 && sending.length > 0) {
            let timer: ReturnType<typeof setTimeout> | undefined
            await Promise.race([Promise.allSettled(sending), new Promise((resolve) => {
                timer = setTimeout(resolve, Math.min(timeout, 2 ** 31 - 1))
            })])
            clearTimeout(timer)
        }
        await this.end(new CodeError('closed'), 'offline')
    }

    /** Ends the client, which gives up the lead, so that a different tab can have it. */
    private end(error: CodeError, state: 'offline' | 'stopped'): Promise<void> {
        return this.ending ??= (async () => {
            // The last commands of the rooms are before the end.
            const left = [...this.openRooms.values(), ...this.leftRooms].map((room) => room.end(error))
            this.listeners.abort(error)
            await Promise.all([this.core.close(), ...left])
            this.local = undefined
            if (this.current === state) return
            const isClosed = state === 'offline'
            this.setState({ state, code: isClosed ? 0 : error.code, reason: isClosed ? '' : error.reason })
        })()
    }

    /** Aborted with the error of later calls when the client ends. @internal */
    get signal(): AbortSignal {
        return this.listeners.signal
    }

    /** @internal */
    fail(error: unknown): void {
        this.emit('error', CodeError.of(error))
    }

    /** @internal */
    forget(room: Room): void {
        this.openRooms.delete(room.name)
        if (room.isSending) this.leftRooms.add(room)
    }

    private async request(method: string, content: Uint8Array): Promise<Uint8Array> {
        const answer = await this.core.command({ op: 'request', place: 'account', method, content,
            duration: requestDuration }) as Answer
        if (answer.status !== 0) throw new CodeError(answer.status, answer.reason, answer.retryAfter)
        return answer.content
    }

    /** Makes the engine of this tab, and starts it. */
    private async lead(endpoint: NonNullable<ReturnType<typeof parseEndpoint>>, onEvent: (event: CoreEvent) => void):
        Promise<LocalCore> {
        const { account, agent = 'martlet-typescript', connect = connectWebSocket } = this.options
        try {
            // What is stored before the first call of this client is of an earlier process (C-76).
            const [earlier, device] = await Promise.all([this.outbox.messages(), this.outbox.device()])
            this.signal.throwIfAborted()
            const engine = new Engine({ endpoint, account, device, agent }, Math.random)
            const core = new LocalCore(engine, (handle) =>
                new Driver(engine, connect, () => this.authentication(), handle), account, device, this.outbox, onEvent)
            this.local = core
            core.start(earlier)
            return core
        } catch (error) {
            void this.end(CodeError.of(error), 'stopped')
            throw error
        }
    }

    private authentication(): Authentication {
        const { account, token, password } = this.options
        if (password !== undefined) {
            const random = crypto.getRandomValues(new Uint8Array(18))
            return scram(account, password, btoa(String.fromCharCode(...random)))
        }
        return {
            first: async () => {
                const text = typeof token === 'function' ? await token() : token
                return text === undefined ? {} : { credential: utf8(text) }
            },
        }
    }

    /** What the page reports about itself and the network (C-51, C-54). */
    private listen(): void {
        if (typeof document === 'undefined') return
        const { signal } = this.listeners
        document.addEventListener('visibilitychange', () =>
            this.local?.setMode(document.visibilityState === 'visible' ? 'foreground' : 'background'), { signal })
        window.addEventListener('online', () => this.local?.setPath(true), { signal })
        window.addEventListener('offline', () => this.local?.setPath(false), { signal })
        document.addEventListener('resume', () => this.local?.setMode('foreground'), { signal })
        window.addEventListener('pagehide', () => {
            for (const room of this.openRooms.values()) room.flush()
            this.core.leave()
        }, { signal })
        window.addEventListener('pageshow', ({ persisted }) => {
            if (!persisted) return
            this.core.restore()
            for (const room of this.openRooms.values()) void room.open()
        }, { signal })
    }

    private handle(event: CoreEvent): void {
        switch (event.type) {
            case 'state': this.setState({ ...event, code: event.code }); break
            case 'leader':
                for (const room of this.openRooms.values()) void room.open()
                break
            case 'error': this.fail(new CodeError('storageUnavailable', event.reason)); break
            case 'update': this.emit('rooms', event.entry.room === undefined ? undefined : toEntry(event.entry)); break
            default:
                this.openRooms.get(event.room)?.handle(event)
                if (event.type === 'outcome') this.settleLeft(event)
        }
    }

    /** Messages of rooms that were left have an outcome too. */
    private settleLeft(event: CoreEvent & { type: 'outcome' }): void {
        for (const room of this.leftRooms) {
            room.handle(event)
            if (!room.isSending) this.leftRooms.delete(room)
        }
    }

    private setState({ state, code, reason }: { state: ConnectionState, code: number | string, reason: string }): void {
        this.current = state
        this.emit('state', { state, code: typeof code === 'number' ? codeName(code) : code, reason })
    }
}

/** A core until the client ends, also one that is not ready yet: then its commands are rejected at once. */
class OpenCore {
    private readonly ready: Promise<Core>
    private core: Core | undefined
    private readonly pending = new Set<(error: unknown) => void>()

    /** @param signal is aborted with the error of later commands */
    constructor(core: Core | Promise<Core>, private readonly signal: AbortSignal) {
        this.ready = Promise.resolve(core)
        if (!(core instanceof Promise)) this.core = core
        this.ready.then((made) => {
            this.core = made
        }, () => undefined)
    }

    leave(): void {
        this.core?.leave()
    }

    restore(): void {
        this.core?.restore()
    }

    command(command: Parameters<Core['command']>[0]): Promise<unknown> {
        return new Promise((resolve, reject) => {
            if (this.signal.aborted) return reject(this.signal.reason)
            this.pending.add(reject)
            void this.ready.then((core) => core.command(command)).then(resolve, reject)
                .then(() => this.pending.delete(reject))
        })
    }

    /** Rejects what is pending, after the signal was aborted. */
    async close(): Promise<void> {
        for (const reject of this.pending) reject(this.signal.reason)
        await this.ready.then((core) => core.close(), () => undefined)
    }
}

/** An outbox whose failures have codes. */
function withCodes(outbox: Outbox): Outbox {
    return new Proxy(outbox, {
        get: (target, name) => async (...values: unknown[]) => {
            try {
                return await (target[name as keyof Outbox] as (...values: unknown[]) => unknown).apply(target, values)
            } catch (error) {
                throw CodeError.of(error)
            }
        },
    })
}

function toEntry(update: UpdateBody): RoomEntry {
    const { message } = update
    let last: RoomEntry['last']
    if (message !== undefined) {
        try {
            const body = parseBody(types.get(Type.data)!, message, 'server')
            const { sender, acceptedAt, kind, content } = body as never as
                { sender: string, acceptedAt: bigint, kind: number, content: Uint8Array }
            last = { sender, acceptedAt: Number(acceptedAt), kind, content }
        } catch { /* a message that cannot be read is not shown */ }
    }
    return {
        room: update.room!, membership: memberships[update.membership ?? Membership.none]!, inviter: update.inviter,
        head: update.head ?? 0n, readUpTo: update.readUpTo ?? 0n, unread: update.unread ?? 0, last,
    }
}
