// What is used of Node's sockets; there are no other type declarations of Node here.

declare module 'node:net' {
    interface Socket {
        on(event: 'connect' | 'secureConnect' | 'close', listener: () => void): this
        on(event: 'data', listener: (bytes: Uint8Array) => void): this
        on(event: 'error', listener: (error: { code?: string }) => void): this
        write(bytes: Uint8Array): boolean
        end(): void
        destroy(): void
        setNoDelay(isOn: boolean): void
    }
    function connect(options: { host: string, port: number }): Socket
}

declare module 'node:tls' {
    import type { Socket } from 'node:net'
    function connect(options: {
        host: string, port: number, servername?: string, ALPNProtocols: string[], ca?: string | Uint8Array,
        minVersion: string,
    }): Socket
}
