// A WebSocket as a carrier: its binary messages are the bytes of the connection, one after the other.

import type { Endpoint } from '../client/endpoint.js'
import type { Carrier, CarrierEvents } from './carrier.js'

const subprotocol = 'martlet'
const unsupportedData = 1003
const normal = 1000

/** Connects by a WebSocket of the platform. A text message, another subprotocol and an extension end it (C-119). */
export function connectWebSocket(endpoint: Endpoint, events: CarrierEvents): Carrier {
    const socket = new WebSocket(endpoint.url, subprotocol)
    let hasEnded = false
    const end = (): void => {
        if (hasEnded) return
        hasEnded = true
        events.ended(false)
    }
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => {
        if (socket.protocol === subprotocol && socket.extensions === '') events.up()
        else socket.close(normal)
    }
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (hasEnded) return
        if (data instanceof ArrayBuffer) return events.data(new Uint8Array(data))
        // A browser permits the codes 1000 and 3000 to 4999 only, so that 1003 cannot be sent by it.
        socket.close(normal, String(unsupportedData))
        end()
    }
    socket.onclose = end
    return {
        send(bytes) {
            if (socket.readyState === WebSocket.OPEN) socket.send(bytes)
        },
        end(isAbrupt) {
            socket.close(normal)
            // Its events no longer matter: the peer may never answer the close.
            if (isAbrupt) hasEnded = true
        },
    }
}
