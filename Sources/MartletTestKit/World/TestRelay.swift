import MartletLink
public import MartletRelay
import MartletTransport
import MartletWire

/// A relay in a virtual world: a store, and one process after another.
public final class TestRelay: @unchecked Sendable {  // used by the thread that runs the world
    /// The address of a relay for which none is given.
    public static let defaultAddress = "martlet://10.0.0.1:7227"

    struct Parts {
        var configuration: Relay.Configuration
        var store: any RoomStore
        var authenticator: any Authenticator
        var policy: any RoomPolicy
        var requestHandler: (any RequestHandler)?
    }

    /// The address.
    public let address: String
    /// The current relay; nil after `stop` and `kill`.
    public private(set) var relay: Relay?
    /// The store of all processes.
    public var store: any RoomStore { parts.store }
    /// The bounds of later processes.
    public var configuration: Relay.Configuration {
        get { parts.configuration }
        set { parts.configuration = newValue }
    }

    private let host: VirtualHost
    private var parts: Parts
    private var fence: Fence?

    init(address: String, host: VirtualHost, parts: Parts) {
        self.address = address
        self.host = host
        self.parts = parts
    }

    /// Starts a relay with the store of the earlier one, which must have been stopped or killed.
    ///
    /// - Throws: The errors of `Relay.start()`.
    @discardableResult
    public func restart() throws -> Relay {
        precondition(relay == nil, "a process has one relay at a time")
        let fence = Fence()
        let relay = Relay(
            configuration: parts.configuration, store: FencedStore(parts.store, fence),
            authenticator: parts.authenticator, policy: parts.policy, requestHandler: parts.requestHandler)
        try relay.start()
        self.relay = relay
        self.fence = fence
        return relay
    }

    /// Drains the relay and shuts it down.
    public func stop(within timeout: Duration = .seconds(10)) async {
        guard let relay else { return }
        self.relay = nil
        await relay.drain(within: timeout)
        await relay.shutdown()
    }

    /// Ends the process as `kill -9` does: its connections break, and the store keeps what was stored.
    public func kill() async {
        guard let relay else { return }
        self.relay = nil
        fence?.isClosed = true
        host.network.sever(host)
        await relay.shutdown()
    }
}

/// The store of a relay as one process sees it.
final class FencedStore: RoomStore {
    private let base: any RoomStore
    private let fence: Fence

    init(_ base: any RoomStore, _ fence: Fence) {
        self.base = base
        self.fence = fence
    }

    var features: RoomStoreFeatures { base.features }

    var retention: RoomRetention { base.retention }

    func perform(_ calls: [RoomStoreCall]) {
        guard fence.isClosed else { return base.perform(calls) }
        for call in calls { call.fail(ProcessEnded()) }
    }
}
