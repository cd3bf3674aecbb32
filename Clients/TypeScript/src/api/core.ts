// The part of a client that exists once for an account: the engine, its carrier and the outbox.
//
// Commands, replies and events can be cloned (HTML, structured clone), so that other tabs can use it.

import { Driver } from '../client/driver.js'
import type { Engine } from '../client/engine.js'
import type { ConnectionState, EngineEvent } from '../client/events.js'
import type { Mode } from '../client/heartbeat.js'
import type { Accepted, Outbox, OutboxMessage } from '../outbox/outbox.js'

/** Where a request is sent: a room, its attachments, or the account's session. */
export type Place = { room: string } | { files: string } | 'account'

export type Command =
    | { op: 'open', room: string, cursor: bigint, log: bigint | undefined, tail: number | undefined }
    | { op: 'close', room: string }
    | { op: 'publish', messages: OutboxMessage[] }
    | { op: 'acknowledge', room: string, delivered: bigint, read: bigint }
    | { op: 'typing', room: string, isTyping: boolean }
    | { op: 'request', place: Place, method: string, content: Uint8Array, duration: number }
    | { op: 'cancel', key: string }
    | { op: 'state' }
    | { op: 'connect' }
    | { op: 'watch' }

/** What is known of a room that is open. */
export interface RoomSnapshot {
    isOpen: boolean
    head: bigint
    first: bigint
    log: bigint
    cursor: bigint
    /** The accounts in the room with their presence (wire.md section 13.2). */
    members: [string, number][]
    /** The accounts that type. */
    typing: string[]
    /** The highest offsets that other accounts have received and read. */
    receipts: { kind: 'delivered' | 'read', account: string, upTo: bigint }[]
}

export type CoreEvent =
    | Exclude<EngineEvent, { type: 'mark' | 'accepted' | 'failed' | 'published' | 'reused' }>
    | { type: 'outcome', key: string, room: string, state: 'sent' | 'accepted' | 'failed', offset: bigint, code: number,
        reason: string }
    | { type: 'leader' }

/** Where commands are performed: in this tab, or in a different one. */
export interface Core {
    command(command: Command): Promise<unknown>
    /** Ends the use of it by this tab. */
    close(): Promise<void>
    /** The page ends, or is kept for a return of the user: what can be done at once. */
    leave(): void
    /** The page is shown again after `leave`. */
    restore(): void
}

const present = 1
/** Milliseconds in which outcomes are collected for one transaction. */
const settleDelay = 20
const requestGrace = 1_000

/** Performs commands on an engine of this tab. */
export class LocalCore implements Core {
    private readonly driver: Driver
    private readonly rooms = new Map<string, RoomSnapshot>()
    private readonly keys = new Map<bigint, { key: string, room: string }>()
    private state: { state: ConnectionState, code: number, reason: string } = { state: 'offline', code: 0, reason: '' }
    private readonly unused = new Set<string>()
    private readonly failed = new Set<bigint>()
    private accepted: Accepted[] = []
    private loading: Promise<void> = Promise.resolve()
    private isLoaded = false
    private isStopped = false
    private highest = 0n
    /** Counters whose outcome is known and not stored yet. */
    private readonly settling = new Set<bigint>()

    /**
     * @param engine an engine that was made for the device of the outbox
     * @param makeDriver makes its driver
     * @param onEvent is called with each event, in order
     */
    constructor(private readonly engine: Engine, makeDriver: (onEvent: (event: EngineEvent) => void) => Driver,
        private readonly account: string, private device: bigint, private readonly outbox: Outbox,
        private readonly onEvent: (event: CoreEvent) => void) {
        this.driver = makeDriver((event) => this.handle(event))
    }

    /** Loads the outbox, and connects. */
    async start(): Promise<void> {
        await this.load()
        this.driver.run((engine, now) => engine.connect(now))
    }

    async close(): Promise<void> {
        this.isStopped = true
        await this.loading.catch(() => undefined)
        await this.settle()
        this.driver.run((engine, now) => engine.disconnect(now))
    }

    restore(): void {
        this.driver.run((engine, now) => engine.connect(now))
    }

    leave(): void {
        this.driver.run((engine, now) => engine.disconnect(now))
    }

    setMode(mode: Mode): void {
        this.driver.run((engine, now) => engine.setMode(mode, now))
    }

    setPath(hasPath: boolean): void {
        this.driver.run((engine, now) => engine.setPath(hasPath, now))
    }

    async command(command: Command): Promise<unknown> {
        switch (command.op) {
            case 'open': return this.open(command)
            case 'close':
                this.rooms.delete(command.room)
                this.unused.add(command.room)
                this.closeUnused()
                return undefined
            case 'publish': return this.publish(command.messages)
            case 'acknowledge':
                this.driver.run((engine, now) => {
                    engine.room(command.room)?.acknowledge(command.delivered, command.read, now)
                    engine.poll(now)
                })
                return undefined
            case 'typing':
                this.driver.run((engine, now) => engine.setTyping(command.room, command.isTyping, now))
                return undefined
            case 'request':
                return new Promise((resolve) => this.driver.run((engine, now) =>
                    engine.request(command.place, command.method, command.content, command.duration, now, resolve)))
            case 'cancel': return this.cancel(command.key)
            case 'state': return this.state
            case 'connect':
                this.driver.run((engine, now) => engine.connect(now))
                return undefined
            case 'watch':
                this.driver.run((engine, now) => engine.openAccount(now))
                return undefined
        }
    }

    /** A room is closed when no tab uses it and nothing is to be published in it. */
    private closeUnused(): void {
        for (const room of this.unused) {
            if (this.engine.room(room)?.isWaiting === true) continue
            this.unused.delete(room)
            this.driver.run((engine, now) => engine.closeRoom(room, now))
        }
    }

    private open({ room, cursor, log, tail }: Extract<Command, { op: 'open' }>): RoomSnapshot {
        let snapshot = this.rooms.get(room)
        if (snapshot === undefined) {
            snapshot = { isOpen: false, head: 0n, first: 1n, log: 0n, cursor, members: [], typing: [], receipts: [] }
            this.rooms.set(room, snapshot)
        }
        this.driver.run((engine, now) => engine.openRoom(room, { cursor, log, tail }, now))
        this.unused.delete(room)
        void this.load()
        return structuredClone(snapshot)
    }

    /** New messages of a tab. They are published in the order of their counters. */
    private async publish(messages: OutboxMessage[]): Promise<void> {
        const isNext = messages.every(({ counter }, index) => counter === this.highest + BigInt(index) + 1n)
        if (!isNext || !this.isLoaded) return this.load()
        for (const message of messages) this.give(message, false)
    }

    /** Gives the messages of the outbox to the engine, in the order of their counters. */
    private load(): Promise<void> {
        return this.loading = this.loading.catch(() => undefined).then(async () => {
            const isFirst = !this.isLoaded
            const messages = await this.outbox.messages()
            this.isLoaded = true
            for (const message of messages) this.give(message, isFirst)
        })
    }

    private give(message: OutboxMessage, isOfEarlierProcess: boolean): void {
        const { counter, kind, content, key, room, expiresAt, timeToLive = Infinity } = message
        if (counter > this.highest) this.highest = counter
        if (message.status === 'failed') this.failed.add(counter)
        if (message.status === 'failed' || this.keys.has(counter) || this.settling.has(counter)) return
        if (this.isStopped) return
        if (this.engine.room(room) === undefined) {
            this.openForOutbox(room)
            if (!this.rooms.has(room)) this.unused.add(room)
        }
        this.keys.set(counter, { key, room })
        // The remaining time never exceeds the duration (C-75).
        const left = expiresAt === undefined ? undefined : Math.min(expiresAt - Date.now(), timeToLive)
        this.driver.run((engine, now) => engine.publish(room, {
            counter, kind, content, isOfEarlierProcess, isMarked: message.status === 'marked',
            ...(left === undefined ? {} : { expiresAt: now + left }),
        }, now))
    }

    /** A room with messages to publish is open, although no tab reads it: its delivery begins at the end. */
    private openForOutbox(room: string): void {
        this.driver.run((engine, now) => engine.openRoom(room, { cursor: 0n, tail: 0 }, now))
    }

    private async cancel(key: string): Promise<boolean> {
        const found = [...this.keys].find(([, each]) => each.key === key)
        if (found !== undefined) {
            const [counter, { room }] = found
            if (this.engine.room(room)?.cancel(counter) !== true) return false
            this.keys.delete(counter)
        }
        return this.outbox.remove(key)
    }

    private handle(event: EngineEvent): void {
        switch (event.type) {
            case 'mark':
                void this.outbox.mark(event.counter).then(() => this.driver.run((engine, now) => {
                    engine.room(event.room)?.marked(event.counter)
                    engine.poll(now)
                }))
                return
            case 'published': return this.report(event.counter, event.room, 'sent')
            case 'accepted':
                this.accept(event)
                return
            case 'failed':
                void this.outbox.fail(event.counter, event.code, event.reason).then(() =>
                    this.report(event.counter, event.room, 'failed', 0n, event.code, event.reason))
                return
            case 'reused':
                void this.outbox.renewDevice().then((device) => {
                    this.device = device
                    this.driver.run((engine, now) => engine.renewDevice(device, now))
                })
                return
            case 'state': this.state = { state: event.state, code: event.code, reason: event.reason }; break
            case 'message':
                // An own message in the log was accepted, also if it had failed (C-77).
                if (event.message.sender === this.account && event.message.device === this.device &&
                    (this.keys.has(event.message.counter) || this.failed.has(event.message.counter))) {
                    this.accept({ ...event.message, room: event.room })
                }
                break
        }
        this.remember(event)
        this.onEvent(event)
    }

    /** Reports an outcome, and stores it with the others of the turn: an outcome that is lost is harmless (C-74). */
    private accept({ counter, offset, room }: Accepted & { room: string }): void {
        if (this.settling.has(counter)) return
        const isFailed = this.failed.delete(counter)
        this.settling.add(counter)
        this.accepted.push({ counter, offset })
        if (!isFailed) this.report(counter, room, 'accepted', offset)
        if (this.accepted.length === 1) setTimeout(() => void this.settle(), settleDelay)
    }

    private async settle(): Promise<void> {
        const list = this.accepted
        this.accepted = []
        if (list.length > 0) await this.outbox.accept(list).catch(() => undefined)
        for (const { counter } of list) this.settling.delete(counter)
        this.closeUnused()
    }

    private report(counter: bigint, room: string, state: 'sent' | 'accepted' | 'failed', offset = 0n, code = 0,
        reason = ''): void {
        const known = this.keys.get(counter)
        if (known === undefined) return
        if (state !== 'sent') this.keys.delete(counter)
        this.onEvent({ type: 'outcome', key: known.key, room, state, offset, code, reason })
    }

    /** Keeps what a tab has to know that opens the room later. */
    private remember(event: EngineEvent): void {
        if (!('room' in event)) return
        const snapshot = this.rooms.get(event.room)
        if (snapshot === undefined) return
        switch (event.type) {
            case 'opened':
                Object.assign(snapshot, {
                    isOpen: true, head: event.head, first: event.first, log: event.log, cursor: event.cursor,
                    members: event.members.map((account) => [account, present]), typing: [],
                })
                break
            case 'message': snapshot.cursor = snapshot.head = event.message.offset; break
            case 'gap': snapshot.cursor = event.last; break
            case 'presence':
                snapshot.members = snapshot.members.filter(([account]) => account !== event.account)
                if (event.presence !== 0) snapshot.members.push([event.account, event.presence])
                break
            case 'typing':
                snapshot.typing = snapshot.typing.filter((account) => account !== event.account)
                if (event.isTyping) snapshot.typing.push(event.account)
                break
            case 'receipt':
                snapshot.receipts = snapshot.receipts.filter(({ kind, account }) =>
                    kind !== event.kind || account !== event.account)
                snapshot.receipts.push({ kind: event.kind, account: event.account, upTo: event.upTo })
                break
            case 'closed': if (event.isFinal) this.rooms.delete(event.room)
        }
    }
}

/** The most time that a command of another tab can take, in milliseconds. */
export const commandTimeout = (command: Command): number =>
    command.op === 'request' ? command.duration + requestGrace : 30_000
