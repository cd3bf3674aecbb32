// What changes make of a message (messages.md section 2).

import { Kind } from '../wire/registry.generated.js'
import type { StoredMessage } from '../client/events.js'
import { type Content, parseMessage, type Target } from './contents.js'

/** A message, with the changes that count. */
export interface Changed {
    /** The text of the latest edit, if there is one. */
    text: string | undefined
    isDeleted: boolean
    /** Account and reaction, in the order of the offsets. */
    reactions: [string, string][]
}

interface State {
    editOffset: bigint
    text: string | undefined
    isDeleted: boolean
    reactions: Map<string, { account: string, reaction: string, offset: bigint, isRemoved: boolean }>
}

const kinds: readonly number[] = [Kind.edit, Kind.delete_, Kind.reaction]
/** Bounds of M-12 and M-13. */
const most = { reactions: 1_024, targets: 4_096 }
const identity = ({ sender, device, counter }: Pick<Target, 'sender' | 'device' | 'counter'>): string =>
    `${device} ${counter} ${sender}`

/** The changes of the messages of a room, in any order, also before their targets (M-10, M-13). */
export class Changes {
    private readonly states = new Map<string, State>()

    /** @param isModerator whether the application regards an account as a moderator (M-9) */
    constructor(private readonly isModerator: (account: string) => boolean = () => false) { }

    /** Applies a message if it is a change. Returns its target, or undefined if it is no change that counts. */
    apply(message: StoredMessage): Target | undefined {
        if (!kinds.includes(message.kind)) return undefined
        let content: Content | undefined
        try {
            content = parseMessage(message.kind, message.content)
        } catch {
            return undefined
        }
        const target = content?.target
        if (content === undefined || target === undefined) return undefined
        const isOwn = message.sender === target.sender
        const counts = message.kind === Kind.reaction || isOwn ||
            (message.kind === Kind.delete_ && this.isModerator(message.sender))
        if (!counts) return undefined
        const state = this.state(identity(target))
        if (message.kind === Kind.delete_) {
            state.isDeleted = true
        } else if (message.kind === Kind.edit) {
            if (message.offset > state.editOffset) {
                state.editOffset = message.offset
                state.text = content.text
            }
        } else {
            this.react(state, message, content)
        }
        return target
    }

    /** The result for a message (M-11, M-12). */
    of(message: Pick<StoredMessage, 'sender' | 'device' | 'counter'>): Changed {
        const state = this.states.get(identity(message))
        if (state === undefined) return { text: undefined, isDeleted: false, reactions: [] }
        if (state.isDeleted) return { text: undefined, isDeleted: true, reactions: [] }
        const shown = [...state.reactions.values()].filter(({ isRemoved }) => !isRemoved)
        shown.sort((a, b) => a.offset < b.offset ? -1 : 1)
        return {
            text: state.text, isDeleted: false,
            reactions: shown.map(({ account, reaction }) => [account, reaction]),
        }
    }

    private state(key: string): State {
        let state = this.states.get(key)
        if (state === undefined) {
            state = { editOffset: 0n, text: undefined, isDeleted: false, reactions: new Map() }
            this.states.set(key, state)
            if (this.states.size > most.targets) {
                const [oldest] = this.states.keys()
                this.states.delete(oldest!)
            }
        }
        return state
    }

    /** Of the reactions with the same account and bytes, the highest offset counts; it is shown where it began. */
    private react(state: State, { sender: account, offset }: StoredMessage, { reaction = '', removed }: Content): void {
        const key = `${reaction} ${account}`
        const known = state.reactions.get(key)
        if (known !== undefined && known.offset > offset) return
        state.reactions.set(key, { account, reaction, offset, isRemoved: removed === true })
        if (state.reactions.size <= most.reactions) return
        const lowest = [...state.reactions].reduce((a, b) => a[1].offset < b[1].offset ? a : b)
        state.reactions.delete(lowest[0])
    }
}
