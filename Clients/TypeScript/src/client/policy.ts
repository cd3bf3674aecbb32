// When a client tries to connect again (connection.md section 10).

const maxCeiling = 24_000
const otherBase = 250
const endedBase = 12_000
const maxRetryAfter = 3_600_000

/** Why a connection or an attempt has failed. */
export type Failure = 'ended' | 'draining' | 'refused' | 'other'

/** Draws the waits between attempts (C-55 to C-58, C-92 to C-95). All times are in milliseconds. */
export class ReconnectPolicy {
    private failures = 0
    private base = otherBase
    private spread: number | undefined
    private halvings = 0
    private endedBefore = false
    private welcomedAt: number | undefined
    private lostAt = -Infinity
    private attemptAt = Infinity
    private notBefore = -Infinity
    private hasHurried = false
    private redirects = 0

    /** @param random a number from 0 to 1, 1 excluded */
    constructor(private readonly random: () => number) { }

    /** The instant of the next attempt. */
    get deadline(): number {
        return this.attemptAt
    }

    /** The user requests a connection: at once, whatever a server has stated (C-57). */
    now(now: number): void {
        this.attemptAt = now
        this.notBefore = -Infinity
    }

    stop(): void {
        this.attemptAt = Infinity
    }

    /** The user requests no connection: what was counted ends (C-55). */
    cancel(): void {
        this.stop()
        this.failures = this.halvings = 0
        this.endedBefore = false
    }

    attempted(): void {
        this.attemptAt = Infinity
    }

    /** A welcome has arrived (C-55, C-93). */
    welcomed(now: number, isResumed: boolean, spread: number | undefined): void {
        this.welcomedAt = now
        this.spread = spread
        this.redirects = 0
        if (isResumed && this.endedBefore) this.halvings++
        else if (!isResumed) this.halvings = 0
        this.endedBefore = false
    }

    /** The latest spread of the server (C-92). */
    setSpread(spread: number): void {
        this.spread = spread
    }

    /**
     * A connection or an attempt has failed; draws the wait.
     *
     * @param retryAfter the wait that the server has requested, in milliseconds
     */
    failed(failure: Failure, now: number, retryAfter?: number): void {
        const established = this.welcomedAt === undefined ? undefined : now - this.welcomedAt
        if (established !== undefined) {
            if (established >= 1_000) this.failures = 0
            if (established >= 60_000) this.halvings = 0
            this.lostAt = now
            this.endedBefore = failure === 'ended'
        }
        this.welcomedAt = undefined
        // The base of a row remains, until another end of an established connection (C-55).
        if (this.failures === 0) this.base = otherBase
        if (failure === 'draining' || (failure === 'ended' && established !== undefined)) {
            const named = this.spread === undefined ? endedBase : Math.min(Math.max(this.spread, otherBase), maxCeiling)
            const halved = failure === 'ended' ? named / 2 ** this.halvings : named
            this.base = Math.max(halved, otherBase)
        }
        this.failures++
        let ceiling = this.ceiling
        if (failure === 'refused' && this.spread !== undefined && now - this.lostAt < 300_000) {
            ceiling = Math.min(ceiling, Math.max(1_500, 2 * this.base))
        }
        this.notBefore = retryAfter === undefined ? -Infinity : now + Math.min(retryAfter, maxRetryAfter)
        this.attemptAt = Math.max(now, this.notBefore) + this.random() * ceiling
        this.hasHurried = false
    }

    /** A message or a request waits: the wait is drawn again, once (C-95). */
    hurry(now: number): void {
        if (this.hasHurried || this.spread === undefined || this.attemptAt === Infinity) return
        this.hasHurried = true
        const ceiling = Math.max(3_000, 2 * this.base)
        if (ceiling >= this.ceiling) return
        const drawn = Math.max(now, this.notBefore) + this.random() * ceiling
        this.attemptAt = Math.min(this.attemptAt, drawn)
    }

    /** A path has come up or has changed: an attempt after 1 s, but not before `retryAfter` (C-56, C-57). */
    pathChanged(now: number): void {
        this.failures = 0
        if (this.attemptAt === Infinity) return
        this.attemptAt = Math.min(this.attemptAt, Math.max(now + 1_000, this.notBefore))
    }

    /** The application is in the foreground: an attempt at once, but not before `retryAfter` (C-57). */
    foreground(now: number): void {
        if (this.attemptAt === Infinity) return
        this.attemptAt = Math.min(this.attemptAt, Math.max(now, this.notBefore))
    }

    /** There is no path: the attempt is 10 s later (C-109). */
    pathLost(): void {
        this.attemptAt += 10_000
    }

    /** Follows a redirect; the sixth one in a row counts as a failure (C-58). */
    redirected(now: number, retryAfter: number | undefined): void {
        if (++this.redirects > 5) return this.failed('other', now, retryAfter)
        this.notBefore = now + Math.min(retryAfter ?? 0, maxRetryAfter)
        this.attemptAt = this.notBefore
        this.welcomedAt = undefined
    }

    private get ceiling(): number {
        return Math.min(this.base * 2 ** Math.min(this.failures - 1, 16), maxCeiling)
    }
}
