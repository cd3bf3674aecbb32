// The sequences that a receiver has of a session (wire.md section 3.5, session.md section 3).

import { WireError } from '../wire/errors.js'

const windowLength = 8_192n
const maxHeld = 1_024
const maxRanges = 32

/**
 * Returns the whole sequence of the low 32 bits of a header (S-17).
 *
 * @throws WireError outOfWindow
 */
export function wholeSequence(expected: bigint, low: number): bigint {
    const whole = expected + BigInt.asIntN(32, BigInt(low) - expected)
    if (whole < 1n || whole >= expected + windowLength || whole >= 1n << 64n) throw new WireError('outOfWindow')
    return whole
}

/** Orders what arrives by sequence, and holds what is behind a gap (S-18). */
export class ReceiveWindow<Held> {
    private readonly held = new Map<bigint, Held>()

    /** @param received the highest sequence received with none missing before it */
    constructor(private received = 0n) { }

    get cumulative(): bigint {
        return this.received
    }

    get hasGap(): boolean {
        return this.held.size > 0
    }

    /** Whether there is room behind a gap for another frame (S-31). */
    get hasRoom(): boolean {
        return this.held.size < maxHeld
    }

    /** The whole sequence of a header's bits, or undefined if it was received before. */
    locate(low: number): bigint | undefined {
        const whole = wholeSequence(this.received + 1n, low)
        return whole <= this.received || this.held.has(whole) ? undefined : whole
    }

    /** Adds a sequence that `locate` has returned. */
    add(sequence: bigint, value: Held): void {
        this.held.set(sequence, value)
    }

    /** Removes the next value in order, or returns undefined. */
    next(): Held | undefined {
        const value = this.held.get(this.received + 1n)
        if (value === undefined) return undefined
        this.received += 1n
        this.held.delete(this.received)
        return value
    }

    /** The lowest 32 ranges beyond the cumulative sequence (S-21). */
    ranges(): [bigint, bigint][] {
        const result: [bigint, bigint][] = []
        for (const sequence of [...this.held.keys()].sort((a, b) => a < b ? -1 : 1)) {
            const last = result.at(-1)
            if (last !== undefined && last[1] + 1n === sequence) last[1] = sequence
            else if (result.length === maxRanges) break
            else result.push([sequence, sequence])
        }
        return result
    }
}
