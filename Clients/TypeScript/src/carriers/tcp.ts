// TCP and TLS as carriers, in Node (W-1, C-65).

import { connect as connectTCP } from 'node:net'
import { connect as connectTLS } from 'node:tls'
import type { Endpoint } from '../client/endpoint.js'
import type { Carrier, CarrierEvents, Connect } from './carrier.js'

const cutDelay = 1_000

/**
 * Returns a function that connects by TCP, or by TLS for `martlets://`.
 *
 * @param authorities certificates in PEM form that are trusted instead of those of Node
 */
export function tcp(authorities?: string | Uint8Array): Connect {
    return (endpoint: Endpoint, events: CarrierEvents): Carrier => {
        const url = new URL(endpoint.url.replace(/^martlet/, 'http'))
        const host = url.hostname.replace(/^\[|\]$/g, '')
        const port = Number(/:(\d+)$/.exec(endpoint.url.replace(/\/$/, ''))?.[1])
        const isAddress = /^[0-9.]+$|:/.test(host)
        const socket = endpoint.isSecure ? connectTLS({
            host, port, ALPNProtocols: ['martlet/1'], minVersion: 'TLSv1.2',
            ...(isAddress ? {} : { servername: host }), ...(authorities === undefined ? {} : { ca: authorities }),
        }) : connectTCP({ host, port })
        let isRefused = false
        let hasEnded = false
        socket.setNoDelay(true)
        socket.on(endpoint.isSecure ? 'secureConnect' : 'connect', () => events.up())
        socket.on('data', (bytes) => {
            if (!hasEnded) events.data(bytes)
        })
        socket.on('error', ({ code }) => {
            isRefused = code === 'ECONNREFUSED'
        })
        let cutTimer: ReturnType<typeof setTimeout> | undefined
        socket.on('close', () => {
            clearTimeout(cutTimer)
            if (!hasEnded) events.ended(isRefused)
            hasEnded = true
        })
        return {
            send: (bytes) => {
                socket.write(bytes)
            },
            end: (isAbrupt) => {
                if (isAbrupt) {
                    hasEnded = true
                    socket.destroy()
                    return
                }
                socket.end()
                // A carrier that the peer does not end is cut (C-60).
                cutTimer = setTimeout(() => socket.destroy(), cutDelay)
            },
        }
    }
}
