/// A timestamp of the peer that is returned to it, as a sample of the round-trip time (W-53).
public struct Echo: Hashable, BitwiseCopyable, Sendable {
    /// The newest timestamp received from the peer, in milliseconds since the link began, by the peer's clock.
    public let timestamp: UInt32
    /// The duration between the receipt and the return of the timestamp, in whole microseconds.
    public let delayMicroseconds: UInt32

    /// The duration between the receipt and the return of the timestamp.
    public var delay: Duration { .microseconds(delayMicroseconds) }

    /// Creates an echo. `delay` is rounded down to microseconds and clamped to 32 bits.
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
