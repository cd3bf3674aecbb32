// Rates with a burst (S-4, S-59, W-71, W-73).

/** A number of events in advance, refilled at a rate. */
export class Bucket {
    private level: number
    private at = -Infinity

    /**
     * @param burst the events that are permitted at once
     * @param rate events a second
     */
    constructor(private readonly burst: number, private readonly rate: number) {
        this.level = burst
    }

    /** Takes events, and returns whether they were permitted. */
    take(now: number, count = 1): boolean {
        this.refill(now)
        if (this.level < count) return false
        this.level -= count
        return true
    }

    /** When the next event is permitted, in milliseconds of the clock of `now`. */
    nextAt(now: number): number {
        this.refill(now)
        return this.level >= 1 ? now : now + (1 - this.level) / this.rate * 1_000
    }

    private refill(now: number): void {
        if (now > this.at) {
            const gained = this.at === -Infinity ? 0 : (now - this.at) / 1_000 * this.rate
            this.level = Math.min(this.burst, this.level + gained)
            this.at = now
        }
    }
}
