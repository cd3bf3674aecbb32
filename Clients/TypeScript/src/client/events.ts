// What an engine reports to its owner.

import type { UpdateBody } from '../wire/registry.generated.js'

/** A message of a room as the relay has stored it (W-61). */
export interface StoredMessage {
    /** The position in the room, from 1. */
    offset: bigint
    /** The relay's clock when it accepted the message, in milliseconds since 1970, for display. */
    acceptedAt: number
    sender: string
    device: bigint
    counter: bigint
    /** A kind of wire.md section 13.3. */
    kind: number
    /** The TLVs of the content. */
    content: Uint8Array
}

/** The state of the connection. */
export type ConnectionState = 'offline' | 'connecting' | 'online' | 'stopped'

export type EngineEvent =
    | { type: 'state', state: ConnectionState, code: number, reason: string }
    | { type: 'opened', room: string, head: bigint, first: bigint, log: bigint, cursor: bigint, members: string[],
        isReset: boolean, /** The highest offset of the earlier log that is valid in this one. */ keeps: bigint }
    | { type: 'message', room: string, message: StoredMessage }
    | { type: 'gap', room: string, first: bigint, last: bigint }
    | { type: 'accepted', room: string, counter: bigint, offset: bigint }
    | { type: 'failed', room: string, counter: bigint, code: number, reason: string }
    | { type: 'published', room: string, counter: bigint }
    | { type: 'mark', room: string, counter: bigint }
    | { type: 'receipt', room: string, kind: 'delivered' | 'read', account: string, device: bigint | undefined,
        upTo: bigint }
    | { type: 'presence', room: string, account: string, presence: number }
    | { type: 'typing', room: string, account: string, isTyping: boolean }
    | { type: 'closed', room: string, code: number, reason: string, isFinal: boolean }
    | { type: 'update', entry: UpdateBody }
    | { type: 'reused' }
