// A room for applications.

import type { StoredMessage } from '../client/events.js'
import { codeName } from '../wire/errors.js'
import { parseBody } from '../wire/bodies.js'
import { textOf } from '../wire/bytes.js'
import { Kind, Tag, Type } from '../wire/registry.generated.js'
import { types } from '../wire/tables.js'
import { checkStructure, maxContentTLVs, readTLVs } from '../wire/tlv.js'
import type { DataBody } from '../wire/registry.generated.js'
import { bytesOfTLVs, encodeContent, parseContent, textContent } from '../messages/tlvs.js'
import { attachmentContent, downloadFile, type FileDescription, uploadFile } from './attachments.js'
import type { Answer } from '../client/requests.js'
import type { Client } from './client.js'
import type { Core, CoreEvent, RoomSnapshot } from './core.js'
import { Emitter } from './emitter.js'
import type { Fields } from '../wire/values.js'
import { CodeError, invalid } from './errors.js'
import { guarded } from '../client/report.js'
import { parseMessage } from '../messages/contents.js'
import { type Outbox, randomKey, type StoredCursor } from '../outbox/outbox.js'
import { Outgoing } from './outgoing.js'

/** A message of a room. */
export interface Message extends StoredMessage {
    room: string
    /** The text of a text, or of another kind that has one; otherwise undefined. */
    text: string | undefined
}

/** Where the messages of a room begin. */
export type From =
    /** Behind an offset of a log, both from an earlier message or event. */
    | { offset: bigint, log?: bigint | undefined }
    /** So many messages before the end. */
    | { tail: number }
    /** Behind the last message that the application took under this client's storage; at first `tail` messages. */
    | { stored: true, tail?: number }

export interface RoomEvents {
    /** The session is open: who is in the room, and whether offsets of an earlier log are invalid. */
    opened: { head: bigint, first: bigint, log: bigint, isReset: boolean }
    /** Offsets that are no longer kept (W-66). */
    gap: { first: bigint, last: bigint }
    /** An account, other than this one or on another device, has received or read up to an offset. */
    receipt: { kind: 'delivered' | 'read', account: string, upTo: bigint }
    /** The members have changed. */
    members: Map<string, 'online' | 'away'>
    /** The accounts that type have changed. */
    typing: Set<string>
    /** The relay has ended the session; with `isFinal` it is not opened again. */
    closed: { code: string, reason: string, isFinal: boolean }
    /** The state of a message of this client, from any tab; `failed` with `cancelled` after `cancel`. */
    outgoing: { key: string, state: 'sent' | 'accepted' | 'failed', offset: bigint, code: string, reason: string }
}

export interface SendOptions {
    /** Milliseconds after which the message fails with `expired` if it was not handed over. */
    timeToLive?: number
    /** Identifies the message, for example after a reload: one whose key is known is not published again. */
    key?: string
}

const requestDuration = 30_000
const pageLimit = 256
const maxQueue = 512
const maxQueuedBytes = 1_048_576
const acknowledgeDelay = 25
const cursorDelay = 1_000
const retryDelay = 1_000
const textKinds: readonly number[] = [Kind.text, Kind.reply, Kind.attachment, Kind.system, Kind.edit, Kind.card]

/** A room: its messages in order, each once, and the messages of this client. Made by `Client.room`. */
export class Room extends Emitter<RoomEvents> {
    /** The accounts in the room. */
    readonly members = new Map<string, 'online' | 'away'>()
    /** The accounts that type. */
    readonly typing = new Set<string>()
    /** The highest offsets that other accounts have received and read. */
    readonly delivered = new Map<string, bigint>()
    readonly read = new Map<string, bigint>()
    private position: bigint | undefined
    private log: bigint | undefined
    private highest = 0n
    private queue: Message[] = []
    private queuedBytes = 0
    private waiting: (() => void)[] = []
    private isFilling = false
    private isClosed = false
    private failure: CodeError | undefined
    private consumed = 0n
    private seen = 0n
    private timer: ReturnType<typeof setTimeout> | undefined
    private cursorTimer: ReturnType<typeof setTimeout> | undefined
    private fillTimer: ReturnType<typeof setTimeout> | undefined
    private typingTimer: ReturnType<typeof setTimeout> | undefined
    private readonly sending = new Map<string, Outgoing>()

    /** @internal */
    constructor(private readonly client: Client, readonly name: string, private readonly from: From,
        private readonly core: Pick<Core, 'command'>, private readonly outbox: Outbox) {
        super()
        void this.open()
    }

    /**
     * The messages in the order of their offsets, each once. The next one is taken from the relay when the iterator is
     * asked for it; that is also when the previous one counts as delivered. There is one position: several
     * iterators share it. It ends when the room is closed, and throws CodeError when the relay refuses the room.
     */
    get messages(): AsyncIterable<Message> {
        const room = this
        return {
            [Symbol.asyncIterator]: () => ({
                next: () => room.next(),
                return: async () => ({ done: true as const, value: undefined }),
            }),
        }
    }

    /** The identity of the log, once the room was opened; offsets belong to it. */
    get logIdentity(): bigint | undefined {
        return this.log
    }

    /**
     * Stores a text to be published once, in the order of the calls (C-107).
     *
     * @param text 1 byte to about 1 MiB of UTF-8 (W-63, R-18)
     * @returns the message, when it is durable; `accepted` of it is its outcome
     * @throws CodeError `outboxFull`, `storageUnavailable`, `closed`; `keyInUse` for a key of a different room
     */
    async send(text: string, options: SendOptions = {}): Promise<Outgoing> {
        return this.publish(Kind.text, textContent(text), options)
    }

    /**
     * Publishes a content of a kind of wire.md section 13.3, as `send`.
     *
     * @throws WireError for a content that `parseMessage` refuses, or that exceeds the bounds of W-27
     */
    async publish(kind: number, content: Uint8Array, options: SendOptions = {}): Promise<Outgoing> {
        this.checkOpen()
        const { key = randomKey(), timeToLive = 0 } = options
        if (!isInteger(kind, 0xffff)) throw invalid('kind')
        if (!(Math.abs(timeToLive) < 2 ** 32)) throw invalid('timeToLive')
        checkStructure(content, maxContentTLVs, maxContentTLVs)
        parseMessage(kind, content)
        const known = this.sending.get(key)
        const outgoing = known ?? new Outgoing(key, kind, content)
        this.sending.set(key, outgoing)
        try {
            const messages = await this.outbox.add([{ key, room: this.name, kind, content,
                timeToLive: options.timeToLive }])
            outgoing.counter ??= messages[0]?.counter
            void this.core.command({ op: 'publish', messages }).catch(() => undefined)
        } catch (error) {
            if (known === undefined) this.sending.delete(key)
            throw error
        }
        if (options.key !== undefined) await this.checkOutcome(outgoing)
        return outgoing
    }

    /** Answers a message (M-3). */
    async reply(to: Message, text: string): Promise<Outgoing> {
        return this.publish(Kind.reply, bytesOfTLVs([Tag.target, targetOf(to)], [Tag.text, text]))
    }

    /** Replaces the text of an own message (M-4). */
    async edit(message: Message, text: string): Promise<Outgoing> {
        return this.publish(Kind.edit, bytesOfTLVs([Tag.target, targetOf(message)], [Tag.text, text]))
    }

    /** Deletes a message for all readers (M-5). */
    async delete(message: Message): Promise<Outgoing> {
        return this.publish(Kind.delete_, bytesOfTLVs([Tag.target, targetOf(message)]))
    }

    /** Adds or removes a reaction of 1 to 64 bytes, usually one emoji (M-6). */
    async react(message: Message, reaction: string, isRemoved = false): Promise<Outgoing> {
        return this.publish(Kind.reaction, bytesOfTLVs([Tag.target, targetOf(message)], [Tag.reaction, reaction],
            ...(isRemoved ? [[Tag.removed, new Uint8Array([1])] as [number, Uint8Array]] : [])))
    }

    /** The messages of this client in the room that have no outcome or have failed, also those of earlier pages. */
    async outgoing(): Promise<Outgoing[]> {
        this.client.signal.throwIfAborted()
        const messages = await this.outbox.messages()
        return Promise.all(messages.filter(({ room }) => room === this.name).map(async (message) => {
            const known = this.sending.get(message.key)
            const outgoing = known ?? new Outgoing(message.key, message.kind, message.content)
            outgoing.counter = message.counter
            if (message.status === 'failed') {
                outgoing.settle('failed', 0n, message.code ?? 0, message.reason ?? '')
            } else if (known === undefined) {
                this.sending.set(message.key, outgoing)
                await this.checkOutcome(outgoing)
            }
            return outgoing
        }))
    }

    /**
     * Removes a message that was not handed over or has failed; its `accepted` rejects with `cancelled`. Returns
     * whether it was there.
     */
    async cancel(key: string): Promise<boolean> {
        return await this.core.command({ op: 'cancel', room: this.name, key }) as boolean
    }

    /** Publishes the content of a failed message again, under a new counter (C-77). */
    async retry(key: string): Promise<Outgoing | undefined> {
        this.checkOpen()
        const message = await this.outbox.retry(key, randomKey())
        if (message === undefined) return undefined
        const outgoing = new Outgoing(message.key, message.kind, message.content)
        outgoing.counter = message.counter
        this.sending.set(message.key, outgoing)
        void this.core.command({ op: 'publish', messages: [message] }).catch(() => undefined)
        return outgoing
    }

    /** A person has seen the messages up to this offset. */
    markRead(offset: bigint): void {
        if (!isU64(offset)) throw invalid('offset')
        if (offset > this.seen) this.seen = offset
        this.acknowledge()
    }

    /** The user types: reported to the others until 6 s after the last call, or until `false`. */
    setTyping(isTyping: boolean): void {
        const wasTyping = this.typingTimer !== undefined
        clearTimeout(this.typingTimer)
        if (isTyping && this.isClosed) return
        this.typingTimer = isTyping ? setTimeout(() => this.setTyping(false), 6_000) : undefined
        if (isTyping !== wasTyping) {
            void this.core.command({ op: 'typing', room: this.name, isTyping }).catch(() => undefined)
        }
    }

    /**
     * Earlier messages, oldest first: those before an offset, or from a time on.
     *
     * @param place `before`, an offset, or `since`, milliseconds since 1970
     * @param limit the most messages, 1 to 256; a page has at most about 15 KiB
     * @throws CodeError, `invalidPage` for an answer that a client refuses, `closed`
     */
    async history(place: { before: bigint } | { since: number }, limit = 50): Promise<Message[]> {
        const isPlace = 'before' in place ? isU64(place.before) : isInteger(place.since, Number.MAX_SAFE_INTEGER)
        if (!isPlace || limit === 0 || !isInteger(limit, pageLimit)) throw invalid('place or limit')
        return this.page('before' in place ? { before: place.before } : { acceptedAt: BigInt(place.since) }, limit)
    }

    /**
     * Uploads a file, then publishes a message about it (M-20, M-25).
     *
     * @param file the bytes
     * @param progress is called with the bytes that are durable at the relay
     * @throws WireError for a description beyond its bounds, CodeError
     */
    async sendFile(file: Blob, description: FileDescription = {}, progress?: (bytes: number) => void):
        Promise<Outgoing> {
        this.checkOpen()
        const content = (digest: Uint8Array): Uint8Array => attachmentContent(digest, file.size, description)
        parseMessage(Kind.attachment, content(new Uint8Array(32)))
        const digest = await uploadFile((method, content) => this.fileRequest(method, content), file,
            description.mediaType ?? file.type, (bytes) => guarded(() => progress?.(bytes)), this.client.signal)
        return this.publish(Kind.attachment, content(digest))
    }

    /** Downloads an attachment of the room and verifies its digest. */
    download(digest: Uint8Array, progress?: (bytes: number) => void): Promise<Uint8Array> {
        return downloadFile((method, content) => this.fileRequest(method, content), digest,
            (bytes) => guarded(() => progress?.(bytes)))
    }

    /**
     * Leaves the room. The messages without an outcome are published nevertheless, by this client or a later one;
     * further ones reject with `closed`.
     */
    close(): Promise<void> {
        return this.end(undefined)
    }

    /** @param error why the client ends, if it does. @internal */
    async end(error: CodeError | undefined): Promise<void> {
        if (error !== undefined) {
            for (const outgoing of this.sending.values()) outgoing.abandon(error)
            this.sending.clear()
        }
        if (this.isClosed) return
        this.isClosed = true
        this.setTyping(false)
        clearTimeout(this.fillTimer)
        if (error !== undefined && error.code !== 'closed') this.failure = error
        this.wake()
        this.client.forget(this)
        const stored = this.flush()
        await this.core.command({ op: 'close', room: this.name }).catch(() => undefined)
        await stored
    }

    /** Reports and stores what the application has taken. @internal */
    flush(): Promise<void> {
        this.flushAcknowledgement()
        return this.storeCursor()
    }

    /** @internal */
    get isSending(): boolean {
        return this.sending.size > 0
    }

    /** The outcomes that are not known yet. @internal */
    get pending(): Promise<bigint>[] {
        return [...this.sending.values()].map(({ accepted }) => accepted)
    }

    private checkOpen(): void {
        this.client.signal.throwIfAborted()
        if (this.isClosed) throw new CodeError('closed')
    }

    // MARK: Receiving

    private async next(): Promise<IteratorResult<Message>> {
        if (this.consumed < (this.lastTaken ?? 0n)) {
            this.consumed = this.lastTaken!
            this.acknowledge()
            if ('stored' in this.from) this.cursorTimer ??= setTimeout(() => void this.storeCursor(), cursorDelay)
            if (this.isClosed) await this.storeCursor()
        }
        for (;;) {
            if (this.failure !== undefined && this.queue.length === 0) throw this.failure
            if (this.isClosed) return { done: true, value: undefined }
            const message = this.queue.shift()
            if (message !== undefined) {
                this.lastTaken = message.offset
                this.queuedBytes -= message.content.length
                if (this.hasRoom) void this.fill()
                return { done: false, value: message }
            }
            await new Promise<void>((resolve) => this.waiting.push(resolve))
        }
    }

    private lastTaken: bigint | undefined

    private wake(): void {
        for (const resolve of this.waiting.splice(0)) resolve()
    }

    /** Opens the room at the leader, from the position of this tab. Called again when there is another leader. */
    async open(): Promise<void> {
        this.failure = undefined
        let stored: StoredCursor | undefined
        try {
            stored = 'stored' in this.from ? await this.outbox.cursor(this.name) : undefined
        } catch (error) {
            this.failure = CodeError.of(error)
            return this.wake()
        }
        const { position, from } = this
        const start = position !== undefined ? { cursor: position, log: this.log } :
            'offset' in from ? { cursor: from.offset, log: from.log } :
                stored !== undefined ? { cursor: stored.offset, log: stored.log } : { cursor: 0n, log: undefined }
        const tail = position === undefined && stored === undefined && 'tail' in from ? from.tail : undefined
        this.start = { ...start, tail }
        const snapshot = await this.core.command({ op: 'open', room: this.name, ...this.start })
            .catch(() => undefined) as RoomSnapshot | undefined
        if (snapshot?.isOpen === true && !this.isClosed) this.opened(snapshot, false)
    }

    private start: { cursor: bigint, log: bigint | undefined, tail: number | undefined } | undefined

    /** @internal */
    handle(event: CoreEvent & { room: string }): void {
        switch (event.type) {
            case 'opened':
                this.opened({ ...event, isOpen: true, members: event.members.map((name) => [name, 1]), typing: [],
                    receipts: [] }, event.isReset, event.keeps)
                break
            case 'message': this.receive(this.toMessage(event.message)); break
            case 'gap': this.skip(event.first, event.last); break
            case 'receipt': this.receipt(event); break
            case 'presence':
                if (event.presence === 0) this.members.delete(event.account)
                else this.members.set(event.account, event.presence === 1 ? 'online' : 'away')
                this.emit('members', this.members)
                break
            case 'typing':
                if (event.isTyping) this.typing.add(event.account)
                else this.typing.delete(event.account)
                this.emit('typing', this.typing)
                break
            case 'closed':
                if (event.isFinal) this.failure = new CodeError(event.code, event.reason)
                if (event.isFinal) this.wake()
                this.emit('closed', { ...event, code: codeName(event.code) })
                break
            case 'outcome': {
                const { key, state, offset, code, reason } = event
                const outgoing = this.sending.get(key)
                if (state !== 'sent') this.sending.delete(key)
                outgoing?.settle(state, offset, code, reason)
                this.emit('outgoing', { key, state, offset, code: codeName(code), reason })
            }
        }
    }

    private opened(snapshot: RoomSnapshot, isReset: boolean, keeps = 0n): void {
        const { head, log, cursor, members, typing, receipts } = snapshot
        const isOther = this.log !== undefined && log !== 0n && this.log !== log
        if (this.position === undefined) {
            const { cursor: wanted = 0n, log: known, tail } = this.start ?? {}
            const isKnown = known === undefined || known === log
            const place = !isKnown ? cursor < wanted ? cursor : wanted : wanted
            this.position = tail === undefined ? place : place > head - BigInt(tail) ? place : head - BigInt(tail)
            if (this.position > head) this.position = head
            if (this.position < 0n) this.position = 0n
        } else if (isOther || this.position > head) {
            // Offsets of another log refer to other messages, except for those up to a branch.
            const most = isOther && keeps < head ? keeps : head
            if (this.position > most) this.position = most
            this.queue = this.queue.filter(({ offset }) => offset <= most)
            this.queuedBytes = this.queue.reduce((sum, { content }) => sum + content.length, 0)
            this.consumed = this.lastTaken = this.position
        }
        this.log = log === 0n ? this.log : log
        this.highest = cursor > this.position ? cursor : this.position
        this.members.clear()
        for (const [name, presence] of members) this.members.set(name, presence === 1 ? 'online' : 'away')
        this.typing.clear()
        for (const account of typing) this.typing.add(account)
        for (const receipt of receipts) this.receipt(receipt)
        this.emit('opened', { head, first: snapshot.first, log, isReset })
        this.emit('members', this.members)
        void this.fill()
        for (const outgoing of [...this.sending.values()]) void this.checkOutcome(outgoing)
        this.acknowledge()
    }

    private receive(message: Message): void {
        if (this.position === undefined) return
        if (message.offset > this.highest) this.highest = message.offset
        if (message.offset !== this.position + 1n || !this.hasRoom) return void this.fill()
        this.enqueue(message)
    }

    private enqueue(message: Message): void {
        this.position = message.offset
        this.queue.push(message)
        this.queuedBytes += message.content.length
        this.wake()
    }

    /** What an application has not taken is bounded; the rest is read from the history later. */
    private get hasRoom(): boolean {
        return this.queue.length < maxQueue && this.queuedBytes < maxQueuedBytes
    }

    private skip(first: bigint, last: bigint): void {
        if (this.position === undefined || last <= this.position) return
        if (last > this.highest) this.highest = last
        if (first > this.position + 1n) return void this.fill()
        const from = this.position + 1n
        this.position = last
        this.emit('gap', { first: from, last })
    }

    /** Reads what is between the position and what the leader has delivered. */
    private async fill(): Promise<void> {
        if (this.isFilling) return
        this.isFilling = true
        try {
            while (!this.isClosed && this.position! < this.highest && this.hasRoom) {
                const from = this.position!
                const page = await this.page({ cursor: from }, pageLimit)
                if (this.position !== from) continue
                for (const message of page) {
                    if (message.offset > this.position + 1n) this.skip(this.position + 1n, message.offset - 1n)
                    this.enqueue(message)
                }
                if (page.length === 0) this.skip(from + 1n, this.highest)
            }
        } catch {
            if (this.isClosed || this.failure !== undefined) return
            this.fillTimer = setTimeout(() => void this.fill(), retryDelay)
        } finally {
            this.isFilling = false
        }
    }

    private async page(place: { before: bigint } | { cursor: bigint } | { acceptedAt: bigint }, limit: number):
        Promise<Message[]> {
        const log = this.log === undefined ? {} : { log: this.log }
        const content = encodeContent('before? cursor? acceptedAt? limit log?', { ...place, limit, ...log } as Fields)
        const answer = await this.core.command({
            op: 'request', place: { room: this.name }, method: 'room.history', content, duration: requestDuration,
        }) as Answer
        if (answer.status !== 0) throw new CodeError(answer.status, answer.reason, answer.retryAfter)
        return this.parsePage(answer.content, place, limit)
    }

    /** Refuses a page that the relay may not send. */
    private parsePage(content: Uint8Array, place: object, limit: number): Message[] {
        const invalid = (): never => {
            throw new CodeError('invalidPage')
        }
        const page = parseContent(content, 'head first log? message*')
        const bodies = page['message'] as Uint8Array[]
        const isOther = this.log !== undefined && page['log'] !== undefined && page['log'] !== this.log
        if (isOther || bodies.length > limit) return invalid()
        const { before, cursor } = place as { before?: bigint, cursor?: bigint }
        let last = (page['first'] as bigint) - 1n
        const messages: Message[] = []
        for (const body of bodies) {
            let fields: DataBody
            try {
                fields = parseBody(types.get(Type.data)!, body, 'server') as unknown as DataBody
            } catch {
                continue
            }
            const offset = fields.offset!
            const isInside = offset > last && offset <= page['head']! && offset < (before ?? offset + 1n) &&
                offset > (cursor ?? 0n)
            if (!isInside) return invalid()
            last = offset
            const { acceptedAt, sender, device, counter, kind, content: inner } = fields
            messages.push(this.toMessage({
                offset, acceptedAt: Number(acceptedAt!), sender: sender!, device: device!, counter, kind,
                content: inner,
            }))
        }
        return messages
    }

    private toMessage(message: StoredMessage): Message {
        const text = textKinds.includes(message.kind) ? textIn(message.content) : undefined
        return { ...message, room: this.name, text }
    }

    private receipt({ kind, account, upTo }: RoomEvents['receipt']): void {
        const known = kind === 'read' ? this.read : this.delivered
        if ((known.get(account) ?? 0n) < upTo) known.set(account, upTo)
        this.emit('receipt', { kind, account, upTo })
    }

    // MARK: Outcomes and cursors

    /** An outcome that was reported while this tab could not hear it. */
    private async checkOutcome(outgoing: Outgoing): Promise<void> {
        try {
            const outcome = await this.outbox.outcome(outgoing.key)
            if (outcome.state === 'accepted') outgoing.settle('accepted', outcome.offset, 0, '')
            else if (outcome.state === 'failed') outgoing.settle('failed', 0n, outcome.code, outcome.reason)
            else return
            this.sending.delete(outgoing.key)
        } catch (error) {
            this.client.fail(error)
            outgoing.abandon(CodeError.of(error))
        }
    }

    private acknowledge(): void {
        if (!this.isClosed) this.timer ??= setTimeout(() => this.flushAcknowledgement(), acknowledgeDelay)
    }

    private flushAcknowledgement(): void {
        clearTimeout(this.timer)
        this.timer = undefined
        if (this.consumed === 0n && this.seen === 0n) return
        void this.core.command({ op: 'acknowledge', room: this.name, delivered: this.consumed, read: this.seen })
            .catch(() => undefined)
    }

    private async storeCursor(): Promise<void> {
        clearTimeout(this.cursorTimer)
        const isDue = this.cursorTimer !== undefined && this.log !== undefined
        this.cursorTimer = undefined
        if (!isDue) return
        await this.outbox.setCursor(this.name, { log: this.log!, offset: this.consumed })
            .catch((error: unknown) => this.client.fail(error))
    }

    private async fileRequest(method: string, content: Uint8Array): Promise<Answer> {
        return await this.core.command({
            op: 'request', place: { files: this.name }, method, content, duration: requestDuration,
        }) as Answer
    }
}

const isU64 = (value: unknown): boolean => typeof value === 'bigint' && value >= 0n && value < 1n << 64n
const isInteger = (value: unknown, most: number): boolean =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most

/** @throws CodeError `invalidValue` for a beginning that is none */
export function checkFrom(from: From): void {
    const { offset, log, tail, stored } = from as Record<string, unknown>
    const isTail = isInteger(tail, 2 ** 32 - 1)
    const isValid = 'offset' in from ? isU64(offset) && (log === undefined || isU64(log)) :
        'stored' in from ? stored === true && (tail === undefined || isTail) : isTail
    if (!isValid) throw invalid('offset, log, tail or stored')
}

/** The reference to a message in contents (M-2). */
export function targetOf(message: StoredMessage): Uint8Array {
    const head = bytesOfTLVs([0, message.device], [0, message.counter], [0, message.offset])
    const account = new TextEncoder().encode(message.sender)
    const target = new Uint8Array(24 + account.length)
    for (let index = 0; index < 3; index++) target.set(head.subarray(index * 14 + 6, index * 14 + 14), index * 8)
    target.set(account, 24)
    return target
}

function textIn(content: Uint8Array): string | undefined {
    try {
        const tlv = readTLVs(content).find(({ tag }) => tag === Tag.text)
        return tlv === undefined ? undefined : textOf(content.subarray(tlv.start, tlv.end))
    } catch {
        return undefined
    }
}
