// Whether the server is alive (connection.md section 9.1).

import type { RoundTrip } from '../link/roundtrip.js'

const waitingInterval = 4_000
const lateness = 5_000
const modes = {
    foreground: { factor: 1, least: 15_000, most: 300_000 },
    background: { factor: 3, least: 45_000, most: 900_000 },
}

/** How often a client pings: in the foreground or in the background (C-48). */
export type Mode = keyof typeof modes

/** Pings a silent server, and detects a dead one. All times are in milliseconds. */
export class Heartbeat {
    mode: Mode = 'foreground'
    private heardAt = 0
    private waitingSince: number | undefined
    private interval = 30_000
    private pings = 0
    private pingedAt = 0
    private isPingDue = false

    constructor(private readonly random: () => number, private readonly roundTrip: RoundTrip,
        private readonly most: number | undefined, now: number) {
        this.heard(now)
    }

    /** Any frame has arrived (C-46). */
    heard(now: number): void {
        this.heardAt = now
        this.pings = 0
        const { factor, least, most } = modes[this.mode]
        const wanted = 30_000 * factor * this.quality * (0.9 + 0.2 * this.random())
        this.interval = Math.max(Math.min(wanted, most, this.most ?? Infinity), least)
    }

    /** Whether an acknowledgement or an answer is due (C-47). */
    setWaiting(isWaiting: boolean, now: number): void {
        if (!isWaiting) this.waitingSince = undefined
        else this.waitingSince ??= now
    }

    /** A ping at once (C-51). */
    pingNow(): void {
        this.isPingDue = true
    }

    /** The next instant at which `poll` has something to do. */
    get deadline(): number {
        if (this.isPingDue) return -Infinity
        if (this.pings > 0) return this.pingedAt + this.roundTrip.probeTimeout
        const waiting = this.waitingSince === undefined ? Infinity :
            Math.max(this.heardAt, this.waitingSince) + waitingInterval
        return Math.min(this.heardAt + this.interval, waiting)
    }

    /** Returns what is due: a ping, or the report that the server is dead. */
    poll(now: number): 'ping' | 'dead' | undefined {
        const { deadline } = this
        if (now < deadline) return undefined
        // A timer that is late shows that the process was suspended (C-51).
        const wasSuspended = !this.isPingDue && now >= deadline + lateness
        if (this.pings >= 2 && !wasSuspended && !this.isPingDue) return 'dead'
        this.pings = wasSuspended || this.isPingDue ? 1 : this.pings + 1
        this.isPingDue = false
        this.pingedAt = now
        return 'ping'
    }

    /** The factor for the quality of the path (C-48). */
    private get quality(): number {
        const { value } = this.roundTrip
        if (value === undefined || (value >= 300 && value < 500)) return 1.5
        return value >= 500 && value < 800 ? 2.5 : Math.max(value / 200, 1)
    }
}
