/// A buffer of consecutive bodies of one device's messages, as a relay sends them.
///
/// The stamps of the bodies differ only in the offset, their first field. The other fields are encoded once for a
/// device. The buffer is kept for the next device.
@usableFromInline
package struct RelayBodies: ~Copyable, Sendable {
    /// The maximum size in bytes of a buffer that `begin` keeps.
    static let maxKeptByteCount = 32 * 1024

    private var writer = TLVWriter()
    /// The encoded fields of the stamp after the offset.
    private var stamp: [UInt8] = []

    /// Creates an empty buffer.
    package init() {}

    /// Removes all bodies and begins with messages of a device that have the given acceptance time.
    package mutating func begin(acceptedAt: UInt64, sender: AccountName, device: DeviceID) {
        writer.removeAll(keeping: Self.maxKeptByteCount)
        RelayStamp(offset: 1, acceptedAt: acceptedAt, sender: sender, device: device).encode(into: &writer)
        // The property is moved to a variable, because the writer cannot be accessed while the property is modified.
        var fields = stamp
        stamp = []
        fields.removeAll(keepingCapacity: true)
        fields.append(bytes: writer.rawBytes.extracting(droppingFirst: Self.offsetByteCount))
        stamp = fields
        writer.removeAll(keeping: Self.maxKeptByteCount)
    }

    /// The number of bytes that the stamp adds to each client's body.
    @usableFromInline
    package var stampByteCount: Int { Self.offsetByteCount + stamp.count }

    /// The number of bytes written since `begin`.
    @usableFromInline
    package var byteCount: Int { writer.byteCount }

    /// A copy of the bytes written since `begin`.
    @usableFromInline
    package var bytes: [UInt8] { writer.bytes }

    private static var offsetByteCount: Int { TLVLimits.headByteCount + 8 }

    /// Appends one body: the stamp, then the client's body unchanged (W-61, R-2).
    ///
    /// - Precondition: The offset is at least 1, and `begin` was called.
    package mutating func append(offset: UInt64, _ message: ClientMessage) {
        precondition(offset >= 1 && !stamp.isEmpty, "offsets start at 1, and bodies with a stamp")
        Self.write(offset, stamp, message, into: &writer)
    }

    /// The function is static, because a method could not access the stamp while it modifies the writer.
    private static func write(
        _ offset: UInt64, _ stamp: [UInt8], _ message: ClientMessage, into writer: inout TLVWriter
    ) {
        writer.append(.offset, uint64: offset)
        writer.append(encoded: stamp.rawBytes)
        message.encode(into: &writer)
    }
}
