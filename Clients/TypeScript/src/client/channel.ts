// A session that is kept open: on a room, for its attachments, or of the account (relay.md R-13).

import type { Link, LinkEvent } from '../link/link.js'
import { Code } from '../wire/registry.generated.js'
import type { Fields } from '../wire/values.js'

/** Codes after which a client gives a room up. */
const final: readonly number[] = [Code.roomForbidden, Code.forbidden, Code.kicked, Code.tooManyRooms, Code.roomFull,
    Code.unsupportedKind, Code.tooManySessions]
const firstCeiling = 2_000
const maxCeiling = 32_000
const maxRetryAfter = 3_600_000

/** Opens a session, and opens it again after its end until it is given up or closed. */
export class Channel {
    /** The session, or undefined while there is none. */
    session: number | undefined
    isOpen = false
    /** Whether the relay has opened a session at any time. */
    wasOpened = false
    givenUp: number | undefined
    private openAt = -Infinity
    private ceiling = firstCeiling

    /**
     * @param kind the kind of the session
     * @param random a number from 0 to 1, 1 excluded
     */
    constructor(readonly room: string, readonly kind: number, private readonly random: () => number) { }

    get deadline(): number {
        return this.session === undefined && this.givenUp === undefined ? this.openAt : Infinity
    }

    /** Opens the session if that is due. */
    poll(link: Link, fields: () => Fields, now: number): void {
        if (this.session !== undefined || this.givenUp !== undefined || now < this.openAt) return
        const at = link.opensAt(now)
        if (at > now) {
            this.openAt = at
            return
        }
        this.session = link.open(this.kind, { room: this.room, ...fields() }, now)
    }

    opened(): void {
        this.isOpen = this.wasOpened = true
        this.ceiling = firstCeiling
    }

    /** The session has ended; returns whether it is opened again. */
    ended(event: Extract<LinkEvent, { kind: 'ended' }>, now: number): boolean {
        this.session = undefined
        this.isOpen = false
        if (final.includes(event.code)) {
            this.givenUp = event.code
            return false
        }
        this.openAt = now + Math.min(event.retryAfter ?? 0, maxRetryAfter) + this.random() * this.ceiling
        this.ceiling = Math.min(this.ceiling * 2, maxCeiling)
        return true
    }

    /** The link has ended; the session is opened again on the next one (C-36). */
    lost(): void {
        this.session = undefined
        this.isOpen = false
    }

    /** Opens the session again although it was given up. */
    retry(): void {
        this.givenUp = undefined
        this.openAt = -Infinity
    }
}
