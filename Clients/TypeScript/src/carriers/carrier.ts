// What an engine's owner needs of a carrier (wire.md section 2).

import type { Endpoint } from '../client/endpoint.js'

/** A stream of bytes to a server. */
export interface Carrier {
    send(bytes: Uint8Array): void
    /** Ends the stream, in good order or at once. */
    end(isAbrupt: boolean): void
}

/** What a carrier reports. Nothing follows `ended`. */
export interface CarrierEvents {
    up(): void
    data(bytes: Uint8Array): void
    /** @param isRefused whether the port was refused, if that is known (C-94) */
    ended(isRefused: boolean): void
}

/** Begins an attempt to connect. Its events are reported after the call has returned. */
export type Connect = (endpoint: Endpoint, events: CarrierEvents) => Carrier
