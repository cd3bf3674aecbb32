public import Martlet
package import MartletTransport
import MartletWire

/// A device in a virtual world: an outbox, a path to the relay, and one client after another.
public final class TestDevice: @unchecked Sendable {  // used by the thread that runs the world
    /// The account.
    public let account: String
    /// The outbox of all clients of the device.
    public let outbox: any Outbox
    /// The credentials of later clients.
    public var credentials: Credentials
    /// The configuration of later clients.
    public var configuration = Client.Configuration()
    /// The current client; nil before the first one, and after `stop` and `kill`.
    public private(set) var client: Client?

    private let relay: String
    private let number: Int
    private let host: VirtualHost
    private let path: VirtualPath
    private var process: Process?
    private var networkCount: UInt32 = 0

    /// A run of the application on the device.
    private final class Process {
        let loop: EventLoop
        let fence: Fence

        init(loop: EventLoop, fence: Fence) {
            self.loop = loop
            self.fence = fence
        }
    }

    init(
        _ account: String, relay: String, outbox: any Outbox, number: Int, host: VirtualHost, path: VirtualPath
    ) {
        self.account = account
        self.relay = relay
        self.outbox = outbox
        self.number = number
        self.host = host
        self.path = path
        credentials = .anonymous(account)
        configuration.allowsPlaintext = true
    }

    // MARK: - Clients

    /// Creates a client that is not started. An earlier client must have been stopped or killed.
    ///
    /// - Throws: The errors of the initializer of `Client`.
    public func makeClient() throws -> Client {
        precondition(process == nil, "a device has one client at a time")
        let process = Process(loop: EventLoop(on: host, name: "\(account)-\(number)"), fence: Fence())
        let client = try makeClient(outbox, process)
        self.process = process
        self.client = client
        return client
    }

    private func makeClient(_ outbox: some Outbox, _ process: Process) throws -> Client {
        try Client(
            to: relay, as: credentials, outbox: FencedOutbox(outbox, process.fence), configuration: configuration,
            on: process.loop)
    }

    /// Returns a loop on the device, for programs without a `Client`.
    package func makeLoop() -> EventLoop { EventLoop(on: host, name: "\(account)-\(number)-link") }

    /// Creates and starts a client.
    ///
    /// - Throws: The errors of `Client.start()`.
    @discardableResult
    public func start() async throws -> Client {
        let client = try makeClient()
        try await client.start()
        return client
    }

    /// Stops the client by `Client.stop()`.
    public func stop() async {
        guard let client, let process else { return }
        self.client = nil
        await client.stop()
        if self.process === process { self.process = nil }
        await process.loop.shutdown()
    }

    /// Ends the process of the client as `kill -9` does: its connections break, and the outbox stores nothing more.
    /// Waiting calls of the client end without an effect outside of the process.
    public func kill() async {
        guard let process else { return }
        self.process = nil
        client = nil
        process.fence.isClosed = true
        host.network.sever(host)
        await process.loop.shutdown()
    }

    /// Drops the reference to the client, which stops without a flush when the last one is released.
    package func release() {
        client = nil
    }

    // MARK: - Path

    /// The conditions of the path to the relay.
    public var conditions: PathConditions {
        get { path.conditions }
        set { path.conditions = newValue }
    }

    /// Breaks the connections. Both sides notice after the delay of the path.
    public func cut() {
        for stream in host.network.streams(on: path) { stream.cut() }
    }

    /// Blocks the path in one or both directions until `restore`, without notice.
    public func blackHole(_ direction: PathDirection = .both) {
        path.blackHole(direction)
    }

    /// Unblocks the path. Delayed bytes arrive.
    public func restore() {
        path.restore()
    }

    /// Drops the NAT mappings of the connections: their bytes are lost without notice. New connections are not
    /// affected.
    public func dropNATMappings() {
        for stream in host.network.streams(on: path) { stream.hasNoMapping = true }
    }

    /// Moves the device to another network, which its system reports to the client. Bytes in transit are lost.
    public func switchNetwork(to conditions: PathConditions? = nil, kind: PathKind = .wifi) {
        dropNATMappings()
        if let conditions { path.conditions = conditions }
        networkCount += 1
        let address = IPAddress(v4: 0x0A02_0000 + networkCount << 8 + UInt32(number))
        path.report(
            PathSnapshot(
                isUp: true, kind: kind == .cellular ? .cellular : .wifi, addresses: [address],
                defaultInterface: "net\(networkCount)"))
    }

    /// Takes the device offline until `goOnline`, which its system reports to the client.
    public func goOffline() {
        path.blackHole(.both)
        var snapshot = path.snapshot
        snapshot.isUp = false
        path.report(snapshot)
    }

    /// Takes the device online again.
    public func goOnline() {
        path.restore()
        var snapshot = path.snapshot
        snapshot.isUp = true
        path.report(snapshot)
    }
}

/// Whether a process has ended. Its storage then ignores its calls.
final class Fence: @unchecked Sendable {  // used by the thread that runs the world
    var isClosed = false
}

/// The outbox of a device as one process sees it.
final class FencedOutbox<Base: Outbox>: Outbox {
    private let base: Base
    private let fence: Fence

    init(_ base: Base, _ fence: Fence) {
        self.base = base
        self.fence = fence
    }

    func open() async throws -> OutboxState { try await base.open() }

    func claim(for account: AccountName) async throws {
        guard !fence.isClosed else { throw ProcessEnded() }
        try await base.claim(for: account)
    }

    /// A process that was killed closes nothing: the next one may have opened the outbox.
    func close() async {
        if !fence.isClosed { await base.close() }
    }

    func commit(_ transaction: OutboxTransaction) async throws {
        guard !fence.isClosed else { throw ProcessEnded() }
        try await base.commit(transaction)
        guard !fence.isClosed else { throw ProcessEnded() }
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { try await base.deadLetters(in: room) }
}

extension FencedOutbox: ImmediateOutbox where Base: ImmediateOutbox {
    func open() -> OutboxState { base.open() }

    func commit(_ transaction: OutboxTransaction) {
        if !fence.isClosed { base.commit(transaction) }
    }

    func deadLetters(in room: RoomName) -> [DeadLetter] { base.deadLetters(in: room) }
}

/// The error of a storage for a process that has ended.
struct ProcessEnded: Error {}
