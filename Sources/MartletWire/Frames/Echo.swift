/// A peer's timestamp sent back, for measuring the round trip (W-53).
public struct Echo: Hashable, BitwiseCopyable, Sendable {
    /// The newest timestamp received from the peer, in its own milliseconds since the link began.
    public let timestamp: UInt32
    /// How long it waited there before it was sent back, in whole microseconds.
    public let delayMicroseconds: UInt32

    /// The same as a duration.
    public var delay: Duration { .microseconds(delayMicroseconds) }

    /// An echo; `delay` is rounded down to microseconds and clamped to 32 bits of them.
    public init(timestamp: UInt32, delay: Duration) {
        self.init(timestamp: timestamp, delayMicroseconds: delay.wireCount(.microseconds))
    }

    init(timestamp: UInt32, delayMicroseconds: UInt32) {
        self.timestamp = timestamp
        self.delayMicroseconds = delayMicroseconds
    }
}

extension TLVView {
    func echo() throws(WireError) -> Echo {
        let parts = try uint64()
        return Echo(
            timestamp: UInt32(truncatingIfNeeded: parts >> 32), delayMicroseconds: UInt32(truncatingIfNeeded: parts))
    }
}

extension TLVWriter {
    mutating func append(_ tag: Tag, echo: Echo) {
        append(tag, uint64: UInt64(echo.timestamp) << 32 | UInt64(echo.delayMicroseconds))
    }
}
