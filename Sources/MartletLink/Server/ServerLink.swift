package import MartletWire

/// A slot in a server's table of links. Each use of a slot has a different generation, so that an old key finds
/// nothing.
@usableFromInline
package struct LinkKey: Hashable, Sendable {
    @usableFromInline package let slot: Int32
    @usableFromInline package let generation: UInt32
    /// The loop of the table.
    @usableFromInline package let loop: UInt8

    package init(slot: Int32, generation: UInt32, loop: UInt8 = 0) {
        self.slot = slot
        self.generation = generation
        self.loop = loop
    }

    @inlinable
    package static func == (left: LinkKey, right: LinkKey) -> Bool {
        left.slot == right.slot && left.generation == right.generation && left.loop == right.loop
    }
}

/// A device's link at a server, which outlives its connections.
///
/// | state | owns | ends |
/// |---|---|---|
/// | connected | the slot of a connection, the state of its packet stream | `detach` |
/// | suspended | the instant of the suspension | `attach`, or the end of the link |
@usableFromInline
package struct ServerLink: ~Copyable, Sendable {
    /// The duration for which an idle link keeps memory, so that infrequent messages do not allocate each time.
    private static let idleMemoryLifetime: Duration = .seconds(1)

    @usableFromInline package let key: LinkKey
    package let id: LinkID
    package let who: DeviceKey
    package var link: Link
    package private(set) var epoch = Epoch(rawValue: 1)
    private var token: TokenDigest
    /// The slot of the connection; nil while the link is suspended.
    @CompactOptional package private(set) var connection: Int? = nil
    /// The state of the connection's packet stream between two reads; nil until the first packet.
    private var packetReader: PacketReader?
    @CompactOptional package internal(set) var suspendedAt: Instant? = nil
    /// The instant of the last bytes from the last connection that ended.
    package private(set) var lastReceived = Instant.zero
    /// Whether the link has changed since it was last asked for output.
    @usableFromInline package internal(set) var isDirty = false
    /// The instant at which the timer fires; not later than the deadline.
    @usableFromInline @CompactOptional var armedAt: Instant? = nil

    init(key: LinkKey, id: LinkID, who: DeviceKey, link: consuming Link, token: TokenDigest) {
        self.key = key
        self.id = id
        self.who = who
        self.link = link
        self.token = token
    }

    // MARK: Connections

    /// Whether a token of the device resumes the link (C-37).
    func accepts(_ presented: TokenDigest) -> Bool { token == presented }

    /// A resume begins an epoch, which invalidates the token of the last one.
    mutating func beginEpoch(_ renewed: TokenDigest) {
        epoch = Epoch(rawValue: epoch.rawValue &+ 1)
        token = renewed
    }

    mutating func attach(_ connection: Int, _ carrier: Carrier, deflatesPackets: Bool, now: Instant) {
        self.connection = connection
        packetReader = nil
        link.attach(carrier, isEarly: false, now: now)
        link.deflatesPackets = deflatesPackets
    }

    /// The connection no longer belongs to the link, because a different connection resumes it (C-32).
    mutating func replaceConnection(lastReceived: Instant) {
        connection = nil
        self.lastReceived = lastReceived
    }

    /// Detaches a connection; false when it is not the link's.
    mutating func detach(_ connection: Int, lastReceived: Instant) -> Bool {
        guard self.connection == connection else { return false }
        self.connection = nil
        self.lastReceived = lastReceived
        packetReader = nil
        link.detach()
        link.releaseIdleMemory()
        return true
    }

    /// Prepares a framer for a read of the connection.
    mutating func serve(_ framer: inout Framer) {
        if link.readsPackets {
            framer.serve(packetReader, deflated: link.features.contains(.sharedDeflate))
        } else {
            framer.serve()
        }
    }

    /// Keeps the state of the packet stream until the next read.
    mutating func keepReader(of framer: borrowing Framer) {
        if framer.allowsPackets { packetReader = framer.reader }
    }

    /// Whether the peer's packets pass through a deflate stream now.
    package var isInflating: Bool { packetReader?.isStreaming == true }

    /// Bytes of the packet stream's state. A deflate stream counts as `streamByteCount`.
    package func packetReaderByteCount(ofStream streamByteCount: Int) -> Int {
        guard let packetReader else { return 0 }
        return packetReader.storageByteCount + (packetReader.isStreaming ? streamByteCount : 0)
    }

    // MARK: Time

    /// The link's next deadline, the release of idle memory included.
    func deadline(hasIdleMemory: Bool, now: Instant) -> Instant? {
        let deadline = link.deadline
        guard !link.hasUnacknowledged, hasIdleMemory || link.hasIdleMemory else { return deadline }
        return deadline.orEarlier(Self.releaseTime(after: now))
    }

    /// The instant at which a link that is idle now releases memory. It is the same for all links, so that one turn
    /// releases the memory of many.
    private static func releaseTime(after now: Instant) -> Instant {
        let step = UInt64(idleMemoryLifetime.nanoseconds)
        return Instant(nanoseconds: (now.nanoseconds / step + 2) * step)
    }
}
