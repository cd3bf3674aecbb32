import MartletLink
import MartletWire

/// The commands of the relay's application to a room that have no result.
///
/// | state of a command | owns | ends |
/// |---|---|---|
/// | waiting | the command | `takeWaiting`, when the room is loaded |
/// | deciding | a place in the room's operations, with roles | `finish`; the message, or the record, as below |
/// | published | the offset of its message | `takePublished`, when the message is durable or discarded |
/// | removing | the account whose record is removed | `takeRemoved`, when the store has answered |
/// | saving | a place in the order of the saves | `takeSaved`, when the store has answered |
///
/// A room that leaves memory ends all of them.
struct RoomCommands: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RoomCommands>()
    /// Commands of the relay's application to a room without a result, beyond which others are refused.
    static let maxCount = 1_024
    /// Bytes of a command in memory, with objects, a content excluded.
    private static let commandByteCount = 256

    private enum State: Sendable {
        case waiting
        case deciding
        case published(UInt64)
        case removing(AccountName)
        case saving
    }

    private struct Entry: Sendable {
        let call: RoomCommandCall
        var state: State
    }

    private var entries: [Entry] = []
    private var contentByteCount = 0

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= Self.maxCount }
    var byteCount: Int { entries.count * Self.commandByteCount + contentByteCount }

    mutating func append(_ call: RoomCommandCall) {
        contentByteCount += call.contentByteCount
        entries.append(Entry(call: call, state: .waiting))
    }

    /// Takes the waiting commands in their order, which are decided now.
    mutating func takeWaiting() -> [RoomCommandCall] {
        var taken: [RoomCommandCall] = []
        for index in entries.indices {
            guard case .waiting = entries[index].state else { continue }
            entries[index].state = .deciding
            taken.append(entries[index].call)
        }
        return taken
    }

    /// The message of a command has an offset.
    mutating func publish(_ id: UInt64, at offset: UInt64) { setState(.published(offset), of: id) }

    /// The membership record of an account is removed by a command.
    mutating func remove(_ account: AccountName, _ id: UInt64) { setState(.removing(account), of: id) }

    /// The number of calls of the store without an answer.
    var savingCount: Int { entries.count(where: { if case .saving = $0.state { true } else { false } }) }

    /// The store saves what a command has set. It answers the saves of a room in their order.
    mutating func save(_ id: UInt64) { setState(.saving, of: id) }

    private mutating func setState(_ state: State, of id: UInt64) {
        if let index = entries.firstIndex(where: { $0.call.id == id }) { entries[index].state = state }
    }

    /// A command has a result.
    mutating func finish(_ id: UInt64) { _ = take { $0.call.id == id } }

    /// Takes the commands whose messages have offsets up to this one.
    mutating func takePublished(upTo offset: UInt64) -> [(call: RoomCommandCall, offset: UInt64)] {
        take { if case .published(let own) = $0.state { own <= offset } else { false } }.compactMap {
            if case .published(let own) = $0.state { ($0.call, own) } else { nil }
        }
    }

    /// Messages of commands have other offsets, because other relays have appended messages before them.
    mutating func move(_ moved: [UInt64: UInt64]) {
        for index in entries.indices {
            guard case .published(let offset) = entries[index].state, let other = moved[offset] else { continue }
            entries[index].state = .published(other)
        }
    }

    /// The accounts whose records commands remove.
    var removedAccounts: [AccountName] {
        entries.compactMap { if case .removing(let account) = $0.state { account } else { nil } }
    }

    /// Takes the commands that remove records, except those of accounts whose removal is not concluded.
    mutating func takeRemoved(except pending: [AccountName]) -> [(call: RoomCommandCall, account: AccountName)] {
        take { if case .removing(let account) = $0.state { !pending.contains(account) } else { false } }.compactMap {
            if case .removing(let account) = $0.state { ($0.call, account) } else { nil }
        }
    }

    /// Takes the first command that saves.
    mutating func takeSaved() -> RoomCommandCall? {
        let first = entries.first { if case .saving = $0.state { true } else { false } }
        return first.flatMap { first in take { $0.call.id == first.call.id }.first?.call }
    }

    /// Takes all commands.
    mutating func takeAll() -> [RoomCommandCall] { take { _ in true }.map(\.call) }

    private mutating func take(where isTaken: (Entry) -> Bool) -> [Entry] {
        let taken = entries.filter(isTaken)
        guard !taken.isEmpty else { return [] }
        entries.removeAll(where: isTaken)
        for entry in taken { contentByteCount -= entry.call.contentByteCount }
        return taken
    }

    /// Checks that every command has a result.
    func check(_ check: inout QuiescenceCheck) {
        check.empty("commands without a result", count: entries.count)
    }
}

extension RoomCommandCall {
    fileprivate var contentByteCount: Int {
        switch command {
        case .publish(let content): content.byteCount
        case .erase(let messages): messages.count * 256
        case .remove, .close, .operate, .retain, .describe: 0
        }
    }
}
