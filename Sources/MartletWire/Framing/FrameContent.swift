/// The content of a received frame: values if the frame was in a compact form without TLVs, otherwise its body.
///
/// The values represent the body that ``encode(into:)`` writes. All clauses of Specs refer to that body.
@usableFromInline
package enum FrameContent: ~Escapable, BitwiseCopyable {
    /// The bytes of the body, compressed if the header says so.
    case body(RawSpan)
    /// A text message. All its values are valid, except that the sender is not verified.
    case message(TextMessage)
    /// A run of messages that the relay has accepted.
    case accepted(AcceptedRun)
    /// An acknowledgement of one session.
    case ack(SingleAck)

    /// The number of bytes of the body.
    @inlinable
    package var byteCount: Int {
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

    /// Calls `operation` with the body, which is borrowed or encoded for the duration of the call.
    @inlinable
    package func withBody<Result, Failure: Error>(
        _ operation: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if case .body(let bytes) = self { return try operation(bytes) }
        let writer = written
        return try operation(writer.rawBytes)
    }

    /// A writer with the encoded body.
    @usableFromInline var written: TLVWriter {
        var writer = TLVWriter(reserving: byteCount)
        encode(into: &writer)
        return writer
    }

    /// Appends the body.
    package func encode(into writer: inout TLVWriter) {
        switch self {
        case .body(let bytes): writer.append(encoded: bytes)
        case .message(let message): message.encode(into: &writer)
        case .accepted(let run): run.encode(into: &writer)
        case .ack(let values): values.ack.encode(into: &writer)
        }
    }
}
