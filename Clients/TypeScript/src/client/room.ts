// A room of the client: publishing, receiving and receipts (relay.md sections 3 to 7).

import type { Link, LinkEvent } from '../link/link.js'
import {
    type AcceptedBody, Code, type DataBody, Feature, type GapBody, type OpenedBody, Presence, type ReceiptBody,
    ReceiptKind, SessionKind, type TransientBody, Type,
} from '../wire/registry.generated.js'
import { outcomeUnknown } from '../wire/errors.js'
import type { Fields } from '../wire/values.js'
import { Channel } from './channel.js'
import type { EngineEvent } from './events.js'

const receiptDelay = 25
const typingRepeat = 5_000
const typingLifetime = 10_000
const answerTimeout = 10_000
const relayBytes = 176
/** Counter, kind, time to live and the heads of the fields. */
const messageBytes = 38
/** Six hours before seven days (C-80). */
const maxPublishing = 7 * 86_400_000 - 6 * 3_600_000

/** A message that is to be published, in the order of the counters. */
export interface Outgoing {
    counter: bigint
    kind: number
    content: Uint8Array
    /** The end of the time to live, on the engine's clock in milliseconds. */
    expiresAt?: number | undefined
    /** Whether it was marked durably as handed over, by this process or an earlier one (C-75, C-76). */
    isMarked: boolean
    /** Whether an earlier process had it (C-76, R-152). */
    isOfEarlierProcess?: boolean
}

interface Pending extends Outgoing {
    /** Whether an earlier process may have handed it over: only messages with a time to live are marked (C-76). */
    isOld: boolean
    /** Whether the relay has taken its counter for another message: answers to it are ignored. */
    isReused: boolean
    isMarkRequested: boolean
    /** Whether the relay may have accepted it: a refusal of the room does not fail it (R-13, C-74). */
    isUncertain: boolean
    /** The session that it was published on, if it was on the current one. */
    session: number | undefined
    /** The session of its first publication by this process. */
    firstSession: number | undefined
    firstPublishedAt: number | undefined
}

/** Where delivery begins: behind an offset of a log, or with the last messages. */
export interface Start {
    cursor: bigint
    log?: bigint | undefined
    tail?: number | undefined
}

/** The state of a room at an engine. */
export class RoomMachine {
    readonly channel: Channel
    /** In the order of the counters. */
    private pending = new Map<bigint, Pending>()
    private highest = 0n
    /** No message expires before this instant. It can be too early. */
    private expiresAt = Infinity
    private cursor: bigint
    private log: bigint | undefined
    private tail: number | undefined
    private head = 0n
    private delivered = 0n
    private read = 0n
    private sentDelivered = 0n
    private sentRead = 0n
    private receiptAt = Infinity
    private isTyping = false
    private typingAt = Infinity
    private readonly typists = new Map<string, number>()
    private reuseAt: number | undefined
    private isClosing = false

    constructor(readonly name: string, start: Start, random: () => number,
        private readonly emit: (event: EngineEvent) => void) {
        this.channel = new Channel(name, SessionKind.chat, random)
        this.cursor = start.cursor
        this.log = start.log
        this.tail = start.tail
    }

    /** Whether a message waits for its outcome. */
    get isWaiting(): boolean {
        return this.pending.size > 0
    }

    get position(): { cursor: bigint, log: bigint | undefined } {
        return { cursor: this.cursor, log: this.log }
    }

    /** Adds a message behind those with lower counters. In a room that was given up it fails. */
    publish(message: Outgoing): void {
        const { counter, isMarked, expiresAt = Infinity, isOfEarlierProcess = false } = message
        if (this.pending.has(counter)) return
        const isOld = isOfEarlierProcess && (isMarked || expiresAt === Infinity)
        const added: Pending = {
            ...message, isMarkRequested: isMarked, session: undefined, isOld, isReused: false,
            isUncertain: isOld || isMarked, firstSession: isOfEarlierProcess ? -1 : undefined,
            firstPublishedAt: undefined,
        }
        this.pending.set(counter, added)
        if (counter < this.highest) this.pending = new Map([...this.pending].sort(([a], [b]) => a < b ? -1 : 1))
        else this.highest = counter
        if (!isMarked) this.expiresAt = Math.min(this.expiresAt, expiresAt)
        const { givenUp } = this.channel
        if (givenUp !== undefined && !added.isUncertain) this.fail(added, givenUp)
    }

    /** A message with a time to live was marked durably (C-75). */
    marked(counter: bigint): void {
        const message = this.pending.get(counter)
        if (message !== undefined) message.isMarked = true
    }

    /** Removes a message that was not handed over, and returns whether it was (R-27, C-76). */
    cancel(counter: bigint): boolean {
        const message = this.pending.get(counter)
        if (message === undefined || message.firstPublishedAt !== undefined || message.isMarked) return false
        return !message.isOld && this.pending.delete(counter)
    }

    /** The application has consumed or seen the messages up to an offset. */
    acknowledge(delivered: bigint, read: bigint, now: number): void {
        if (delivered > this.delivered) this.delivered = delivered
        if (read > this.read) this.read = read
        if (this.read > this.delivered) this.delivered = this.read
        if (this.receiptAt === Infinity && (this.delivered > this.sentDelivered || this.read > this.sentRead)) {
            this.receiptAt = now + receiptDelay
        }
    }

    /** Reports typing, repeated until its end. */
    setTyping(isTyping: boolean, link: Link | undefined, now: number): void {
        if (isTyping === this.isTyping) return
        this.isTyping = isTyping
        this.sendTyping(link, now)
    }

    close(link: Link | undefined): void {
        this.isClosing = true
        const { session } = this.channel
        if (session === undefined || link === undefined) return
        this.flush(link)
        link.close(session)
    }

    /** Sends the receipts that are due later: the session ends. */
    flush(link: Link): void {
        const { session, isOpen } = this.channel
        if (session !== undefined && isOpen && link.isUsable(session)) this.sendReceipts(session, link)
    }

    /** The link has ended (C-36). */
    lost(): void {
        this.channel.lost()
        this.endSession(true)
        for (const message of this.pending.values()) {
            // IDs of sessions begin anew with the next link.
            if (message.firstSession !== undefined) message.firstSession = -1
        }
    }

    /** The next instant at which `poll` has something to do on a connection. */
    get deadline(): number {
        if (this.reuseAt !== undefined) return Math.min(this.reuseAt, this.expiry)
        const receipts = this.channel.isOpen ? this.receiptAt : Infinity
        return Math.min(this.isClosing ? Infinity : this.channel.deadline, this.typingAt, receipts,
            this.expiry)
    }

    /** The next instant at which `expire` has something to do. */
    get expiry(): number {
        return Math.min(this.expiresAt, ...this.typists.values())
    }

    /** Fails what has expired, with or without a connection. */
    expire(now: number): void {
        for (const [account, until] of [...this.typists]) if (until <= now) this.setTypist(account, undefined)
        if (now < this.expiresAt) return
        this.expiresAt = Infinity
        for (const message of this.pending.values()) {
            const { isMarked, expiresAt = Infinity, firstPublishedAt = Infinity } = message
            const end = isMarked ? Infinity : expiresAt
            if (end <= now) this.fail(message, Code.expired)
            else if (now - firstPublishedAt > maxPublishing) this.fail(message, outcomeUnknown)
            else this.expiresAt = Math.min(this.expiresAt, end, firstPublishedAt + maxPublishing + 1)
        }
    }

    /** Sends what can be sent on the connection. */
    poll(link: Link, now: number): void {
        if (this.reuseAt === Infinity) return
        if (this.reuseAt !== undefined) {
            const isAnswered = ![...this.pending.values()].some(({ session }) => session !== undefined)
            if (isAnswered || now >= this.reuseAt || this.channel.session === undefined) {
                this.reuseAt = Infinity
                this.emit({ type: 'reused' })
            }
            return
        }
        if (!this.isClosing) this.channel.poll(link, () => this.openFields(), now)
        const { session } = this.channel
        if (session === undefined || !link.isUsable(session)) return
        for (const message of this.pending.values()) {
            if (message.session === session) continue
            // The relay adds its fields within maxMessage. An earlier relay may have accepted more (C-74).
            if (message.content.length > link.limits.maxMessage - relayBytes - messageBytes) {
                this.fail(message, message.isUncertain ? outcomeUnknown : Code.messageTooLarge)
                continue
            }
            if (!link.hasRoom(session) || !this.publishNow(message, session, link, now)) break
        }
        if (now >= this.receiptAt && this.channel.isOpen) this.sendReceipts(session, link)
        if (now >= this.typingAt) this.sendTyping(link, now)
    }

    private openFields(): Fields {
        const fields: Fields = { cursor: this.cursor }
        if (this.log !== undefined) fields['log'] = this.log
        if (this.tail !== undefined) fields['tail'] = this.tail
        return fields
    }

    private publishNow(message: Pending, session: number, link: Link, now: number): boolean {
        const fields: Fields = { counter: message.counter, kind: message.kind, content: message.content }
        if (message.expiresAt !== undefined && !message.isMarked) {
            if (!message.isMarkRequested) {
                message.isMarkRequested = true
                this.emit({ type: 'mark', room: this.name, counter: message.counter })
            }
            return false
        }
        const isFirst = message.firstPublishedAt === undefined
        if (message.expiresAt !== undefined && isFirst && message.expiresAt > now) {
            fields['timeToLive'] = Math.max(Math.ceil(message.expiresAt - now), 1)
        }
        message.session = session
        message.isUncertain ||= this.channel.isOpen
        message.firstPublishedAt ??= now
        this.expiresAt = Math.min(this.expiresAt, message.firstPublishedAt + maxPublishing + 1)
        message.firstSession ??= session
        link.send(session, Type.data, fields)
        if (isFirst) this.emit({ type: 'published', room: this.name, counter: message.counter })
        return true
    }

    private sendReceipts(session: number, link: Link): void {
        this.receiptAt = Infinity
        if (!link.has(Feature.receipts)) return
        if (this.read > this.sentRead) {
            link.send(session, Type.receipt, { receiptKind: ReceiptKind.read, upTo: this.read })
            this.sentRead = this.read
            if (this.read > this.sentDelivered) this.sentDelivered = this.read
        }
        if (this.delivered > this.sentDelivered) {
            link.send(session, Type.receipt, { receiptKind: ReceiptKind.delivered, upTo: this.delivered })
            this.sentDelivered = this.delivered
        }
    }

    private sendTyping(link: Link | undefined, now: number): void {
        this.typingAt = this.isTyping ? now + typingRepeat : Infinity
        const { session } = this.channel
        if (session === undefined || !link?.has(Feature.presence)) return
        link.sendTransient(session, { typing: this.isTyping ? 1 : 0 })
    }

    // MARK: Receiving

    receive(event: LinkEvent, now: number): void {
        switch (event.kind) {
            case 'opened': this.opened(event.fields as unknown as OpenedBody, now); break
            case 'unreadable': this.gap(event.offset, event.offset); break
            case 'ended': this.ended(event, now); break
            case 'frame': this.frame(event.type, event.fields, now); break
            case 'pong':
        }
    }

    private frame(type: number, fields: Fields, now: number): void {
        switch (type) {
            case Type.data: this.data(fields as unknown as DataBody); break
            case Type.gap: {
                const { first, upTo } = fields as unknown as GapBody
                this.gap(first, upTo)
                break
            }
            case Type.accepted: this.accepted(fields as unknown as AcceptedBody, now); break
            case Type.receipt: this.receipt(fields as unknown as ReceiptBody, now); break
            case Type.transient: this.transient(fields as unknown as TransientBody, now); break
        }
    }

    /** The log, the cursor and the receipts of a new session. */
    private opened(opened: OpenedBody, now: number): void {
        this.channel.opened()
        for (const message of this.pending.values()) message.isUncertain ||= message.session !== undefined
        const { head, first, log } = opened
        const before = this.cursor
        const isOther = this.log !== undefined && log !== undefined && this.log !== log
        const bound = isOther ? opened.upTo ?? 0n : head
        const least = (value: bigint): bigint => [value, bound, head].reduce((a, b) => a < b ? a : b)
        this.cursor = least(this.cursor)
        const isReset = this.cursor < before || (isOther && opened.upTo === undefined)
        if (isOther) {
            this.delivered = least(this.delivered)
            this.read = least(this.read)
        }
        if (this.tail !== undefined && head - BigInt(this.tail) > this.cursor) this.cursor = head - BigInt(this.tail)
        this.tail = undefined
        this.log = log ?? this.log
        this.head = head
        this.sentDelivered = this.sentRead = 0n
        if (this.delivered > 0n) this.receiptAt = now
        const { counter } = opened
        const isUnknown = counter !== undefined && !this.pending.has(counter)
        for (const message of this.pending.values()) {
            if (isUnknown && counter > message.counter + 63n && !message.isOld) this.reuse(message, now)
        }
        this.emit({
            type: 'opened', room: this.name, head, first, log: log ?? 0n, cursor: this.cursor,
            members: opened.member, isReset, keeps: bound,
        })
    }

    /** Each offset of a log is given to the application once. */
    private data(data: DataBody): void {
        const offset = data.offset!
        if (offset <= this.cursor) return
        this.cursor = offset
        this.emit({
            type: 'message', room: this.name, message: {
                offset, acceptedAt: Number(data.acceptedAt!), sender: data.sender!, device: data.device!,
                counter: data.counter, kind: data.kind, content: data.content,
            },
        })
    }

    private gap(first: bigint, last: bigint): void {
        if (last <= this.cursor) return
        const from = first > this.cursor ? first : this.cursor + 1n
        this.cursor = last
        this.emit({ type: 'gap', room: this.name, first: from, last })
    }

    private accepted({ acceptedRun }: AcceptedBody, now: number): void {
        for (const { counter: from, count, offset: at } of acceptedRun) {
            for (const message of this.pending.values()) {
                if (message.counter < from || message.counter >= from + BigInt(count)) continue
                const offset = at === 0n ? 0n : at + (message.counter - from)
                // Another message has this counter if this one was never published before.
                const isOfThisSession = message.firstSession !== undefined && message.firstSession === message.session
                if (message.isReused) continue
                if (isOfThisSession && offset <= this.head) {
                    this.reuse(message, now)
                    continue
                }
                this.pending.delete(message.counter)
                this.emit({ type: 'accepted', room: this.name, counter: message.counter, offset })
            }
        }
    }

    private receipt(receipt: ReceiptBody, now: number): void {
        if (receipt.receiptKind === ReceiptKind.refused) {
            const message = this.pending.get(receipt.counter!)
            if (message === undefined || message.isReused) return
            if (receipt.code === Code.counterReused) {
                this.reuse(message, now)
            } else {
                this.fail(message, receipt.code!, receipt.reason)
            }
        } else if (receipt.sender !== undefined) {
            this.emit({
                type: 'receipt', room: this.name, account: receipt.sender, device: receipt.device, upTo: receipt.upTo!,
                kind: receipt.receiptKind === ReceiptKind.read ? 'read' : 'delivered',
            })
        }
    }

    private transient({ sender, typing, presence }: TransientBody, now: number): void {
        if (sender === undefined) return
        if (typing !== undefined) this.setTypist(sender, typing === 1 ? now + typingLifetime : undefined)
        if (presence === undefined) return
        if (presence !== Presence.online) this.setTypist(sender, undefined)
        this.emit({ type: 'presence', room: this.name, account: sender, presence })
    }

    /** An account types until an instant, or no longer. */
    private setTypist(account: string, until: number | undefined): void {
        const wasTyping = this.typists.has(account)
        if (until === undefined) this.typists.delete(account)
        else this.typists.set(account, until)
        const isTyping = until !== undefined
        if (isTyping !== wasTyping) this.emit({ type: 'typing', room: this.name, account, isTyping })
    }

    private ended(event: Extract<LinkEvent, { kind: 'ended' }>, now: number): void {
        const { code, reason = '' } = event
        // A session that was refused at its opening has accepted nothing.
        this.endSession(code === Code.none)
        const isAgain = this.channel.ended(event, now)
        this.emit({ type: 'closed', room: this.name, code, reason, isFinal: !isAgain })
        if (isAgain) return
        for (const message of this.pending.values()) if (!message.isUncertain) this.fail(message, code, reason)
    }

    /** What was published on the session is published again; with `isUncertain` the relay may have accepted it. */
    private endSession(isUncertain: boolean): void {
        for (const message of this.pending.values()) {
            message.isUncertain ||= isUncertain && message.session !== undefined
            message.session = undefined
        }
    }

    private fail(message: Pending, code: number, reason = ''): void {
        this.pending.delete(message.counter)
        this.emit({ type: 'failed', room: this.name, counter: message.counter, code, reason })
    }

    /** Another copy of the device has used its counters: waits for answers, then takes another ID. */
    private reuse(message: Pending, now: number): void {
        message.isReused = true
        message.session = undefined
        this.reuseAt ??= now + answerTimeout
    }

    /** The device has another ID: everything is published for the first time. */
    renewed(): void {
        this.reuseAt = undefined
        for (const message of this.pending.values()) {
            message.session = message.firstSession = message.firstPublishedAt = undefined
            message.isOld = message.isReused = message.isUncertain = false
        }
    }
}
