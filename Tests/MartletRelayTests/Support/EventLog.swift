import MartletLink
import MartletRelay
import MartletTransport

/// Records the events of a relay.
final class EventLog: Sendable {
    private let events = Guarded<[RelayEvent]>([])

    var note: @Sendable (RelayEvent) -> Void {
        { event in self.events.withLock { $0.append(event) } }
    }

    var all: [RelayEvent] { events.withLock { $0 } }

    /// The peers named by notes.
    var peers: [SocketAddress] {
        all.compactMap { if case .note(_, let peer) = $0 { peer } else { nil } }
    }

    var notes: [RelayNote] {
        all.compactMap { if case .note(let note, _) = $0 { note } else { nil } }
    }
}
