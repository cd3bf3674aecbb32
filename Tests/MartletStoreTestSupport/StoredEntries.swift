package import MartletLink
package import MartletRelay
// The names of the messages' accounts and rooms.
@_exported public import MartletTestSupport
package import MartletWire

extension RoomName {
    package static let attic = RoomName("attic")
}

/// Messages of a device, whose counters equal their offsets unless `counter` adds to them.
package func entries(
    _ offsets: ClosedRange<UInt64>, of account: String = "alice", device: UInt64 = 1, counter: UInt64 = 0,
    at acceptedAt: UInt64 = 1000, byteCount: Int = 10
) -> [LogEntry] {
    offsets.map { offset in
        LogEntry(
            offset: offset, sender: AccountName(account)!, device: DeviceID(rawValue: device),
            counter: offset + counter, acceptedAt: acceptedAt,
            body: EncodedBody((0..<byteCount).map { UInt8(truncatingIfNeeded: offset) &+ UInt8($0 % 7) }))
    }
}

/// An edit by alice's device 1 of its message with the counter `target`. Its own counter is its offset by default.
package func edit(_ offset: UInt64, of target: UInt64, _ text: String = "new", counter: UInt64? = nil) throws
    -> LogEntry
{
    let (alice, counter) = (device(), counter ?? offset)
    let id = MessageID(sender: alice.account, device: alice.device, counter: target)
    let client = Message(counter: counter, content: try MessageBody.edit(of: MessageReference(id), text: text).content)
    let body = Message.encodeRelay(
        offset: offset, acceptedAt: 1000, sender: alice.account, device: alice.device,
        clientBody: client.encode().rawBytes)
    return LogEntry(
        offset: offset, sender: alice.account, device: alice.device, counter: counter, acceptedAt: 1000,
        body: EncodedBody(body))
}

package func device(_ account: String = "alice", _ device: UInt64 = 1) -> DeviceKey {
    DeviceKey(account: AccountName(account)!, device: DeviceID(rawValue: device))
}

extension ReadRange {
    package static let all = ReadRange(from: 1, maxCount: .max, maxByteCount: .max)
}

extension RoomHistory {
    package var offsets: [UInt64] { entries.map(\.offset) }
}
