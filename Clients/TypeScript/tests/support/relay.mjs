// A relay of the binary in the environment variable MARTLET.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const binary = process.env.MARTLET

/** Returns a free port of loopback. */
export function freePort() {
    return new Promise((resolve) => {
        const server = createServer().listen(0, '127.0.0.1', () => {
            const { port } = server.address()
            server.close(() => resolve(port))
        })
    })
}

/** A relay with a store in a temporary directory. */
export class Relay {
    constructor(port, options) {
        this.port = port
        this.options = options
        this.folder = mkdtempSync(join(tmpdir(), 'martlet-ts-'))
    }

    static async start(options = ['--allow-all']) {
        const relay = new Relay(await freePort(), options)
        await relay.run()
        return relay
    }

    async run() {
        this.process = spawn(binary, ['serve', '--quiet', '--listen', `127.0.0.1:${this.port}`,
            '--store', join(this.folder, 'store'), ...this.options], { stdio: ['ignore', 'ignore', 'inherit'] })
        this.exited = new Promise((resolve) => this.process.once('exit', resolve))
        for (let attempt = 0; attempt < 200; attempt++) {
            if (await accepts(this.port)) return
            await new Promise((resolve) => setTimeout(resolve, 50))
        }
        throw new Error('the relay does not listen')
    }

    /** Ends the process at once. */
    async kill() {
        this.process.kill('SIGKILL')
        await this.exited
    }

    async stop() {
        await this.kill()
        rmSync(this.folder, { recursive: true, force: true })
    }
}

function accepts(port) {
    return new Promise((resolve) => {
        const socket = connect({ host: '127.0.0.1', port })
        socket.once('connect', () => {
            socket.destroy()
            resolve(true)
        })
        socket.once('error', () => resolve(false))
    })
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits for a condition. */
export async function until(condition, milliseconds = 20_000, what = 'condition') {
    const end = Date.now() + milliseconds
    while (!condition()) {
        if (Date.now() > end) throw new Error(`${what} is not true after ${milliseconds} ms`)
        await sleep(10)
    }
}
