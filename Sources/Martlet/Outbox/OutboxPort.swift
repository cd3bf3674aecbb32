/// An outbox with or without a queue of operations.
enum OutboxPort {
    case immediate(any ImmediateOutbox)
    case queued(OutboxWriter)

    /// Stores changes other than messages and edits.
    func commit(_ body: (inout OutboxTransaction) -> Void) {
        switch self {
        case .immediate(let outbox):
            var transaction = OutboxTransaction()
            body(&transaction)
            outbox.commit(transaction)
        case .queued(let writer): writer.add { body(&$0.rest) }
        }
    }

    func retry() {
        if case .queued(let writer) = self { writer.retry() }
    }

    func abandon() {
        if case .queued(let writer) = self { writer.abandon() }
    }

    var hasOutcomes: Bool {
        if case .queued(let writer) = self { writer.hasOutcomes } else { false }
    }

    /// The queue of operations; nil for an immediate outbox.
    var writer: OutboxWriter? {
        if case .queued(let writer) = self { writer } else { nil }
    }

    var isIdle: Bool {
        switch self {
        case .immediate: true
        case .queued(let writer): writer.isIdle
        }
    }
}
