// The round trip, and the timeouts that follow from it (S-25, S-27).

const maxSample = 60_000
const ackDelay = 25

/** Estimates the round trip in milliseconds, as RFC 6298 and RFC 9002 do. */
export class RoundTrip {
    private smoothed: number | undefined
    private variation = 0
    private least = Infinity

    /** The smoothed round trip in milliseconds, or undefined before the first sample. */
    get value(): number | undefined {
        return this.smoothed
    }

    /**
     * Adds a sample.
     *
     * @param elapsed milliseconds since the frame was sent
     * @param held milliseconds for which the peer held the timestamp
     */
    add(elapsed: number, held: number): void {
        if (elapsed < 0 || elapsed > maxSample) return
        this.least = Math.min(this.least, elapsed)
        const adjusted = elapsed - Math.min(held, ackDelay)
        const sample = adjusted < this.least ? elapsed : adjusted
        if (this.smoothed === undefined) {
            this.smoothed = sample
            this.variation = sample / 2
        } else {
            this.variation += (Math.abs(this.smoothed - sample) - this.variation) / 4
            this.smoothed += (sample - this.smoothed) / 8
        }
    }

    /** The retransmission timeout in milliseconds (S-27). */
    get timeout(): number {
        if (this.smoothed === undefined) return 1_000
        const value = this.smoothed + Math.max(4 * this.variation, 1) + ackDelay
        return Math.min(Math.max(value, 200), 60_000)
    }

    /** The timeout of a probe of the heartbeat in milliseconds (C-47). */
    get probeTimeout(): number {
        return Math.min(Math.max(2 * this.timeout, 2_000), 2_400)
    }
}
