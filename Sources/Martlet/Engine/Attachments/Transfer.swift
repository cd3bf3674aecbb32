import MartletLink
package import MartletWire

/// The number of a transfer of a client. A number is never used for another transfer.
package struct TransferID: Hashable, Sendable {
    /// The number, from 1.
    package var rawValue: UInt64
}

/// The work of a transfer: an upload or a download of an attachment.
package enum TransferKind: Equatable, Sendable {
    /// Upload an attachment of this length.
    case upload(AttachmentDigest, byteCount: UInt64, mediaType: String?)
    /// Download the bytes of a range, whose upper bound is at most `byteCount`, the length of the attachment.
    case download(AttachmentDigest, Range<UInt64>, byteCount: UInt64)
    /// Discard an incomplete upload.
    case removal(AttachmentDigest)
}

/// An event of a transfer.
package enum TransferEvent: Equatable, Sendable {
    /// The relay has stored this many bytes of an upload, which continues there; all of them if it has the attachment.
    /// It may be fewer than before, if the relay has lost some.
    case began(position: UInt64)
    /// Read bytes of the file; the answer is `ClientEngine.provide`.
    case needs(position: UInt64, byteCount: Int)
    /// Bytes of a download, in order. When they are written, the answer is `ClientEngine.consumed`.
    case received(position: UInt64, [UInt8])
    /// The relay has stored an upload durably up to this position.
    case progressed(position: UInt64)
    /// All bytes are transferred. The relay has verified the digest of an upload.
    case finished
    /// The transfer has failed.
    case failed(TransferFailure)
}

/// The reason why a transfer failed.
package enum TransferFailure: Error, Hashable, Sendable {
    /// The relay has refused with this code.
    case refused(ErrorCode)
    /// The relay serves no attachments.
    case unsupported
    /// The relay has sent an answer that is not valid, or of an attachment with another length.
    case invalidAnswer
    /// The room was closed, by the relay if there is a code.
    case closed(ErrorCode?)
    /// The caller has cancelled the transfer.
    case cancelled
}

/// A transfer: which bytes were requested, and which are done.
///
/// | state | owns | ends |
/// |---|---|---|
/// | waiting | nothing | `next`: its session is open |
/// | starting | the request for the position of an upload | `answered`; `restart` |
/// | transferring | the next position, bytes that were asked of the caller, requests without an answer | all bytes are answered: verifying, or finished for a download; `restart` |
/// | verifying | the request with the last byte of an upload | `answered`: finished, or failed |
///
/// `restart` returns to waiting: the session has ended, or the relay has fewer bytes than expected. A finished or
/// failed transfer is removed by its owner.
struct Transfer: Sendable {
    /// The next action of a transfer.
    enum Step: Equatable {
        case request(AttachmentRequest)
        /// Ask the caller for bytes.
        case read(position: UInt64, byteCount: Int)
    }

    /// The consequence of an answer.
    enum OnAnswer: Equatable {
        case proceed
        case event(TransferEvent)
        /// Request again, after a delay.
        case retry
    }

    private enum State: Sendable {
        case waiting
        case starting
        case transferring
    }

    let room: RoomID
    let kind: TransferKind
    private var state = State.waiting
    /// The next byte that is asked of the caller, or requested of the relay.
    private var nextPosition: UInt64
    /// The bytes of an upload that are durable, or of a download that were delivered to the caller.
    private(set) var position: UInt64
    /// Positions of bytes that the caller is asked for.
    private var awaited: Set<UInt64> = []
    /// Bytes of a download that arrived before earlier ones.
    private var early: [UInt64: [UInt8]] = [:]

    init(_ kind: TransferKind, in room: RoomID) {
        self.kind = kind
        self.room = room
        switch kind {
        case .upload, .removal: nextPosition = 0
        case .download(_, let range, _): nextPosition = range.lowerBound
        }
        position = nextPosition
    }

    private var end: UInt64 {
        switch kind {
        case .upload(_, let byteCount, _): byteCount
        case .download(_, let range, _): range.upperBound
        case .removal: 0
        }
    }

    /// Forgets all requests. The transfer continues with the position that the relay names, or after the last
    /// delivered byte.
    mutating func restart() {
        state = .waiting
        awaited = []
        early = [:]
        nextPosition = position
    }

    /// The next action; nil while all bytes are requested, or the position is unknown.
    mutating func next() -> Step? {
        switch (kind, state) {
        case (.upload(let digest, let byteCount, let mediaType), .waiting):
            state = .starting
            return .request(.begin(digest, byteCount: byteCount, mediaType: mediaType))
        case (.removal(let digest), .waiting):
            state = .transferring
            return .request(.remove(digest))
        case (.download, .waiting):
            state = .transferring
            return next()
        case (.upload, .transferring) where nextPosition < end:
            let byteCount = takeChunk()
            awaited.insert(nextPosition - UInt64(byteCount))
            return .read(position: nextPosition - UInt64(byteCount), byteCount: byteCount)
        case (.download(let digest, _, _), .transferring) where nextPosition < end:
            let byteCount = takeChunk()
            return .request(.read(digest, position: nextPosition - UInt64(byteCount), length: byteCount))
        case (_, .starting), (_, .transferring): return nil
        }
    }

    private mutating func takeChunk() -> Int {
        let byteCount = min(UInt64(AttachmentRequest.maxChunkByteCount), end - nextPosition)
        nextPosition += byteCount
        return Int(byteCount)
    }

    /// The caller has read bytes. Returns their request; nil if they are not awaited any more.
    mutating func provide(_ bytes: [UInt8], at position: UInt64) -> AttachmentRequest? {
        guard case .upload(let digest, _, _) = kind, awaited.remove(position) != nil else { return nil }
        return .write(digest, position: position, bytes)
    }

    /// Whether all bytes of a download were delivered to the caller.
    var isDelivered: Bool {
        if case .download = kind { position == end } else { false }
    }

    /// The relay has answered a request.
    mutating func answered(_ request: AttachmentRequest, _ response: AttachmentResponse) -> [OnAnswer] {
        switch (request, response) {
        case (.begin, .position(_, let byteCount)) where byteCount != end,
            (.write, .position(_, let byteCount)) where byteCount != end:
            return [.event(.failed(.invalidAnswer))]
        case (.begin, .position(let position, let byteCount)):
            state = .transferring
            self.position = position
            nextPosition = position
            return [.event(.began(position: position))] + (position == byteCount ? [.event(.finished)] : [])
        case (.write, .position(let position, let byteCount)):
            guard position > self.position else { return [.proceed] }
            self.position = position
            return [.event(.progressed(position: position))] + (position == byteCount ? [.event(.finished)] : [])
        case (.read(_, let start, let length), .bytes(let bytes, let byteCount)):
            guard case .download(_, _, byteCount) = kind, bytes.count == length else {
                return [.event(.failed(.invalidAnswer))]
            }
            early[start] = bytes
            return deliver()
        case (.remove, .removed): return [.event(.finished)]
        default: return [.event(.failed(.invalidAnswer))]
        }
    }

    private mutating func deliver() -> [OnAnswer] {
        var events: [OnAnswer] = []
        while let bytes = early.removeValue(forKey: position) {
            events.append(.event(.received(position: position, bytes)))
            position += UInt64(bytes.count)
        }
        return events
    }

    /// The codes with which the relay refuses a request that it may grant later.
    static let delayCodes: Set<ErrorCode> = [.tooManyRequests, .serverBusy, .storeUnavailable, .deadlineExceeded]

    /// The relay has refused a request.
    mutating func refused(_ request: AttachmentRequest, _ status: ErrorCode) -> OnAnswer {
        switch (request, status) {
        case (_, let code) where Self.delayCodes.contains(code): return .retry
        // The relay has lost the upload, or a part of it.
        case (.write, .unknownAttachment), (.write, .wrongPosition): return .retry
        default: return .event(.failed(.refused(status)))
        }
    }
}
