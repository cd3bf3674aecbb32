import Foundation
import Martlet
import MartletTransport

/// An account of a soak, which has one client at a time. Each client sends messages, reads the room and ends; the next
/// one is of the same device, and its outbox contains the unaccepted messages.
final class SoakMember: Sendable {
    /// The number of bytes of a message. The size ensures that a room's log soon reaches its bound.
    static let textByteCount = 1000

    private struct State: Sendable {
        var ledger = SoakLedger()
        var sentCount = 0
        var clientCount = 0
        var reconnects: UInt64 = 0
    }

    let number: Int
    let room: Int
    private let endpoint: String
    private let pause: Duration
    private let loop: EventLoop
    private let outbox = InMemoryOutbox()
    private let state = Guarded(State())

    init(number: Int, room: Int, endpoint: String, pause: Duration, on loop: EventLoop) {
        self.number = number
        self.room = room
        self.endpoint = endpoint
        self.pause = pause
        self.loop = loop
    }

    var ledger: SoakLedger { state.withLock(\.ledger) }
    var sentCount: Int { state.withLock(\.sentCount) }
    var clientCount: Int { state.withLock(\.clientCount) }
    var reconnects: UInt64 { state.withLock(\.reconnects) }

    /// Runs clients one after the other. The member sends until `end`, and only reads thereafter.
    func live(until end: ContinuousClock.Instant, lifetime: ClosedRange<Int>) async throws {
        while ContinuousClock.now < end {
            let age = Duration.seconds(Int.random(in: lifetime))
            try await live(until: min(end, .now + age), isSending: true)
        }
    }

    /// Reads to the last offset of the room, or until a deadline.
    func listen(upTo lastOffset: UInt64, until deadline: ContinuousClock.Instant) async throws {
        guard ledger.lastOffset < lastOffset else { return }
        try await live(until: deadline, isSending: false, upTo: lastOffset)
    }

    func finish(lastOffset: UInt64) {
        state.withLock { $0.ledger.finish(lastOffset: lastOffset) }
    }

    private func live(
        until end: ContinuousClock.Instant, isSending: Bool, upTo lastOffset: UInt64 = .max
    ) async throws {
        let client = try Client(to: endpoint, as: .anonymous("member-\(number)"), outbox: outbox, on: loop)
        try await client.start()
        let options = Room.Options(from: .cursor(ledger.lastOffset), includesOwnMessages: true, waitsForRelay: false)
        let room = try await client.open(room: "room-\(room)", options: options)
        let reader = Task {
            for try await message in room.messages {
                record(message)
                if message.offset >= lastOffset { break }
            }
        }
        if isSending {
            while ContinuousClock.now < end {
                try await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
                try await send(in: room)
            }
        } else {
            let timer = Task {
                try await Task.sleep(until: end)
                reader.cancel()
            }
            _ = await reader.result
            timer.cancel()
        }
        await client.stop()
        _ = await reader.result
        let metrics = await client.metrics
        state.withLock { state in
            state.clientCount += 1
            state.reconnects += UInt64(metrics["martlet_client_reconnects"] ?? 0)
        }
    }

    private func send(in room: Room) async throws {
        let next = sentCount + 1
        let head = "\(number) \(next) "
        try await room.send(head + String(repeating: "x", count: Self.textByteCount - head.utf8.count))
        state.withLock { $0.sentCount = next }
    }

    private func record(_ message: RoomMessage) {
        let words = message.text?.split(separator: " ", maxSplits: 2) ?? []
        let numbers = words.prefix(2).map { Int($0) }
        state.withLock { state in
            state.ledger.record(
                offset: message.offset, sender: numbers.first ?? nil, number: numbers.count > 1 ? numbers[1] : nil)
        }
    }
}
