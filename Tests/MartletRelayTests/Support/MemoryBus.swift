import MartletRelay
import MartletTransport

/// A bus between relays of one process. It delivers each datagram to all relays of its hub, the sender included, on a
/// thread of its own. Datagrams that are too long are lost.
final class MemoryBus: RelayBus {
    /// The relays on the bus.
    final class Hub: Sendable {
        fileprivate let receivers = Guarded<[ObjectIdentifier: @Sendable ([UInt8]) -> Void]>([:])
        /// Whether datagrams are lost.
        let isCut = Guarded(false)
        private let datagrams = AsyncStream<[UInt8]>.makeStream()

        init() {
            Task { [datagrams, receivers = Weak(self)] in
                for await datagram in datagrams.stream {
                    guard let hub = receivers.hub else { return }
                    for receive in hub.receivers.withLock({ Array($0.values) }) { receive(datagram) }
                }
            }
        }

        deinit { datagrams.continuation.finish() }

        fileprivate func send(_ datagram: [UInt8]) { datagrams.continuation.yield(datagram) }
    }

    private struct Weak: @unchecked Sendable {
        weak var hub: Hub?
        init(_ hub: Hub) { self.hub = hub }
    }

    let maxDatagramByteCount = RelayBusBounds.minDatagramByteCount
    private let hub: Hub

    init(_ hub: Hub) { self.hub = hub }

    func start(_ receive: @escaping @Sendable ([UInt8]) -> Void) {
        hub.receivers.withLock { $0[ObjectIdentifier(self)] = receive }
    }

    func send(_ datagrams: [[UInt8]]) {
        guard !hub.isCut.withLock({ $0 }) else { return }
        for datagram in datagrams where datagram.count <= maxDatagramByteCount { hub.send(datagram) }
    }

    func stop() async { hub.receivers.withLock { $0[ObjectIdentifier(self)] = nil } }
}
