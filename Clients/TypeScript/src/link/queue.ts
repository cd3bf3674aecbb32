// The reliable frames that an endpoint sends on a session (session.md sections 3 to 5).

import { WireError } from '../wire/errors.js'
import { Flag } from '../wire/registry.generated.js'
import type { TypeInfo } from '../wire/tables.js'

/** A frame that is kept until it is acknowledged (S-26). */
export interface Queued {
    readonly sequence: bigint
    readonly info: TypeInfo
    readonly flags: number
    readonly body: Uint8Array
    /** The bytes of the message from this frame on, if it is the first one of a message (S-40). */
    readonly messageLength: number
    readonly isLast: boolean
    /** Whether its credit was used (S-35). */
    isCharged: boolean
    /** The number of its last transmission on this connection, or 0. */
    transmission: number
    isAcknowledged: boolean
}

/** The frames of a session, from the lowest unacknowledged one on. */
export class SendQueue {
    private frames: Queued[] = []
    private nextSequence = 1n
    private highestSent = 0n
    private acknowledged = 0n

    constructor(private readonly fragmentLength: number) { }

    get isEmpty(): boolean {
        return this.frames.length === 0
    }

    get length(): number {
        return this.frames.length
    }

    /** Whether a frame was sent at any time and is not acknowledged. */
    get hasUnacknowledged(): boolean {
        return this.frames.some((frame) => frame.sequence <= this.highestSent && !frame.isAcknowledged)
    }

    /** Whether an unacknowledged frame used credit (S-12). */
    get hasUnacknowledgedCredit(): boolean {
        return this.frames.some((frame) => frame.isCharged && !frame.isAcknowledged)
    }

    /** The frames that are to be sent, in order. */
    *pending(): Generator<Queued> {
        for (const frame of this.frames) if (frame.transmission === 0 && !frame.isAcknowledged) yield frame
    }

    /** Adds a message, cut into fragments if it is long (S-43), and returns the sequence of its last frame. */
    add(info: TypeInfo, flags: number, body: Uint8Array): bigint {
        const length = info.fragments ? this.fragmentLength : Infinity
        let at = 0
        do {
            const part = body.subarray(at, Math.min(body.length, at + length))
            const isLast = at + part.length === body.length
            this.frames.push({
                sequence: this.nextSequence, info, body: part, isLast, messageLength: at === 0 ? body.length : 0,
                flags: flags | (isLast ? 0 : Flag.moreFragments), isCharged: false, transmission: 0,
                isAcknowledged: false,
            })
            this.nextSequence += 1n
            at += part.length
        } while (at < body.length)
        return this.nextSequence - 1n
    }

    sent(frame: Queued, transmission: number): void {
        frame.transmission = transmission
        if (frame.sequence > this.highestSent) this.highestSent = frame.sequence
    }

    /** Checks an acknowledgement without effect (S-23). */
    check(cumulative: bigint, ranges: [bigint, bigint][]): void {
        const highest = ranges.at(-1)?.[1] ?? cumulative
        if (cumulative > this.highestSent || highest > this.highestSent) throw new WireError('ackUnsent')
    }

    /** Applies an acknowledgement, and returns whether it acknowledges a frame for the first time. */
    acknowledge(cumulative: bigint, ranges: [bigint, bigint][]): boolean {
        let isFirst = false
        for (const frame of this.frames) {
            if (frame.isAcknowledged) continue
            const { sequence } = frame
            if (sequence <= cumulative || ranges.some(([first, last]) => first <= sequence && sequence <= last)) {
                frame.isAcknowledged = isFirst = true
            }
        }
        if (cumulative > this.acknowledged) this.acknowledged = cumulative
        while (this.frames[0] !== undefined && this.frames[0].sequence <= cumulative) this.frames.shift()
        return isFirst
    }

    /** Whether the position of the peer is possible (C-30). */
    isPossible(position: bigint): boolean {
        return position >= this.acknowledged && position <= this.highestSent
    }

    /** All unacknowledged frames are to be sent again (C-33). */
    restart(): void {
        for (const frame of this.frames) frame.transmission = 0
    }

    /** Frames whose last transmission was before another are lost (S-28). */
    lose(before: number): void {
        for (const frame of this.frames) {
            if (frame.transmission > 0 && frame.transmission < before && !frame.isAcknowledged) frame.transmission = 0
        }
    }
}
