/// Bodies of messages of one device on their way from the relay, written one behind the other.
///
/// Their stamps differ in the offset alone, which is the first field; the others are encoded once. The memory stays
/// when another device begins.
public struct RelayBodies: ~Copyable, Sendable {
    /// The memory that `begin` keeps at the most, in bytes.
    static let maxKeptByteCount = 32 * 1024

    private var writer = TLVWriter()
    /// A stamp's fields behind the offset.
    private var stamp: [UInt8] = []

    /// Nothing yet.
    public init() {}

    /// Lets go of what was written, and goes on with messages of this device that are accepted at this time.
    public mutating func begin(acceptedAt: UInt64, sender: AccountName, device: DeviceID) {
        writer.removeAll(keeping: Self.maxKeptByteCount)
        RelayStamp(offset: 1, acceptedAt: acceptedAt, sender: sender, device: device).encode(into: &writer)
        // Taken out: to borrow what was written is to borrow the whole, which cannot be changed meanwhile.
        var fields = stamp
        stamp = []
        fields.removeAll(keepingCapacity: true)
        fields.append(bytes: writer.rawBytes.extracting(droppingFirst: Self.offsetByteCount))
        stamp = fields
        writer.removeAll(keeping: Self.maxKeptByteCount)
    }

    /// How many bytes the stamp puts in front of each client's body.
    public var stampByteCount: Int { Self.offsetByteCount + stamp.count }

    /// How many bytes were written since `begin`.
    public var byteCount: Int { writer.byteCount }

    /// A copy of them.
    public var bytes: [UInt8] { writer.bytes }

    private static var offsetByteCount: Int { TLVLimits.headByteCount + 8 }

    /// Writes one body: the stamp, then the client's, unchanged (W-61, R-2).
    ///
    /// - Precondition: offsets start at 1, and `begin` was called.
    public mutating func append(offset: UInt64, _ message: ClientMessage) {
        precondition(offset >= 1 && !stamp.isEmpty, "offsets start at 1, and bodies with a stamp")
        Self.write(offset, stamp, message, into: &writer)
    }

    /// Not a method: to borrow the stamp is to borrow the whole, which cannot be changed meanwhile.
    private static func write(
        _ offset: UInt64, _ stamp: [UInt8], _ message: ClientMessage, into writer: inout TLVWriter
    ) {
        writer.append(.offset, uint64: offset)
        writer.append(encoded: stamp.rawBytes)
        message.encode(into: &writer)
    }
}
