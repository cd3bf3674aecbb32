// Events with types.

import { guarded } from '../client/report.js'

/** Calls handlers of events by their names. */
export class Emitter<Events extends object> {
    private readonly handlers = new Map<keyof Events, Set<(event: never) => void>>()

    /**
     * Calls the handler with each later event of this name. An error of a handler is reported like one that nothing has
     * caught. Returns a function that ends that.
     */
    on<Name extends keyof Events>(name: Name, handler: (event: Events[Name]) => void): () => void {
        const handlers = this.handlers.get(name) ?? new Set()
        this.handlers.set(name, handlers.add(handler as (event: never) => void))
        return () => {
            handlers.delete(handler as (event: never) => void)
        }
    }

    protected emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
        for (const handler of [...this.handlers.get(name) ?? []]) {
            guarded(() => (handler as (event: Events[Name]) => void)(event))
        }
    }
}
