import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// The relay of a test: an engine in virtual time, or a relay on sockets.
enum RelayBackend: CaseIterable, Sendable, CustomTestStringConvertible {
    case engine
    case socket

    var testDescription: String {
        switch self {
        case .engine: "engine in virtual time"
        case .socket: "relay on sockets"
        }
    }

    /// Runs a relay and passes its fixture to `body`.
    ///
    /// In virtual time the timeouts are the defaults and can be measured. On sockets only the timeouts set by `shorten`
    /// can expire.
    func run(
        _ adjust: (inout RelayConfiguration) -> Void = { _ in }, shorten: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (RelayFixture) async throws -> Void
    ) async throws {
        var configuration = self == .engine ? RelayConfiguration() : .withoutTimeouts
        adjust(&configuration)
        switch self {
        case .engine:
            try await body(.engine(EngineFixture(configuration)))
        case .socket:
            shorten(&configuration)
            let log = EventLog()
            try await withRelay(configuration, onEvent: log.note) { relay, port in
                try await body(.socket(relay, port, log))
            }
        }
    }
}

/// A running relay.
enum RelayFixture {
    case engine(EngineFixture)
    case socket(Relay, UInt16, EventLog)

    func connect() async throws -> any Peer {
        switch self {
        case .engine(let fixture): fixture.connect()
        case .socket(_, let port, _): try await WirePeer.connect(to: port)
        }
    }

    /// A peer with a link and the room "lobby" open on its first session.
    func member(_ account: String = "alice", device: UInt64 = 1, limits: Limits = Limits()) async throws -> any Peer {
        let peer = try await connect()
        try await peer.hello(FrameWriter.hello(account, device: device, limits: limits))
        try await peer.open()
        return peer
    }

    var statistics: RelayStatistics {
        get async {
            switch self {
            case .engine(let fixture): fixture.engine.statistics
            case .socket(let relay, _, _): await relay.statistics
            }
        }
    }

    /// The faults for which the relay ended connections.
    var faults: [ErrorCode] {
        let notes: [RelayNote] =
            switch self {
            case .engine(let fixture): fixture.notes
            case .socket(_, _, let log): log.notes
            }
        return notes.compactMap { if case .link(.faulted(let code)) = $0 { code } else { nil } }
    }

    /// The number of messages that the relay has stored.
    var storedCount: UInt64 { get async { await statistics.messagesStored } }
}

extension Peer {
    /// The unprocessed input of the peer that the engine holds, in bytes; nil on sockets.
    func heldByteCount(at fixture: RelayFixture) -> Int? {
        guard case .engine(let fixture) = fixture, let peer = self as? VirtualPeer else { return nil }
        return fixture.heldByteCount(of: peer)
    }
}
