/// Bodies of messages of one device on their way from the relay, written one behind the other.
///
/// Their stamps differ in the offset alone, so the stamp is encoded once and its offset put in for each. The memory
/// stays when another device begins.
public struct RelayBodies: Sendable {
    /// What was written since `begin`.
    public private(set) var bytes: [UInt8] = []
    private var stamp = TLVWriter()

    /// Nothing yet.
    public init() {}

    /// Lets go of what was written, and goes on with messages of this device that are accepted at this time.
    public mutating func begin(acceptedAt: UInt64, sender: AccountName, device: DeviceID) {
        bytes.removeAll(keepingCapacity: true)
        stamp.bytes.removeAll(keepingCapacity: true)
        RelayStamp(offset: 1, acceptedAt: acceptedAt, sender: sender, device: device).encode(into: &stamp)
    }

    /// How many bytes the stamp puts in front of each client's body.
    public var stampByteCount: Int { stamp.bytes.count }

    /// Writes one body: the stamp, then the client's own bytes unchanged, which ``MessageView`` has parsed and found
    /// without the relay's fields (W-61, R-2).
    ///
    /// - Precondition: offsets start at 1, and `begin` was called.
    public mutating func append(offset: UInt64, clientBody: RawSpan) {
        precondition(offset >= 1 && !stamp.bytes.isEmpty, "offsets start at 1, and bodies with a stamp")
        unsafe stamp.bytes.withUnsafeMutableBytes {
            // The offset is the stamp's first field.
            unsafe $0.storeBytes(of: offset.bigEndian, toByteOffset: TLVLimits.headByteCount, as: UInt64.self)
        }
        bytes.append(contentsOf: stamp.bytes)
        bytes.append(bytes: clientBody)
    }
}
