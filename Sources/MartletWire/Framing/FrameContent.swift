/// What a frame says, as it came: values where it was in a compact form that has no TLVs, otherwise its body.
///
/// A body is what everything in Specs is said of; the values stand for the one that ``encode(into:)`` writes.
public enum FrameContent: ~Escapable, BitwiseCopyable {
    /// The body's bytes, compressed if the header says so.
    case body(RawSpan)
    /// A message of one text, which is valid but for its sender.
    case message(TextMessage)
    /// What the relay has durably.
    case accepted(AcceptedRun)
    /// An acknowledgement of one session.
    case ack(SingleAck)

    /// How many bytes the body takes.
    @inlinable
    public var byteCount: Int {
        if case .body(let bytes) = self { return bytes.byteCount }
        return valuesByteCount
    }

    @usableFromInline var valuesByteCount: Int {
        switch self {
        case .body(let bytes): bytes.byteCount
        case .message(let message): message.byteCount
        case .accepted: AcceptedRun.byteCount
        case .ack(let values): values.ack.byteCount
        }
    }

    /// Calls `take` with the body: where it lies, or written for the call.
    @inlinable
    public func withBody<Result, Failure: Error>(
        _ take: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if case .body(let bytes) = self { return try take(bytes) }
        let writer = written
        return try take(writer.rawBytes)
    }

    /// The body, written.
    @usableFromInline var written: TLVWriter {
        var writer = TLVWriter(reserving: byteCount)
        encode(into: &writer)
        return writer
    }

    /// Appends the body.
    public func encode(into writer: inout TLVWriter) {
        switch self {
        case .body(let bytes): writer.append(encoded: bytes)
        case .message(let message): message.encode(into: &writer)
        case .accepted(let run): run.encode(into: &writer)
        case .ack(let values): values.ack.encode(into: &writer)
        }
    }
}
