// Headless Chromium by the DevTools protocol over a pipe.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
    .find((path) => existsSync(path))

export class Browser {
    next = 1
    waiting = new Map()
    pages = new Map()

    static async start() {
        const browser = new Browser()
        browser.folder = mkdtempSync(join(tmpdir(), 'martlet-chromium-'))
        browser.process = spawn(chromium, ['--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu',
            '--no-first-run', '--disable-dev-shm-usage', `--user-data-dir=${browser.folder}`, 'about:blank'],
        { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
        let text = ''
        browser.process.stdio[4].setEncoding('utf8').on('data', (part) => {
            text += part
            const messages = text.split('\0')
            text = messages.pop()
            for (const message of messages) browser.receive(JSON.parse(message))
        })
        return browser
    }

    receive(message) {
        if (message.id !== undefined) {
            const { resolve, reject } = this.waiting.get(message.id)
            this.waiting.delete(message.id)
            if (message.error) reject(new Error(`${message.error.message} ${message.error.data ?? ''}`))
            else resolve(message.result)
        } else {
            this.pages.get(message.sessionId)?.receive(message)
        }
    }

    command(method, params = {}, sessionId) {
        const id = this.next++
        this.process.stdio[3].write(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }) + '\0')
        return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }))
    }

    async page(url) {
        const { targetId } = await this.command('Target.createTarget', { url: 'about:blank' })
        const { sessionId } = await this.command('Target.attachToTarget', { targetId, flatten: true })
        const page = new Page(this, sessionId, targetId)
        this.pages.set(sessionId, page)
        for (const domain of ['Page', 'Runtime', 'Network']) await page.command(`${domain}.enable`)
        await page.navigate(url)
        return page
    }

    async stop() {
        await this.command('Browser.close').catch(() => undefined)
        await new Promise((resolve) => {
            const timer = setTimeout(() => this.process.kill('SIGKILL'), 3_000)
            this.process.once('exit', () => {
                clearTimeout(timer)
                resolve()
            })
        })
        rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    }
}

class Page {
    loaded = []
    errors = []

    constructor(browser, session, target) {
        Object.assign(this, { browser, session, target })
    }

    command(method, params) {
        return this.browser.command(method, params, this.session)
    }

    receive({ method, params }) {
        if (method === 'Page.loadEventFired') for (const resolve of this.loaded.splice(0)) resolve()
        if (method === 'Runtime.exceptionThrown') {
            const { exceptionDetails: { exception, text } } = params
            this.errors.push(exception?.description ?? text)
        }
    }

    async navigate(url) {
        const loaded = new Promise((resolve) => this.loaded.push(resolve))
        await this.command('Page.navigate', { url })
        await loaded
    }

    async reload() {
        const loaded = new Promise((resolve) => this.loaded.push(resolve))
        await this.command('Page.reload')
        await loaded
    }

    /** The value of an expression, which may be a promise. */
    async evaluate(expression) {
        const { result, exceptionDetails } = await this.command('Runtime.evaluate',
            { expression, awaitPromise: true, returnByValue: true, userGesture: true })
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
        return result.value
    }

    /** Waits until an expression is true. */
    async until(expression, milliseconds = 20_000) {
        const end = Date.now() + milliseconds
        while (!await this.evaluate(expression)) {
            if (Date.now() > end) throw new Error(`${expression} is not true after ${milliseconds} ms`)
            await new Promise((resolve) => setTimeout(resolve, 50))
        }
    }

    async close() {
        await this.browser.command('Target.closeTarget', { targetId: this.target })
    }
}
