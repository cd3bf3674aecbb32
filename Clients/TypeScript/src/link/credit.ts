// Credit of the link or of a session, in one direction each (session.md section 6).

/** The credit that this endpoint grants (S-36, S-37). */
export class GrantedCredit {
    received = 0n
    returned = 0n
    private announcedLimit: bigint

    /** @param window the window in bytes */
    constructor(private window: number) {
        this.announcedLimit = BigInt(window)
    }

    /** The limit that the peer knows. */
    get announced(): bigint {
        return this.announcedLimit
    }

    /** A larger window is granted at once (C-24). */
    widen(window: number): void {
        if (window <= this.window) return
        this.announcedLimit += BigInt(window - this.window)
        this.window = window
    }

    /** The limit to announce while `incomplete` bytes of a message have arrived. */
    announce(incomplete: number): bigint {
        const limit = this.returned + BigInt(this.window + incomplete)
        if (limit > this.announcedLimit) this.announcedLimit = limit
        return this.announcedLimit
    }

    /** Whether an ack must be sent for the sake of credit alone (S-39). */
    needsAck(incomplete: number): boolean {
        const gain = this.returned + BigInt(this.window + incomplete) - this.announcedLimit
        return gain * 2n >= BigInt(this.window) ||
            (this.returned === this.received && gain * 16n > BigInt(this.window))
    }
}

/** The credit that the peer grants. */
export class UsedCredit {
    used = 0n
    /** Credit of fragments that follow a sent one (S-40). */
    reserved = 0n
    private limit: bigint

    constructor(private window: number) {
        this.limit = BigInt(window)
    }

    get available(): bigint {
        return this.limit - this.used - this.reserved
    }

    widen(window: number): void {
        if (window <= this.window) return
        this.raise(this.limit + BigInt(window - this.window))
        this.window = window
    }

    /** Raises the limit; a lower one is stale (S-23). Returns whether it brings progress (S-59). */
    raise(limit: bigint): boolean {
        const isProgress = limit - this.limit >= BigInt(this.window) / 16n
        if (limit > this.limit) this.limit = limit
        return isProgress
    }
}
