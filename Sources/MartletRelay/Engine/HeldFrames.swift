import MartletLink
import MartletWire

/// The frames that a session has sent before its room was loaded, in their order, in one storage.
///
/// A frame costs its body and `overheadByteCount`. The bound of credited frames follows from their credit: no honest
/// message is so short that the overhead exceeds it, so a client within its credit is within this bound.
struct HeldFrames: Sendable {
    /// Bytes of a frame beside its body: its type, its credit and its length.
    static let overheadByteCount = 10
    /// Bytes of credited frames held, overhead included, for each byte of their credit.
    static let maxCostPerCredit = 2

    private var bytes: [UInt8] = []
    /// The index at which the next frame begins.
    private var start = 0
    /// The credit of all frames held, in bytes.
    private(set) var creditByteCount = 0
    /// The cost of the frames that used no credit, in bytes.
    private(set) var uncreditedCost = 0
    private var creditedCost = 0

    /// Bytes of memory that the frames take.
    var storageByteCount: Int { bytes.count }

    var isEmpty: Bool { start == bytes.count }

    /// Adds a frame; false, without a change, when it costs much more than the credit that it used.
    mutating func append(_ type: FrameType, _ body: RawSpan, credit: Int) -> Bool {
        let cost = HeldFrames.overheadByteCount + body.byteCount
        if credit == 0 {
            uncreditedCost += cost
        } else {
            guard creditedCost + cost <= (creditByteCount + credit) * HeldFrames.maxCostPerCredit else { return false }
            creditedCost += cost
        }
        creditByteCount += credit
        bytes.append(bigEndian: type.rawValue)
        bytes.append(bigEndian: UInt32(credit))
        bytes.append(bigEndian: UInt32(body.byteCount))
        bytes.append(bytes: body)
        return true
    }

    /// Takes the first frame: its type, its body and its credit in bytes.
    mutating func popFirst() -> (type: FrameType, body: [UInt8], credit: Int)? {
        guard !isEmpty else { return nil }
        let (type, body, credit) = frame(at: start)
        start += HeldFrames.overheadByteCount + body.count
        creditByteCount -= credit
        return (type, body, credit)
    }

    private func frame(at start: Int) -> (type: FrameType, body: [UInt8], credit: Int) {
        let head = bytes.rawBytes.extracting(droppingFirst: start)
        let body = head.extracting(droppingFirst: HeldFrames.overheadByteCount)
        return (
            FrameType(rawValue: head.loadUInt16(at: 0)),
            [UInt8](copying: body.extracting(first: Int(head.loadUInt32(at: 6)))), Int(head.loadUInt32(at: 2))
        )
    }
}
