// What a client keeps so that messages are published once and not lost (connection.md section 2.1).

import { CodeError } from '../api/errors.js'

/** A message without an outcome, or one that has failed. */
export interface OutboxMessage {
    /** Identifies the message for the application, also after a restart. */
    key: string
    room: string
    counter: bigint
    kind: number
    content: Uint8Array
    /** Whether it was marked as handed over, or failed. */
    status: 'queued' | 'marked' | 'failed'
    /** The wall clock when it was added, in milliseconds since 1970. */
    addedAt: number
    /** The end of the time to live by the wall clock, and its duration, both in milliseconds (C-75). */
    expiresAt?: number | undefined
    timeToLive?: number | undefined
    code?: number | undefined
    reason?: string | undefined
}

/** What is known of a message: it waits, has failed, or was accepted at an offset (0 if that is not known). */
export type Outcome =
    | { state: 'queued' | 'unknown' }
    | { state: 'accepted', offset: bigint }
    | { state: 'failed', code: number, reason: string }

/** A message that the relay has accepted. */
export interface Accepted {
    counter: bigint
    offset: bigint
}

/** A new message. */
export type Draft = Pick<OutboxMessage, 'key' | 'room' | 'kind' | 'content' | 'timeToLive'>

/** The place up to which an application has received a room. */
export interface StoredCursor {
    log: bigint
    offset: bigint
}

/**
 * Stores messages, outcomes, the device ID and cursors. Every promise resolves when the change is durable. Calls take
 * effect in their order. An error that is no CodeError is reported as `storageUnavailable`.
 */
export interface Outbox {
    /** The device ID, chosen at random once (W-34, C-79). */
    device(): Promise<bigint>
    /** Takes another device ID; messages without an outcome belong to it from then on (C-103). */
    renewDevice(): Promise<bigint>
    /**
     * Stores messages together with their counters (C-74, C-79). One whose key is known is not stored again.
     *
     * @throws CodeError `outboxFull` beyond the bounds (C-78), `keyInUse` for a key of a message of a different room
     */
    add(drafts: Draft[]): Promise<OutboxMessage[]>
    /** The messages without an outcome and the failed ones, in the order of their counters. */
    messages(): Promise<OutboxMessage[]>
    /** Marks a message durably as handed over (C-75). */
    mark(counter: bigint): Promise<void>
    /** Removes messages with their contents, and keeps their offsets (C-74, C-77). */
    accept(accepted: Accepted[]): Promise<void>
    /** Marks a message as failed, and removes the oldest failed ones beyond the bound (C-84). */
    fail(counter: bigint, code: number, reason: string): Promise<void>
    /** Removes a queued or failed message, and returns whether there was one. */
    remove(key: string): Promise<boolean>
    /** Stores a failed message under a new counter and key, in place of the failed one (C-77). */
    retry(key: string, newKey: string): Promise<OutboxMessage | undefined>
    outcome(key: string): Promise<Outcome>
    cursor(room: string): Promise<StoredCursor | undefined>
    setCursor(room: string, cursor: StoredCursor): Promise<void>
}

/** The bounds of C-78 and C-84. */
export const bounds = { messages: 4_096, bytes: 16 * 1_048_576, failed: 256, outcomes: 1_024, cursors: 256 }

/** A device ID or a counter's bits at random. */
export function randomDevice(): bigint {
    const words = crypto.getRandomValues(new BigUint64Array(1))
    return words[0]! || 1n
}

/** A key of a message. `crypto.randomUUID` needs a secure context. */
export const randomKey = (): string => `${randomDevice()}-${randomDevice()}`

/** Checks the bounds with further messages (C-78). */
export function checkBounds(count: number, bytes: number): void {
    if (count > bounds.messages || bytes > bounds.bytes) throw new CodeError('outboxFull')
}

/** A key identifies a message of one room. */
export function checkRoom(known: { room?: string | undefined } | undefined, { room }: Draft): void {
    if (known?.room !== undefined && known.room !== room) throw new CodeError('keyInUse')
}

export function stored(draft: Draft, counter: bigint): OutboxMessage {
    const { key, room, kind, content, timeToLive } = draft
    const addedAt = Date.now()
    const expiry = timeToLive === undefined ? {} : { timeToLive, expiresAt: addedAt + timeToLive }
    return { key, room, kind, content, counter, status: 'queued', addedAt, ...expiry }
}

export const outcomeOf = (message: OutboxMessage): Outcome => message.status === 'failed' ?
    { state: 'failed', code: message.code ?? 0, reason: message.reason ?? '' } : { state: 'queued' }
