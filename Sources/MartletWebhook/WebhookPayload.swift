import Foundation
import MartletProtocol
import MartletWire

/// The JSON document of a report (R-138, Guides/push.md).
struct WebhookPayload: Encodable {
    struct Recipient: Encodable {
        let account: String
        let count: UInt64
    }

    struct Message: Encodable {
        let offset: UInt64
        let sender: String
        let device: String
        let acceptedAt: UInt64
        let kind: UInt16
        var text: String?
        var shortened: Bool?
    }

    let version = 1
    let type = "undelivered"
    let room: String
    let log: String?
    let lastOffset: UInt64
    let recipients: [Recipient]
    let message: Message?

    private enum CodingKeys: String, CodingKey {
        case version, type, room, log, lastOffset, recipients, message
    }

    /// Creates the document.
    ///
    /// - Parameter includesContent: Whether it contains the text of the message.
    init(_ report: UndeliveredReport, includesContent: Bool) {
        room = report.room.text
        log = report.log.map { String($0.rawValue, radix: 16) }
        lastOffset = report.lastOffset
        recipients = report.recipients.map { Recipient(account: $0.account.text, count: $0.count) }
        message = report.message.map { message in
            var document = Message(
                offset: message.relay.offset, sender: message.relay.sender.text,
                device: String(message.relay.device.rawValue, radix: 16), acceptedAt: message.relay.acceptedAt,
                kind: message.kind.rawValue)
            if includesContent, let text = message.text {
                document.text = text
                document.shortened = message.isShortened
            }
            return document
        }
    }

    /// The document in UTF-8, with the members of objects in the order of their names.
    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self))
    }
}
