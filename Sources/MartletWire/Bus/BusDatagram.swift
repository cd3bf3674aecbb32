/// The head of a datagram of the bus: its version, the relay that has sent it, and its number there.
package struct BusHead: Equatable, Sendable {
    /// The version of the layout.
    package static let version: UInt8 = 1
    /// The number of bytes of a head.
    package static let byteCount = 17

    /// The relay that has sent the datagram.
    package var relay: RelayID
    /// The number of the datagram, from 1 on.
    package var number: UInt64

    /// Creates a head.
    package init(relay: RelayID, number: UInt64) {
        self.relay = relay
        self.number = number
    }

    /// Parses the head of a datagram (Specs/hostile.md row 124).
    package init(parsing bytes: RawSpan) throws(BusError) {
        guard bytes.byteCount > 0 else { throw .short }
        let version = bytes.loadBigEndian(at: 0, as: UInt8.self)
        guard version == Self.version else { throw .version(version) }
        guard bytes.byteCount >= Self.byteCount else { throw .short }
        self.init(
            relay: RelayID(rawValue: bytes.loadBigEndian(at: 1, as: UInt64.self)),
            number: bytes.loadBigEndian(at: 9, as: UInt64.self))
        guard number > 0 else { throw .short }
    }

    /// The items behind the head, except those of unknown kinds. An invalid item makes the datagram invalid.
    package static func messages(in bytes: RawSpan) throws(BusError) -> [BusMessage] {
        do throws(WireError) {
            var messages: [BusMessage] = []
            var reader = TLVReader(bytes.extracting(droppingFirst: byteCount))
            while let field = try reader.next() {
                guard field.tag == .item else {
                    try field.skip()
                    continue
                }
                if let message = try BusMessage.parse(field.value) { messages.append(message) }
            }
            return messages
        } catch {
            throw .item(error)
        }
    }
}

/// The fault of a datagram.
public enum BusError: Error, Equatable, Sendable {
    /// The datagram has no complete head.
    case short
    /// The datagram has the layout of another version.
    case version(UInt8)
    /// An item is invalid.
    case item(WireError)
}

/// Divides items into datagrams, in their order.
package struct BusWriter: ~Copyable {
    private let relay: RelayID
    private let maxByteCount: Int
    private var number: UInt64
    private var writer = TLVWriter()
    private var itemCount = 0
    private var datagrams: [[UInt8]] = []

    /// Begins behind the datagram with a number.
    package init(relay: RelayID, after number: UInt64, maxByteCount: Int) {
        self.relay = relay
        self.number = number
        self.maxByteCount = maxByteCount
    }

    /// The number of bytes of an item in a datagram.
    package static func byteCount(of message: BusMessage) -> Int {
        var item = TLVWriter()
        message.encode(into: &item)
        return BusHead.byteCount + TLVLimits.headByteCount + item.byteCount
    }

    /// Appends an item. One that does not fit into a datagram is lost like a datagram: receivers notice the missing
    /// number.
    package mutating func append(_ message: BusMessage) {
        var item = TLVWriter()
        message.encode(into: &item)
        let byteCount = TLVLimits.headByteCount + item.byteCount
        guard BusHead.byteCount + byteCount <= maxByteCount else { return skip() }
        if itemCount == TLVLimits.maxCount || writer.byteCount + byteCount > maxByteCount { close() }
        if itemCount == 0 { begin() }
        writer.append(.item, bytes: item.rawBytes)
        itemCount += 1
    }

    /// Leaves out a number, because items were lost.
    package mutating func skip() {
        close()
        number += 1
    }

    private mutating func begin() {
        number += 1
        writer.appendRaw(BusHead.version)
        writer.appendRaw(relay.rawValue)
        writer.appendRaw(number)
    }

    private mutating func close() {
        guard itemCount > 0 else { return }
        datagrams.append(writer.bytes)
        writer.removeAll()
        itemCount = 0
    }

    /// The datagrams, and the number of the last one.
    package consuming func finish() -> (datagrams: [[UInt8]], number: UInt64) {
        close()
        return (datagrams, number)
    }
}
