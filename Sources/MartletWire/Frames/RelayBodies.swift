/// Bodies of messages of one device on their way from the relay, written one behind the other.
///
/// Their stamps differ in the offset alone, so the stamp is encoded once and its offset put in for each. The memory
/// stays when another device begins.
public struct RelayBodies: Sendable {
    /// What was written since `begin`.
    public private(set) var bytes: [UInt8] = []
    private var stamp: [UInt8] = []

    /// Nothing yet.
    public init() {}

    /// Lets go of what was written, and goes on with messages of this device that are accepted at this time.
    public mutating func begin(acceptedAt: UInt64, sender: AccountName, device: DeviceID) {
        bytes.removeAll(keepingCapacity: true)
        var writer = TLVWriter(reserving: RelayStamp.maxByteCount)
        RelayStamp(offset: 1, acceptedAt: acceptedAt, sender: sender, device: device).encode(into: &writer)
        stamp.removeAll(keepingCapacity: true)
        stamp.append(bytes: writer.rawBytes)
    }

    /// How many bytes the stamp puts in front of each client's body.
    public var stampByteCount: Int { stamp.count }

    /// Writes one body: the stamp, then the client's own bytes unchanged, which ``MessageView`` has parsed and found
    /// without the relay's fields (W-61, R-2).
    ///
    /// - Precondition: offsets start at 1, and `begin` was called.
    public mutating func append(offset: UInt64, clientBody: RawSpan) {
        precondition(offset >= 1 && !stamp.isEmpty, "offsets start at 1, and bodies with a stamp")
        unsafe stamp.withUnsafeMutableBytes {
            // The offset is the stamp's first field.
            unsafe $0.storeBytes(of: offset.bigEndian, toByteOffset: TLVLimits.headByteCount, as: UInt64.self)
        }
        bytes.append(contentsOf: stamp)
        bytes.append(bytes: clientBody)
    }
}
