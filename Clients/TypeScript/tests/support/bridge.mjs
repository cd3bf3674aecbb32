// A server of files, and a bridge from WebSockets (RFC 6455) to TCP. For tests only.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { extname, join, normalize } from 'node:path'

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

function frame(opcode, payload) {
    const head = payload.length < 126 ? Buffer.from([0x80 | opcode, payload.length]) :
        payload.length < 65_536 ? Buffer.from([0x80 | opcode, 126, payload.length >> 8, payload.length & 255]) :
            Buffer.concat([Buffer.from([0x80 | opcode, 127]), Buffer.alloc(8)])
    if (payload.length >= 65_536) head.writeBigUInt64BE(BigInt(payload.length), 2)
    return Buffer.concat([head, payload])
}

/** Calls `onFrame` with each frame of a client. */
function reader(onFrame) {
    let buffer = Buffer.alloc(0)
    return (bytes) => {
        buffer = Buffer.concat([buffer, bytes])
        for (;;) {
            if (buffer.length < 2) return
            let length = buffer[1] & 127
            let at = 2
            if (length === 126) {
                if (buffer.length < 4) return
                length = buffer.readUInt16BE(2)
                at = 4
            } else if (length === 127) {
                if (buffer.length < 10) return
                length = Number(buffer.readBigUInt64BE(2))
                at = 10
            }
            if (buffer.length < at + 4 + length) return
            const mask = buffer.subarray(at, at + 4)
            const payload = Buffer.from(buffer.subarray(at + 4, at + 4 + length))
            for (let index = 0; index < length; index++) payload[index] ^= mask[index & 3]
            const opcode = buffer[0] & 15
            buffer = buffer.subarray(at + 4 + length)
            onFrame(opcode, payload)
        }
    }
}

export class Bridge {
    sockets = new Set()
    isDown = false
    /** While paused, bytes of the relay wait: the path delivers nothing. */
    connections = 0

    /** @param folders folders of files, by the first part of the path */
    static async start(target, folders) {
        const bridge = new Bridge()
        bridge.target = target
        bridge.server = createServer((request, response) => {
            const path = normalize(new URL(request.url, 'http://localhost').pathname).split('/').filter(Boolean)
            const folder = folders[path[0]]
            try {
                if (folder === undefined) throw new Error('no such file')
                const file = join(folder, ...path.slice(1))
                const body = readFileSync(file)
                response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' })
                response.end(body)
            } catch {
                response.writeHead(404)
                response.end()
            }
        })
        bridge.server.on('upgrade', (request, socket) => bridge.upgrade(request, socket))
        await new Promise((resolve) => bridge.server.listen(0, '127.0.0.1', resolve))
        bridge.port = bridge.server.address().port
        return bridge
    }

    upgrade(request, socket) {
        if (this.isDown || request.headers['sec-websocket-protocol'] !== 'martlet') return socket.destroy()
        this.connections++
        const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + guid).digest('base64')
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
            `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: martlet\r\n\r\n`)
        const relay = connect({ host: '127.0.0.1', port: this.target })
        socket.setNoDelay(true)
        relay.setNoDelay(true)
        this.sockets.add(socket)
        relay.on('data', (bytes) => socket.write(frame(2, bytes)))
        relay.on('close', () => socket.destroy())
        relay.on('error', () => undefined)
        socket.on('data', reader((opcode, payload) => {
            if (opcode <= 2) relay.write(payload)
            else if (opcode === 9) socket.write(frame(10, payload))
            else if (opcode === 8) {
                socket.end(frame(8, payload.subarray(0, 2)))
                relay.end()
            }
        }))
        socket.on('error', () => undefined)
        socket.on('close', () => {
            this.sockets.delete(socket)
            relay.destroy()
        })
    }

    /** Cuts all WebSockets, and refuses further ones until `up`. */
    down() {
        this.isDown = true
        for (const socket of this.sockets) socket.destroy()
    }

    up() {
        this.isDown = false
    }

    async stop() {
        this.down()
        this.server.closeAllConnections()
        await new Promise((resolve) => this.server.close(resolve))
    }
}
