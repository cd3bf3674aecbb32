// Endpoints of a server as text (C-58).

/** Where a server is, and whether the carrier has TLS. */
export interface Endpoint {
    /** The URL of a WebSocket, or `martlet://host:port` and `martlets://host:port`. */
    url: string
    isSecure: boolean
}

const defaultPort = 7227

/**
 * Parses an endpoint. Without a scheme it has the security of `isSecure`.
 *
 * @returns undefined for text that is not an endpoint
 */
export function parseEndpoint(text: string, isSecure = true): Endpoint | undefined {
    const match = /^(?:(martlets?|wss?):\/\/)?(\[[0-9a-fA-F:.%]+\]|[^:/[\]\s]+)(?::(\d{1,5}))?(\/\S*)?$/.exec(text)
    if (match === null) return undefined
    const [, scheme = isSecure ? 'martlets' : 'martlet', host, port, path] = match
    if (host === undefined || !isHost(host)) return undefined
    if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return undefined
    const secure = scheme === 'martlets' || scheme === 'wss'
    if (scheme.startsWith('ws')) {
        const suffix = port === undefined ? '' : `:${port}`
        const target = path === undefined || path === '/' ? '/martlet' : path
        return { url: `${scheme}://${host}${suffix}${target}`, isSecure: secure }
    }
    if (path !== undefined && path !== '/') return undefined
    return { url: `${scheme}://${host}:${port ?? defaultPort}`, isSecure: secure }
}

/** Whether a host that ends in a number is an address of four decimal numbers (C-135). */
function isHost(host: string): boolean {
    if (!/(^|\.)(\d+|0x[0-9a-f]*)\.?$/i.test(host)) return true
    return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(host)
}

/**
 * The endpoint of a redirect. On a WebSocket an endpoint of Martlet is taken for the same host and port as a WebSocket.
 * It MUST NOT lead from TLS to a carrier without TLS (C-58).
 */
export function redirected(from: Endpoint, text: string): Endpoint | undefined {
    const to = parseEndpoint(text, from.isSecure)
    if (to === undefined || (from.isSecure && !to.isSecure)) return undefined
    const isWebSocket = /^wss?:/.test(from.url)
    if (!isWebSocket || /^wss?:/.test(to.url)) return to
    return { ...to, url: `${to.url.replace(/^martlet(s?):/, 'ws$1:')}/martlet` }
}
