/// A peer's timestamp sent back, for measuring the round trip (W-53).
public struct Echo: Hashable, Sendable {
    /// The newest timestamp received from the peer, in its own milliseconds since the link began.
    public let timestamp: UInt32
    /// How long it waited here before it was sent back, in whole microseconds.
    public let delay: Duration

    /// An echo; `delay` is rounded down to microseconds and clamped to 32 bits of them.
    public init(timestamp: UInt32, delay: Duration) {
        self.timestamp = timestamp
        self.delay = delay.roundedDown(to: .microseconds)
    }
}

extension TLVView {
    func echo() throws(WireError) -> Echo {
        let parts = try uint64()
        let delay = Duration(wireCount: UInt32(truncatingIfNeeded: parts), .microseconds)
        return Echo(timestamp: UInt32(truncatingIfNeeded: parts >> 32), delay: delay)
    }
}

extension TLVWriter {
    mutating func append(_ tag: Tag, echo: Echo) {
        append(tag, uint64: UInt64(echo.timestamp) << 32 | UInt64(echo.delay.wireCount(.microseconds)))
    }
}
