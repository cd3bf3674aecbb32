// A chat in one page: rooms, messages with their states, typing, presence, history by scrolling.
import { Changes, Client, Kind, parseMessage } from './martlet.js'

const $ = (id) => document.getElementById(id)
const settings = JSON.parse(localStorage.getItem('martlet chat') ?? '{}')
const reactions = ['👍', '❤️', '😂', '🎉', '😮']
const shownKinds = [Kind.text, Kind.reply, Kind.attachment, Kind.system, Kind.card, Kind.erased]
const time = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const emoji = /^(\p{Extended_Pictographic}|\p{Emoji_Component}){1,6}$/u
const icons = {
    sending: '<circle cx="12" cy="12" r="8"/><path d="M12 8v4l3 2"/>',
    accepted: '<path d="M5 13l4 4 9-10"/>',
    delivered: '<path d="M1 13l4 4 9-10M11 15l2 2 9-10"/>',
    failed: '<circle cx="12" cy="12" r="9"/><path d="M12 7v6M12 16.5v.5"/>',
    more: '<circle cx="5" cy="12" r="1"/><circle cx="12" cy="12" r="1"/><circle cx="19" cy="12" r="1"/>',
    file: '<path d="M6 3h8l5 5v13H6zM14 3v5h5"/>',
}

let client
let view

// MARK: Elements

function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties)
    made.append(...children.filter((child) => child !== undefined))
    return made
}

function icon(name, label) {
    const made = element('span', { className: name })
    made.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true">${icons[name === 'read' ? 'delivered' : name]}</svg>`
    if (label) {
        made.role = 'img'
        made.ariaLabel = label
        made.title = label
    }
    return made
}

function hue(name) {
    let value = 7
    for (const character of name) value = (value * 31 + character.codePointAt(0)) % 360
    return value
}

function avatar(name) {
    const made = element('span', { className: 'avatar', textContent: [...name][0].toUpperCase(), ariaHidden: 'true' })
    made.style.setProperty('--hue', hue(name))
    return made
}

function bytesText(count) {
    return count < 1024 ? `${count} bytes` : count < 1_048_576 ? `${Math.round(count / 1024)} KB` :
        `${(count / 1_048_576).toFixed(1)} MB`
}

// MARK: One room

/** The room that is shown: its messages, and those on their way. */
class View {
    messages = new Map()
    outgoing = new Map()
    elements = new Map()
    first
    isLoading = false
    hasBeginning = false
    isAtEnd = true
    unseen = 0
    answered
    ended = false

    constructor(name) {
        this.name = name
        this.room = client.room(name, { tail: 40 })
        this.changes = new Changes()
        this.listeners = [
            this.room.on('opened', (event) => this.opened(event)),
            this.room.on('members', () => this.showStatus()),
            this.room.on('typing', () => this.showStatus()),
            this.room.on('receipt', () => this.showStates()),
            this.room.on('gap', ({ first, last }) => this.showGap(first, last)),
            this.room.on('outgoing', (event) => this.settled(event)),
            this.room.on('closed', ({ code, isFinal }) => {
                if (isFinal) showNotice(`The relay has closed the room: ${code}.`)
            }),
        ]
        $('messages').replaceChildren()
        $('pending').replaceChildren()
        $('beginning').hidden = true
        $('room-name').textContent = name
        this.showStatus()
        this.answer(undefined)
        void this.receive()
        void this.loadOutgoing().catch(() => undefined)
    }

    async close() {
        this.ended = true
        for (const end of this.listeners) end()
        await this.room.close()
    }

    async receive() {
        try {
            for await (const message of this.room.messages) {
                if (this.ended) return
                this.add(message, true)
            }
        } catch (error) {
            showNotice(`You cannot enter this room: ${error.code ?? error}.`)
        }
    }

    opened({ isReset, head }) {
        if (isReset) {
            this.messages.clear()
            this.elements.clear()
            $('messages').replaceChildren()
        }
        if (head === 0n) this.reachBeginning()
        this.showStatus()
    }

    reachBeginning() {
        this.hasBeginning = true
        $('beginning').hidden = false
    }

    /** The messages of this account that wait, also those of an earlier page. */
    async loadOutgoing() {
        for (const message of await this.room.outgoing()) this.addOutgoing(message)
    }

    add(message, isNew) {
        const target = this.changes.apply(message)
        if (target !== undefined) this.refresh(target)
        this.removeOutgoing(message)
        if (this.first === undefined || message.offset < this.first) this.first = message.offset
        if (this.first === 1n) this.reachBeginning()
        if (!shownKinds.includes(message.kind) || this.messages.has(message.offset)) return
        this.messages.set(message.offset, message)
        const shown = this.render(message)
        this.elements.set(message.offset, shown)
        if (isNew) {
            $('messages').append(shown)
            this.arrange(shown)
            this.follow(message)
        }
    }

    /** Scrolls with new messages if the end was shown; otherwise counts them. */
    follow(message) {
        const isOwn = message.sender === client.account
        if (this.isAtEnd || isOwn) {
            toEnd()
            if (document.visibilityState === 'visible') this.room.markRead(message.offset)
        } else {
            this.unseen++
            $('unread').textContent = this.unseen
        }
    }

    markRead() {
        const last = [...this.messages.keys()].at(-1)
        if (last !== undefined && this.isAtEnd && document.visibilityState === 'visible') this.room.markRead(last)
    }

    async loadEarlier() {
        if (this.isLoading || this.hasBeginning || this.first === undefined) return
        this.isLoading = true
        try {
            const page = await this.room.history({ before: this.first }, 50)
            if (this.ended) return
            if (page.length === 0) return this.reachBeginning()
            const scroller = $('scroller')
            const height = scroller.scrollHeight
            const earlier = new Map()
            for (const message of page) this.add(message, false)
            for (const message of page) if (this.messages.has(message.offset)) earlier.set(message.offset, message)
            for (const [offset, message] of this.messages) if (!earlier.has(offset)) earlier.set(offset, message)
            this.messages = earlier
            const added = page.map(({ offset }) => this.elements.get(offset)).filter(Boolean)
            $('messages').prepend(...added)
            for (const each of added) this.arrange(each)
            scroller.scrollTop += scroller.scrollHeight - height
        } catch { /* the next scrolling tries again */ } finally {
            this.isLoading = false
        }
    }

    // MARK: Rendering

    render(message) {
        const isOwn = message.sender === client.account
        const item = element('li', { className: `message ${isOwn ? 'own' : ''}` })
        item.style.setProperty('--hue', hue(message.sender))
        item.dataset.sender = message.sender
        item.dataset.at = message.acceptedAt
        item.dataset.offset = message.offset
        const { text, isDeleted, reactions: given } = this.changes.of(message)
        const more = element('button', { className: 'more', ariaLabel: 'Actions', title: 'Actions' }, icon('more'))
        more.onclick = () => this.showActions(message, more)
        item.append(avatar(message.sender), element('div', { className: 'bubble' },
            element('span', { className: 'sender', textContent: message.sender }),
            ...this.body(message, text, isDeleted || message.kind === Kind.erased), this.reactionRow(message, given),
            this.meta(message, text !== undefined)), more)
        return item
    }

    body(message, edited, isDeleted) {
        if (isDeleted) return [element('div', { className: 'text deleted', textContent: 'This message was deleted.' })]
        const parts = []
        let content
        try {
            content = parseMessage(message.kind, message.content)
        } catch { /* shown as a message of an unknown kind */ }
        if (message.kind === Kind.reply && content) {
            const { target } = content
            const original = this.messages.get(target.offset)
            parts.push(element('div', { className: 'quote',
                textContent: `${target.sender}: ${original?.text ?? 'an earlier message'}` }))
        }
        if (message.kind === Kind.attachment && content) parts.push(...this.file(content))
        const text = edited ?? message.text
        if (text !== undefined) {
            const isEmoji = emoji.test(text) && !/^[\d#*]+$/.test(text)
            parts.push(element('div', { className: `text ${isEmoji ? 'emoji' : ''}`, textContent: text }))
        }
        if (parts.length === 0) {
            parts.push(element('div', { className: 'text deleted', textContent: 'This message cannot be displayed.' }))
        }
        return parts
    }

    /** A file of the relay, which is downloaded on request. */
    file({ name = 'File', byteCount, digest, mediaType = '', data }) {
        const label = element('span', { textContent: `${name} (${bytesText(Number(byteCount))})` })
        const button = element('button', { className: 'file' }, icon('file'), label)
        const show = (bytes) => {
            const url = URL.createObjectURL(new Blob([bytes], { type: mediaType }))
            if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) {
                button.replaceWith(element('img', { src: url, alt: name, className: 'picture' }))
            } else {
                element('a', { href: url, download: name }).click()
            }
        }
        button.onclick = async () => {
            try {
                show(data ?? await this.room.download(digest, (count) => {
                    label.textContent = `${name} (${Math.round(count / Number(byteCount) * 100)} %)`
                }))
                label.textContent = name
            } catch (error) {
                label.textContent = `${name}: ${error.code ?? error}`
            }
        }
        return [button]
    }

    reactionRow(message, given) {
        if (given.length === 0) return undefined
        const counts = new Map()
        for (const [account, reaction] of given) counts.set(reaction, [...counts.get(reaction) ?? [], account])
        return element('div', { className: 'reactions' }, ...[...counts].map(([reaction, accounts]) => {
            const isOwn = accounts.includes(client.account)
            const button = element('button', {
                textContent: `${reaction} ${accounts.length}`, title: accounts.join(', '), ariaPressed: String(isOwn),
            })
            button.onclick = () => this.room.react(message, reaction, isOwn)
            return button
        }))
    }

    meta(message, isEdited) {
        const meta = element('div', { className: 'meta' })
        if (isEdited) meta.append('edited')
        meta.append(element('time', { textContent: time.format(message.acceptedAt) }))
        if (message.sender === client.account) meta.append(this.stateIcon(message.offset))
        return meta
    }

    stateIcon(offset) {
        const hasOther = (map) => [...map].some(([account, upTo]) => account !== client.account && upTo >= offset)
        if (hasOther(this.room.read)) return icon('read', 'Read')
        if (hasOther(this.room.delivered)) return icon('delivered', 'Delivered')
        return icon('accepted', 'Accepted by the relay')
    }

    showStates() {
        for (const [offset, message] of this.messages) {
            if (message.sender !== client.account) continue
            const state = this.elements.get(offset)?.querySelector('.meta > [role=img]')
            const next = this.stateIcon(offset)
            if (state && state.className !== next.className) state.replaceWith(next)
        }
    }

    refresh({ sender, device, counter }) {
        for (const [offset, message] of this.messages) {
            if (message.sender !== sender || message.device !== device || message.counter !== counter) continue
            const next = this.render(message)
            this.elements.get(offset).replaceWith(next)
            this.elements.set(offset, next)
            this.arrange(next)
        }
    }

    /** Marks the first and the last message of a sender, and begins each day. */
    arrange(item) {
        let after = item.nextElementSibling
        if (after?.classList.contains('day')) after = after.nextElementSibling
        for (const each of [item, item.previousElementSibling, after]) {
            if (!each?.classList.contains('message')) continue
            let before = each.previousElementSibling
            const dayText = day.format(Number(each.dataset.at))
            if (before?.classList.contains('day') && before.previousElementSibling?.classList.contains('message') &&
                day.format(Number(before.previousElementSibling.dataset.at)) === dayText) {
                before.remove()
                before = each.previousElementSibling
            }
            const known = before?.classList.contains('day') ? before.textContent :
                before?.dataset.at && day.format(Number(before.dataset.at))
            if (known !== dayText) {
                each.before(element('li', { className: 'day', textContent: dayText }))
                before = each.previousElementSibling
            }
            const isSame = (other) => other?.classList.contains('message') &&
                other.dataset.sender === each.dataset.sender &&
                Math.abs(other.dataset.at - each.dataset.at) < 300_000
            each.classList.toggle('first', !isSame(before))
            each.classList.toggle('last', !isSame(each.nextElementSibling))
        }
    }

    showGap(first, last) {
        const count = last - first + 1n
        $('messages').append(element('li', { className: 'gap',
            textContent: `${count} message${count === 1n ? ' is' : 's are'} no longer kept.` }))
    }

    showStatus() {
        const { members, typing } = this.room
        const others = [...typing].filter((account) => account !== client.account)
        const online = [...members].filter(([, presence]) => presence === 'online').map(([account]) => account)
        $('status').textContent = others.length > 0 ?
            `${others.join(', ')} ${others.length === 1 ? 'is' : 'are'} typing…` :
            online.length === 0 ? '' : `${online.length} online: ${online.join(', ')}`
    }

    // MARK: Sending

    addOutgoing(message) {
        if (![Kind.text, Kind.reply, Kind.attachment].includes(message.kind) || this.outgoing.has(message.key)) return
        if ([...this.messages.values()].some((each) => this.isSame(message, each))) return
        const state = message.state === 'failed' ? icon('failed', 'Not sent') : icon('sending', 'Sending')
        const item = element('li', { className: 'message own first last' },
            element('div', { className: 'bubble' },
                element('div', { className: 'text', textContent: message.text ?? 'File' }),
                element('div', { className: 'meta' }, state)))
        this.outgoing.set(message.key, { message, item })
        if (message.state === 'failed') this.offerRetry(message.key)
        $('pending').append(item)
        toEnd()
    }

    isSame(outgoing, message) {
        return message.sender === client.account && message.counter === outgoing.counter &&
            message.text === outgoing.text
    }

    removeOutgoing(received) {
        for (const [key, { message, item }] of this.outgoing) {
            if (!this.isSame(message, received)) continue
            item.remove()
            this.outgoing.delete(key)
        }
    }

    settled({ key, state, code }) {
        if (code === 'cancelled') this.discard(key)
        else if (state === 'failed' && this.outgoing.has(key)) this.offerRetry(key)
    }

    discard(key) {
        this.outgoing.get(key)?.item.remove()
        this.outgoing.delete(key)
    }

    offerRetry(key) {
        const { item } = this.outgoing.get(key)
        const retry = element('button', { textContent: 'Send again', className: 'plain' })
        const discard = element('button', { textContent: 'Discard', className: 'plain' })
        retry.onclick = async () => {
            const again = await this.room.retry(key)
            this.discard(key)
            if (again) this.addOutgoing(again)
        }
        discard.onclick = async () => {
            await this.room.cancel(key)
            this.discard(key)
        }
        item.querySelector('.meta').replaceChildren(icon('failed', 'Not sent'), 'Not sent', retry, discard)
    }

    async send(text) {
        const { answered } = this
        this.answer(undefined)
        this.room.setTyping(false)
        try {
            if (answered?.edits) await this.room.edit(answered.message, text)
            else this.addOutgoing(answered ? await this.room.reply(answered.message, text) : await this.room.send(text))
        } catch (error) {
            showNotice(`The message was not stored: ${error.code ?? error}.`)
            $('text').value = text
        }
    }

    async sendFile(file) {
        showNotice(`Sending ${file.name}…`)
        try {
            const sent = await this.room.sendFile(file, { name: file.name, mediaType: file.type }, (count) =>
                showNotice(`Sending ${file.name}: ${file.size === 0 ? 100 : Math.round(count / file.size * 100)} %`))
            this.addOutgoing(sent)
            showConnection()
        } catch (error) {
            showNotice(`${file.name} was not sent: ${error.code ?? error}.`)
        }
    }

    answer(answered) {
        this.answered = answered
        $('answering').hidden = answered === undefined
        if (answered === undefined) return
        const { message, edits } = answered
        $('answering').firstElementChild.textContent = edits ? 'Edit the message' :
            `Reply to ${message.sender}: ${message.text ?? ''}`
        if (edits) $('text').value = this.changes.of(message).text ?? message.text ?? ''
        $('text').focus()
    }

    showActions(message, anchor) {
        const menu = $('actions')
        const isOwn = message.sender === client.account
        const add = (label, action) => {
            const button = element('button', { textContent: label, role: 'menuitem' })
            button.onclick = () => {
                menu.hidePopover()
                action()
            }
            return button
        }
        const row = element('li', { className: 'row', role: 'none' })
        row.append(...reactions.map((reaction) => {
            const button = add(reaction, () => this.room.react(message, reaction))
            button.ariaLabel = `React with ${reaction}`
            return button
        }))
        menu.replaceChildren(row, add('Reply', () => this.answer({ message })),
            ...(message.text ? [add('Copy', () => navigator.clipboard.writeText(message.text))] : []),
            ...(isOwn && message.text ? [add('Edit', () => this.answer({ message, edits: true }))] : []),
            ...(isOwn ? [add('Delete', () => this.room.delete(message))] : []))
        menu.showPopover()
        const { left, right, top, bottom } = anchor.getBoundingClientRect()
        const { offsetWidth: width, offsetHeight: height } = menu
        menu.style.left = `${Math.max(8, Math.min(isOwn ? left : right - width, innerWidth - width - 8))}px`
        menu.style.top = `${bottom + height + 8 > innerHeight ? Math.max(8, top - height) : bottom}px`
        menu.querySelector('button').focus()
    }
}

// MARK: The list of rooms

const rooms = new Map()

async function loadRooms() {
    try {
        rooms.clear()
        for (const entry of await client.rooms()) rooms.set(entry.room, entry)
    } catch { /* a relay without a list of rooms */ }
    showRooms()
}

function showRooms() {
    const names = new Set([...rooms.values()].filter(({ membership }) => membership !== 'none').map(({ room }) => room))
    names.add(view.name)
    $('rooms').replaceChildren(...[...names].sort().map((name) => {
        const entry = rooms.get(name)
        const { last } = entry ?? {}
        let preview = ''
        try {
            const { text, name } = last ? parseMessage(last.kind, last.content) ?? {} : {}
            preview = last ? `${last.sender}: ${text ?? name ?? '…'}` : ''
        } catch { /* shown without text */ }
        const isCurrent = name === view.name
        const button = element('button', { ariaCurrent: String(isCurrent) }, avatar(name),
            element('span', { className: 'name', textContent: name }),
            element('span', { className: 'count', textContent: isCurrent ? '' : entry?.unread || '' }),
            element('span', { className: 'preview', textContent: entry?.membership === 'invited' ?
                `Invitation by ${entry.inviter}` : preview }))
        button.onclick = () => openRoom(name)
        return element('li', {}, button)
    }))
}

async function openRoom(name) {
    $('chat').classList.remove('shows-rooms')
    if (view?.name === name) return
    const old = view
    try {
        view = new View(name)
    } catch (error) {
        return showNotice(`The room was not opened: ${error.message}.`)
    }
    settings.room = name
    localStorage.setItem('martlet chat', JSON.stringify(settings))
    document.title = `${name} · Martlet chat`
    showRooms()
    await old?.close()
    client.setMembership('join', name).catch(() => undefined)
}

// MARK: The page

function toEnd() {
    const scroller = $('scroller')
    scroller.scrollTop = scroller.scrollHeight
}

function showNotice(text, action) {
    const notice = $('notice')
    notice.hidden = text === ''
    notice.replaceChildren(text)
    if (action) notice.append(action)
}

function showConnection(event) {
    const reason = event?.reason ? ` (${event.reason})` : ''
    if (client.state === 'online') return showNotice('')
    if (client.state !== 'stopped') {
        return showNotice('You are offline. Messages are sent when the connection is back.')
    }
    const isStorage = event?.code === 'storageUnavailable'
    const again = element('button', { textContent: 'Try again' })
    again.onclick = () => isStorage ? location.reload() : client.connect()
    showNotice(isStorage ? 'The browser has no storage for the messages, or has deleted it.' :
        `The relay has refused the connection: ${event?.code ?? ''}${reason}`, again)
}

function begin() {
    const { account, token, url, room } = settings
    client = new Client({ account, url, agent: 'martlet-webchat', ...(token ? { token } : {}) })
    try {
        client.room(room, { tail: 40 })
    } catch (error) {
        void client.close()
        throw error
    }
    $('sign-in').hidden = true
    $('chat').hidden = false
    $('my-name').textContent = account
    $('me').replaceWith(Object.assign(avatar(account), { id: 'me' }))
    let timer
    client.on('state', (event) => {
        // A short interruption is not worth a notice.
        clearTimeout(timer)
        if (event.state === 'online' || event.state === 'stopped') showConnection(event)
        else timer = setTimeout(() => showConnection(event), 1_500)
    })
    client.on('rooms', (entry) => {
        if (entry === undefined) return void loadRooms()
        rooms.set(entry.room, entry)
        showRooms()
    })
    void openRoom(room)
    void loadRooms()
}

$('sign-in-form').onsubmit = (event) => {
    event.preventDefault()
    Object.assign(settings, Object.fromEntries(new FormData(event.target)))
    try {
        begin()
        localStorage.setItem('martlet chat', JSON.stringify(settings))
    } catch (error) {
        $('sign-in-error').textContent = error.message
    }
}
$('sign-out').onclick = async () => {
    await client.close()
    localStorage.removeItem('martlet chat')
    location.reload()
}
$('join-form').onsubmit = (event) => {
    event.preventDefault()
    void openRoom($('join-name').value.trim())
    $('join-name').value = ''
}
$('back').onclick = () => $('chat').classList.add('shows-rooms')
$('to-end').onclick = toEnd
$('answering').querySelector('button').onclick = () => view.answer(undefined)
$('composer').onsubmit = (event) => {
    event.preventDefault()
    const text = $('text').value.trim()
    if (text === '') return
    $('text').value = ''
    void view.send(text)
}
$('text').onkeydown = (event) => {
    if (event.key === 'Escape') view.answer(undefined)
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    $('composer').requestSubmit()
}
$('text').oninput = () => view.room.setTyping($('text').value !== '')
$('file').onchange = () => {
    const [file] = $('file').files
    if (file) void view.sendFile(file)
    $('file').value = ''
}
$('scroller').onscroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = $('scroller')
    view.isAtEnd = scrollHeight - scrollTop - clientHeight < 60
    $('to-end').hidden = view.isAtEnd
    if (view.isAtEnd) {
        view.unseen = 0
        $('unread').textContent = ''
        view.markRead()
    }
    if (scrollTop < 300) void view.loadEarlier()
}
document.addEventListener('visibilitychange', () => view?.markRead())
// What is shown at the end stays at the end when the page or its contents change their size.
const sizes = new ResizeObserver(() => view?.isAtEnd && toEnd())
for (const id of ['scroller', 'messages', 'pending']) sizes.observe($(id))

const form = $('sign-in-form')
form.elements.url.value = settings.url ?? `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/martlet`
form.elements.room.value = settings.room ?? new URLSearchParams(location.search).get('room') ?? 'lobby'
if (settings.account) begin()
else {
    $('sign-in').hidden = false
    form.elements.account.focus()
}
