import MartletLink
package import MartletWire

/// A room without its messages, as it is copied to another store.
package struct TransferredRoom: Equatable, Sendable {
    package struct Device: Equatable, Sendable {
        package var record: DeviceRecord
        package var lastOffset: UInt64

        package init(record: DeviceRecord, lastOffset: UInt64) {
            self.record = record
            self.lastOffset = lastOffset
        }
    }

    package let name: RoomName
    package let log: LogID
    package let firstOffset: UInt64
    package let lastOffset: UInt64
    /// The size of the bodies of its messages.
    package let byteCount: Int
    package var usedAt: UInt64
    package var branches: [LogID: UInt64] = [:]
    package var devices: [DeviceKey: Device] = [:]
    package var progress: [AccountName: AccountProgress] = [:]

    package init(
        name: RoomName, log: LogID, firstOffset: UInt64, lastOffset: UInt64, byteCount: Int, usedAt: UInt64
    ) {
        self.name = name
        self.log = log
        self.firstOffset = firstOffset
        self.lastOffset = lastOffset
        self.byteCount = byteCount
        self.usedAt = usedAt
    }

    /// Whether the messages are the same: an erasure changes the last offset or the size.
    package func hasSameMessages(as other: TransferredRoom) -> Bool {
        log == other.log && firstOffset == other.firstOffset && lastOffset == other.lastOffset
            && byteCount == other.byteCount
    }
}

/// A record of a store that outlives the log of its room.
package enum TransferredRecord: Equatable, Sendable {
    case roles(RoomName, [UInt8], creator: AccountName?, version: UInt64)
    case membership(RoomName, AccountName, MembershipRecord)
    case retention(RoomName, RoomRetention)

    /// The record without what only stores of several relays keep.
    fileprivate var common: TransferredRecord {
        guard case .roles(let room, let roles, let creator, _) = self else { return self }
        return .roles(room, roles, creator: creator, version: 0)
    }
}

/// The parts of a store with records of one kind.
package enum TransferredPart: String, CaseIterable, Sendable {
    case roles, memberships, retention
}

/// An error of a copy from one store to another.
package enum StoreTransferError: Error, Equatable, Sendable {
    /// The destination has rooms, and is not a copy of this source that no relay has used.
    case notEmpty
    /// The store is an incomplete copy of this source.
    case incomplete(source: String)
    /// The source has lost roles with a damaged file, which a destination could not state.
    case lostRoles
    /// Both stores are the same.
    case sameStore
}

extension StoreTransferError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notEmpty: "the destination has rooms, and is not a copy of this source that no relay has used"
        case .incomplete(let source):
            "the store is an incomplete copy of \(source); repeat 'martlet store copy' until it ends"
        case .lostRoles: "the source has lost roles: run 'martlet store reset-roles', or restore a backup"
        case .sameStore: "the source and the destination are the same store"
        }
    }
}

/// A store that is read room by room. A relay may use it meanwhile: each room is that of one instant.
package protocol TransferSource: AnyObject {
    /// The name of the store, which its copies keep.
    var identity: String { get }
    /// The next rooms in the order of their names; none at the end.
    nonisolated(nonsending) func rooms(after room: RoomName?) async throws -> [RoomName]
    /// Begins to read a room; nil if there is none, and nothing has begun.
    nonisolated(nonsending) func begin(_ room: RoomName) async throws -> TransferredRoom?
    /// Messages of the room that was begun, from an offset on; none behind the last offset.
    nonisolated(nonsending) func messages(from offset: UInt64) async throws -> [LogEntry]
    /// Ends the reading of the room.
    nonisolated(nonsending) func end() async throws
    /// The next records of a part in the order of their keys; none at the end.
    nonisolated(nonsending) func records(
        of part: TransferredPart, after last: TransferredRecord?
    ) async throws -> [TransferredRecord]
    nonisolated(nonsending) func close() async
}

/// A store that becomes a copy. No relay uses it.
///
/// | state of the store | a relay | a further copy |
/// |---|---|---|
/// | empty | opens it | begins |
/// | incomplete copy | is refused | of the same source continues |
/// | complete copy | opens it, and it is a copy no more | of the same source brings it up to date |
/// | in use, or with rooms | opens it | is refused |
package protocol TransferDestination: TransferSource {
    /// Makes the store an incomplete copy of a source, and removes bounds of rooms, which would trim the copy.
    ///
    /// - Throws: `StoreTransferError.notEmpty`.
    nonisolated(nonsending) func beginCopy(of source: String) async throws
    /// Begins the transaction of a room. Its messages are added, or kept.
    nonisolated(nonsending) func beginRoom(_ room: TransferredRoom, keepsMessages: Bool) async throws
    nonisolated(nonsending) func add(_ messages: [LogEntry]) async throws
    nonisolated(nonsending) func endRoom() async throws
    nonisolated(nonsending) func remove(_ room: RoomName) async throws
    /// Begins the transaction of a part, and removes its records.
    nonisolated(nonsending) func beginPart(_ part: TransferredPart) async throws
    nonisolated(nonsending) func add(_ records: [TransferredRecord]) async throws
    nonisolated(nonsending) func endPart() async throws
    /// Makes the store a complete copy.
    nonisolated(nonsending) func endCopy() async throws
}

/// A copy of all rooms of a store, with the identities of their logs, to a store of another kind or place.
///
/// A room is one transaction of the destination. A copy that ends early is continued by the next one: rooms that have
/// not changed are skipped.
package enum StoreTransfer {
    package struct Report: Equatable, Sendable {
        package var roomCount = 0
        /// The rooms whose messages were copied; the others had them already.
        package var copiedCount = 0
        package var removedCount = 0
        package var messageCount = 0
        package var recordCount = 0

        package init() {}
    }

    /// The maximum number of differences that are reported.
    private static let maxDifferenceCount = 100

    /// Copies what the destination does not have.
    nonisolated(nonsending) package static func copy(
        from source: any TransferSource, to destination: any TransferDestination
    ) async throws -> Report {
        guard source.identity != destination.identity else { throw StoreTransferError.sameStore }
        try await destination.beginCopy(of: source.identity)
        var report = Report()
        var names = NamePairs(source, destination)
        while let pair = try await names.next() {
            guard let name = pair.source else {
                if let extra = pair.destination { try await destination.remove(extra) }
                report.removedCount += 1
                continue
            }
            report.roomCount += 1
            try await copy(name, exists: pair.destination != nil, source, destination, &report)
        }
        for part in TransferredPart.allCases {
            try await destination.beginPart(part)
            var last: TransferredRecord?
            while case let page = try await source.records(of: part, after: last), !page.isEmpty {
                try await destination.add(page)
                report.recordCount += page.count
                last = page.last
            }
            try await destination.endPart()
        }
        try await destination.endCopy()
        return report
    }

    nonisolated(nonsending) private static func copy(
        _ name: RoomName, exists: Bool, _ source: any TransferSource, _ destination: any TransferDestination,
        _ report: inout Report
    ) async throws {
        var existing: TransferredRoom?
        if exists {
            existing = try await destination.begin(name)
            if existing != nil { try await destination.end() }
        }
        // A relay may have removed the room meanwhile; the next copy notices it.
        guard let room = try await source.begin(name) else { return }
        if room != existing {
            let keepsMessages = existing?.hasSameMessages(as: room) == true
            try await destination.beginRoom(room, keepsMessages: keepsMessages)
            if !keepsMessages {
                report.copiedCount += 1
                var next = room.firstOffset
                while case let page = try await source.messages(from: next), !page.isEmpty {
                    try await destination.add(page)
                    report.messageCount += page.count
                    next += UInt64(page.count)
                }
            }
            try await destination.endRoom()
        }
        try await source.end()
    }

    /// Reads both stores, and returns how they differ.
    nonisolated(nonsending) package static func differences(
        _ source: any TransferSource, _ destination: any TransferSource
    ) async throws -> [String] {
        var found: [String] = []
        var names = NamePairs(source, destination)
        while found.count < maxDifferenceCount, let pair = try await names.next() {
            guard let name = pair.source else {
                found.append("room \(pair.destination?.text ?? "") is in the destination only")
                continue
            }
            let (room, copy) = (try await source.begin(name), try await destination.begin(name))
            if let room, let copy {
                if let text = try await difference(room, copy, source, destination) { found.append(text) }
            } else if room != nil {
                found.append("room \(name) is missing")
            }
            if room != nil { try await source.end() }
            if copy != nil { try await destination.end() }
        }
        for part in TransferredPart.allCases where try await !areEqual(part, source, destination) {
            found.append("the \(part.rawValue) differ")
        }
        return found
    }

    /// Whether both stores have the same records of a part, which they read in pages of different sizes.
    nonisolated(nonsending) private static func areEqual(
        _ part: TransferredPart, _ source: any TransferSource, _ destination: any TransferSource
    ) async throws -> Bool {
        var (own, others): ([TransferredRecord], [TransferredRecord]) = ([], [])
        var last: TransferredRecord?
        while true {
            if own.isEmpty { own = try await source.records(of: part, after: last) }
            if others.isEmpty { others = try await destination.records(of: part, after: last) }
            let count = min(own.count, others.count)
            guard count > 0 else { return own.isEmpty && others.isEmpty }
            guard own[..<count].map(\.common) == others[..<count].map(\.common) else { return false }
            last = own[count - 1]
            own.removeFirst(count)
            others.removeFirst(count)
        }
    }

    nonisolated(nonsending) private static func difference(
        _ room: TransferredRoom, _ copy: TransferredRoom, _ source: any TransferSource,
        _ destination: any TransferSource
    ) async throws -> String? {
        guard room.hasSameMessages(as: copy) else { return "the log of room \(room.name) differs" }
        var (own, others): ([LogEntry], [LogEntry]) = ([], [])
        var next = room.firstOffset
        while next <= room.lastOffset {
            if own.isEmpty { own = try await source.messages(from: next) }
            if others.isEmpty { others = try await destination.messages(from: next) }
            let count = min(own.count, others.count)
            guard count > 0, StoredBatch.encode(own[..<count]) == StoredBatch.encode(others[..<count]) else {
                return "the messages of room \(room.name) differ from offset \(next) on"
            }
            next += UInt64(count)
            own.removeFirst(count)
            others.removeFirst(count)
        }
        var equal = copy
        equal.usedAt = room.usedAt
        return room == equal ? nil : "the devices, marks or branches of room \(room.name) differ"
    }
}

/// The names of the rooms of two stores, in their order, with those that both have together.
private struct NamePairs {
    private struct Names {
        let store: any TransferSource
        var page: ArraySlice<RoomName> = []
        var last: RoomName?
        var isEnded = false

        nonisolated(nonsending) mutating func first() async throws -> RoomName? {
            if page.isEmpty, !isEnded {
                page = try await store.rooms(after: last)[...]
                last = page.last
                isEnded = page.isEmpty
            }
            return page.first
        }
    }

    private var (source, destination): (Names, Names)

    init(_ source: any TransferSource, _ destination: any TransferSource) {
        (self.source, self.destination) = (Names(store: source), Names(store: destination))
    }

    nonisolated(nonsending) mutating func next() async throws -> (source: RoomName?, destination: RoomName?)? {
        let (first, second) = (try await source.first(), try await destination.first())
        guard first != nil || second != nil else { return nil }
        let order = first.flatMap { first in second.map { first < $0 ? -1 : $0 < first ? 1 : 0 } }
        let (takesFirst, takesSecond) = (first != nil && order != 1, second != nil && order != -1)
        if takesFirst { source.page.removeFirst() }
        if takesSecond { destination.page.removeFirst() }
        return (takesFirst ? first : nil, takesSecond ? second : nil)
    }
}
