// The state of a session at the client (session.md section 2).

import { SessionKind } from '../wire/registry.generated.js'
import type { Frame } from '../wire/receiver.js'
import type { Fields } from '../wire/values.js'
import { Assembler } from './assembler.js'
import { GrantedCredit, UsedCredit } from './credit.js'
import { SendQueue } from './queue.js'
import { ReceiveWindow } from './window.js'

/** Priority, window in bytes and length of fragments of each kind (session.md section 9). */
export const kindRules: Record<number, { priority: number, window: number, fragment: number }> = {
    [SessionKind.chat]: { priority: 1, window: 262_144, fragment: 16_384 },
    [SessionKind.media]: { priority: 2, window: 524_288, fragment: 16_384 },
    [SessionKind.signaling]: { priority: 0, window: 65_536, fragment: 4_096 },
    [SessionKind.file]: { priority: 3, window: 1_048_576, fragment: 16_384 },
    [SessionKind.attachment]: { priority: 3, window: 1_048_576, fragment: 16_384 },
    [SessionKind.account]: { priority: 1, window: 262_144, fragment: 16_384 },
}
const control = { priority: 0, window: 65_536, fragment: 16_384 }
const maxTransient = 16

/** What is kept of a session that has ended (S-13). */
export interface EndedSession {
    cumulative: bigint
    creditReceived: bigint
    /** The low bits of the sequence that the next late frame on this connection exceeds (S-14). */
    late: number
}

/** A session that has not ended, or session 0. */
export class Session {
    readonly queue: SendQueue
    readonly window = new ReceiveWindow<Frame>()
    readonly assembler: Assembler
    readonly granted: GrantedCredit
    readonly used: UsedCredit
    readonly priority: number
    isOpened = false
    hasSentClose = false
    hasReceivedClose = false
    /** Whether the server has suspended the session: messages, requests and transient frames are held back (S-9). */
    isSuspended = false
    /** The requests, and their cancels, that are held back. */
    held: { type: number, fields: Fields }[] = []
    /** Whether the next ack names the session. */
    isUnreported = false
    private transients: Uint8Array[] = []

    /**
     * @param kind the kind, or undefined for session 0
     * @param sessionWindow the negotiated window in bytes
     */
    constructor(readonly id: number, readonly kind: number | undefined, sessionWindow: number, maxMessage: number) {
        const rules = (kind === undefined ? undefined : kindRules[kind]) ?? control
        const window = id === 0 ? control.window : Math.min(sessionWindow, rules.window)
        this.priority = rules.priority
        this.queue = new SendQueue(rules.fragment)
        this.assembler = new Assembler(maxMessage)
        this.granted = new GrantedCredit(window)
        this.used = new UsedCredit(window)
    }

    /** Keeps the newest transient bodies (S-52). */
    addTransient(body: Uint8Array): void {
        this.transients.push(body)
        if (this.transients.length > maxTransient) this.transients.shift()
    }

    takeTransients(): Uint8Array[] {
        const taken = this.transients
        this.transients = []
        return taken
    }

    get hasTransients(): boolean {
        return this.transients.length > 0
    }

    /** Both endpoints have closed it, and the peer has this endpoint's `close` (S-7). */
    get isComplete(): boolean {
        return this.hasSentClose && this.hasReceivedClose && this.queue.isEmpty
    }

    toEnded(): EndedSession {
        const { cumulative } = this.window
        return { cumulative, creditReceived: this.granted.received, late: Number(cumulative & 0xffffffffn) }
    }
}
