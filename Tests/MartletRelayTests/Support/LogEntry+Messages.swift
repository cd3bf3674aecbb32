import MartletLink
import MartletWire

/// Entries of logs that are stored before a relay starts.
extension LogEntry {
    static func text(_ text: String, counter: UInt64, by account: AccountName) -> LogEntry {
        entry(MessageContent(text: text), counter, account, at: 1)
    }

    static func attachment(
        _ digest: AttachmentDigest, counter: UInt64, by account: AccountName, at offset: UInt64 = 1
    ) throws -> LogEntry {
        var attachment = Attachment(location: Attachment.relayLocation, byteCount: 2)
        attachment.digest = digest.bytes
        return entry(try MessageBody.attachment(attachment).content, counter, account, at: offset)
    }

    private static func entry(
        _ content: MessageContent, _ counter: UInt64, _ account: AccountName, at offset: UInt64
    ) -> LogEntry {
        let device = DeviceID(rawValue: 1)
        let stamp = RelayStamp(offset: offset, acceptedAt: 1000, sender: account, device: device)
        let message = Message(counter: counter, content: content, relay: stamp)
        return LogEntry(
            offset: offset, sender: account, device: device, counter: counter, acceptedAt: 1000,
            body: EncodedBody(message.encode()))
    }
}
