import Martlet
import MartletAuthentication
import MartletToolSupport

/// A line that `martlet send` has queued.
struct SentLine: Sendable {
    /// What became of a line.
    enum Outcome: Equatable, Sendable {
        /// The relay has accepted the message at this offset; 0 if the room no longer retains it.
        case accepted(offset: UInt64)
        /// The message will not be accepted.
        case failed(reason: String)

        /// Adds the line to the counts of its command.
        func add(_ line: SentLine, to counts: inout TransferMonitor.Counts) {
            switch self {
            case .accepted:
                counts.accepted += 1
                counts.acceptedByteCount += line.byteCount
            case .failed: counts.failed += 1
            }
        }
    }

    private let handle: MessageHandle
    private let content: LineContent?
    private let byteCount: Int
    /// When the line was read, in milliseconds since 1970; nil if an earlier command has read it.
    private let queuedAt: UInt64?

    init(_ handle: MessageHandle, _ content: LineContent, byteCount: Int, queuedAt: UInt64) {
        self.handle = handle
        self.content = content
        self.byteCount = byteCount
        self.queuedAt = queuedAt
    }

    /// A line of an earlier command, which the outbox has kept.
    init(earlier handle: MessageHandle) {
        self.handle = handle
        content = handle.content.flatMap { LineContent(kind: $0.kind, content: $0.bytes) }
        byteCount = 0
        queuedAt = nil
    }

    /// Waits for the outcome.
    ///
    /// - Throws: The errors of `MessageHandle.accepted()`, except `notAccepted`.
    nonisolated(nonsending) func outcome() async throws -> Outcome {
        do {
            return .accepted(offset: try await handle.accepted())
        } catch let error as MartletError where error.code == .notAccepted {
            return .failed(reason: CommandError(error).message)
        }
    }

    /// The outcome as a JSON object, at a time in milliseconds since 1970.
    func json(_ outcome: Outcome, at time: UInt64) -> JSONLine {
        let id = handle.id
        var members: [JSONLine.Member] = []
        switch outcome {
        case .accepted(let offset):
            members.append(.init("outcome", .string("accepted")))
            if offset > 0 { members.append(.init("offset", .count(offset))) }
        case .failed(let reason):
            members += [.init("outcome", .string("failed")), .init("reason", .string(reason))]
        }
        members += [
            .init("device", .string(String(id.device.rawValue, radix: 16))), .init("counter", .count(id.counter)),
        ]
        if let queuedAt { members.append(.init("queuedAt", .count(queuedAt))) }
        members.append(.init("time", .count(time)))
        switch content {
        case .text(let text)?: members.append(.init("text", .string(text)))
        case .bytes(let bytes)?: members.append(.init("data", .string(Base64.encode(bytes, .standard))))
        case nil: break
        }
        return .object(members)
    }
}
