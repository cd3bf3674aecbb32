import MartletProtocol
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// Where a hostile peer performs: against the engine in virtual time, or against a relay on real sockets.
enum Venue: CaseIterable, Sendable, CustomTestStringConvertible {
    case engine
    case socket

    var testDescription: String {
        switch self {
        case .engine: "engine in virtual time"
        case .socket: "relay on sockets"
        }
    }

    /// Runs a relay, and hands out what connects to it.
    ///
    /// In virtual time deadlines are the defaults, and can be measured. On sockets there are none but those that
    /// `shorten` makes short, because a test waits for them.
    func play(
        _ adjust: (inout RelayConfiguration) -> Void = { _ in }, shorten: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (Stage) async throws -> Void
    ) async throws {
        var configuration = self == .engine ? RelayConfiguration() : .patient
        adjust(&configuration)
        switch self {
        case .engine:
            try await body(.engine(VirtualHall(configuration)))
        case .socket:
            shorten(&configuration)
            let log = EventLog()
            try await withRelay(configuration, onEvent: log.note) { relay, port in
                try await body(.socket(relay, port, log))
            }
        }
    }
}

/// A running relay at a venue.
enum Stage {
    case engine(VirtualHall)
    case socket(Relay, UInt16, EventLog)

    func connect() async throws -> any Peer {
        switch self {
        case .engine(let hall): hall.connect()
        case .socket(_, let port, _): try await WirePeer.connect(to: port)
        }
    }

    /// A peer with a link and the room "lobby" open on its first session.
    func member(_ account: String = "alice", device: UInt64 = 1, limits: Limits = Limits()) async throws -> any Peer {
        let peer = try await connect()
        try await peer.hello(Speaker.hello(account, device: device, limits: limits))
        try await peer.open()
        return peer
    }

    var statistics: RelayStatistics {
        get async {
            switch self {
            case .engine(let hall): hall.engine.statistics
            case .socket(let relay, _, _): await relay.statistics
            }
        }
    }

    /// Why the relay ended connections, in its own words.
    var faults: [ErrorCode] {
        let notes: [RelayNote] =
            switch self {
            case .engine(let hall): hall.notes
            case .socket(_, _, let log): log.notes
            }
        return notes.compactMap { if case .faulted(let code) = $0 { code } else { nil } }
    }

    /// Messages that the relay has stored.
    var storedCount: UInt64 { get async { await statistics.messagesStored } }
}

extension Peer {
    /// What the engine holds of the peer's bytes; nil where nobody can look.
    func heldByteCount(at stage: Stage) -> Int? {
        guard case .engine(let hall) = stage, let peer = self as? VirtualPeer else { return nil }
        return hall.heldByteCount(of: peer)
    }
}
