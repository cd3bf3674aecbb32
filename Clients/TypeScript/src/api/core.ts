// The part of a client that exists once for an account: the engine, its carrier and the outbox.
//
// Commands, replies and events can be cloned (HTML, structured clone), so that other tabs can use it.

import { Driver } from '../client/driver.js'
import type { Engine } from '../client/engine.js'
import type { ConnectionState, EngineEvent } from '../client/events.js'
import type { Mode } from '../client/heartbeat.js'
import { CodeError } from './errors.js'
import { type Accepted, bounds, type Outbox, type OutboxMessage } from '../outbox/outbox.js'
import { outcomeUnknown } from '../wire/errors.js'
import { Code } from '../wire/registry.generated.js'

/** Where a request is sent: a room, its attachments, or the account's session. */
export type Place = { room: string } | { files: string } | 'account'

export type Command =
    | { op: 'open', room: string, cursor: bigint, log: bigint | undefined, tail: number | undefined }
    | { op: 'close', room: string }
    | { op: 'publish', messages: OutboxMessage[] }
    | { op: 'acknowledge', room: string, delivered: bigint, read: bigint }
    | { op: 'typing', room: string, isTyping: boolean }
    | { op: 'request', place: Place, method: string, content: Uint8Array, duration: number }
    | { op: 'cancel', room: string, key: string }
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

type OutcomeState = 'sent' | 'accepted' | 'failed'

export type CoreEvent =
    | Exclude<EngineEvent, { type: 'mark' | 'accepted' | 'failed' | 'published' | 'reused' }>
    | { type: 'outcome', key: string, room: string, state: OutcomeState, offset: bigint, code: number, reason: string }
    | { type: 'leader' }
    | { type: 'error', reason: string }

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
const requestGrace = 1_000
/** Milliseconds after which the outbox is read again when it has failed. */
const retryDelay = 1_000

/**
 * Performs commands on an engine of this tab. The outbox owns the state of a message: an outcome is stored before it is
 * reported.
 */
export class LocalCore implements Core {
    private readonly driver: Driver
    private readonly rooms = new Map<string, RoomSnapshot>()
    /** The messages that the engine has, and those whose outcome is being stored. */
    private readonly keys = new Map<bigint, { key: string, room: string, isSettling?: boolean }>()
    private state: { state: ConnectionState, code: number, reason: string } = { state: 'offline', code: 0, reason: '' }
    private readonly unused = new Set<string>()
    private readonly failed = new Set<bigint>()
    private accepted: Accepted[] = []
    private loading: Promise<void> = Promise.resolve()
    private isStopped = false
    /** The messages of the outbox up to this counter were given to the engine. */
    private highest = 0n
    private settling: Promise<void> | undefined

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

    /** Takes the messages of an earlier process, and connects. */
    start(earlier: OutboxMessage[]): void {
        for (const message of earlier) this.give(message, true)
        this.driver.run((engine, now) => engine.connect(now))
    }

    async close(): Promise<void> {
        this.isStopped = true
        this.driver.close()
        await this.loading
        await this.settling
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
            case 'cancel': return this.cancel(command)
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
        const added = messages.filter(({ counter }) => counter > this.highest)
        const isNext = added.every(({ counter }, index) => counter === this.highest + BigInt(index) + 1n)
        if (!isNext) return this.load()
        for (const message of added) this.give(message, false)
    }

    /** Gives the messages of the outbox to the engine, in the order of their counters. */
    private load(): Promise<void> {
        return this.loading = this.loading.then(async () => {
            try {
                for (const message of await this.outbox.messages()) this.give(message, false)
            } catch (error) {
                this.fail(error)
                if (!this.isStopped) setTimeout(() => void this.load(), retryDelay)
            }
        })
    }

    private give(message: OutboxMessage, isOfEarlierProcess: boolean): void {
        const { counter, kind, content, key, room, expiresAt, timeToLive = Infinity } = message
        if (this.isStopped || counter <= this.highest) return
        this.highest = counter
        if (message.status === 'failed') return this.keep(counter)
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

    private async cancel({ room, key }: Extract<Command, { op: 'cancel' }>): Promise<boolean> {
        await this.loading
        const counter = [...this.keys].find(([, each]) => each.key === key)?.[0]
        if (counter !== undefined && this.engine.room(room)?.cancel(counter) !== true) return false
        // The engine no longer has it: without an answer of the outbox it is unknown whether a later process has it.
        let code: number = outcomeUnknown
        try {
            const isRemoved = await this.outbox.remove(key)
            if (isRemoved) code = Code.cancelled
            return isRemoved
        } finally {
            if (counter !== undefined) this.report(counter, 'failed', 0n, code)
            else if (code === Code.cancelled) this.onEvent(outcome(key, room, 'failed', 0n, code))
            this.closeUnused()
        }
    }

    /** Keeps the counter of a failed message: it was accepted nevertheless if the log has it (C-77). */
    private keep(counter: bigint): void {
        this.failed.add(counter)
        const [oldest] = this.failed
        if (this.failed.size > bounds.failed) this.failed.delete(oldest!)
    }

    /** A failure of the outbox that no command reports. */
    private fail(error: unknown): void {
        this.onEvent({ type: 'error', reason: CodeError.of(error).reason })
    }

    private handle(event: EngineEvent): void {
        switch (event.type) {
            case 'mark': return void this.mark(event.room, event.counter)
            case 'published': return this.report(event.counter, 'sent')
            case 'accepted': return this.accept(event)
            case 'failed': return void this.refuse(event)
            case 'reused': return void this.renew()
            case 'state': this.state = { state: event.state, code: event.code, reason: event.reason }; break
            case 'message':
                // An own message in the log was accepted, also if it had failed (C-77).
                if (event.message.sender === this.account && event.message.device === this.device &&
                    (this.keys.has(event.message.counter) || this.failed.has(event.message.counter))) {
                    this.accept(event.message)
                }
                break
        }
        this.remember(event)
        this.onEvent(event)
    }

    private async mark(room: string, counter: bigint): Promise<void> {
        try {
            await this.outbox.mark(counter)
        } catch (error) {
            this.fail(error)
            // A message that cannot be marked must not be handed over (C-75).
            if (this.engine.room(room)?.cancel(counter) === true) {
                await this.refuse({ counter, code: Code.storeUnavailable, reason: '' })
            }
        }
        this.driver.run((engine, now) => {
            engine.room(room)?.marked(counter)
            engine.poll(now)
        })
    }

    private async refuse({ counter, code, reason }: { counter: bigint, code: number, reason: string }): Promise<void> {
        await this.outbox.fail(counter, code, reason).catch((error: unknown) => this.fail(error))
        this.keep(counter)
        this.report(counter, 'failed', 0n, code, reason)
        this.closeUnused()
    }

    /** Takes another device ID, which has to be durable first (C-103). */
    private async renew(): Promise<void> {
        try {
            this.device = await this.outbox.renewDevice()
            this.driver.run((engine, now) => engine.renewDevice(this.device, now))
        } catch (error) {
            this.fail(error)
            if (!this.isStopped) setTimeout(() => void this.renew(), retryDelay)
        }
    }

    /** Stores an outcome with the others that arrive meanwhile. */
    private accept({ counter, offset }: Accepted): void {
        const known = this.keys.get(counter)
        if (known?.isSettling === true || (known === undefined && !this.failed.delete(counter))) return
        if (known !== undefined) known.isSettling = true
        this.accepted.push({ counter, offset })
        this.settling ??= Promise.resolve().then(() => this.settle())
    }

    /** An outcome that is lost is harmless (C-74): it is reported in any case. */
    private async settle(): Promise<void> {
        for (let list = this.accepted; list.length > 0; list = this.accepted) {
            this.accepted = []
            await this.outbox.accept(list).catch((error: unknown) => this.fail(error))
            for (const { counter, offset } of list) this.report(counter, 'accepted', offset)
        }
        this.settling = undefined
        this.closeUnused()
    }

    private report(counter: bigint, state: OutcomeState, offset = 0n, code = 0, reason = ''): void {
        const known = this.keys.get(counter)
        if (known === undefined) return
        if (state !== 'sent') this.keys.delete(counter)
        this.onEvent(outcome(known.key, known.room, state, offset, code, reason))
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

function outcome(key: string, room: string, state: OutcomeState, offset: bigint, code: number, reason = ''): CoreEvent {
    return { type: 'outcome', key, room, state, offset, code, reason }
}

/** The most time that a command of another tab can take, in milliseconds. */
export const commandTimeout = (command: Command): number =>
    command.op === 'request' ? command.duration + requestGrace : 30_000
