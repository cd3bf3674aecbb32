import MartletAuthentication
import MartletLink
import MartletRelay
import MartletWire

/// The JSON document of a report (R-138, Guides/push.md). The members of objects are in the order of their names.
enum WebhookPayload {
    /// Returns the document in UTF-8.
    ///
    /// - Parameter includesContent: Whether it contains the text of the message.
    static func encode(_ report: UndeliveredReport, includesContent: Bool) -> [UInt8] {
        let recipients = report.recipients.map {
            object(["account": $0.account.text.quotedAsJSON, "count": "\($0.count)"])
        }
        let document = object([
            "lastOffset": "\(report.lastOffset)",
            "log": report.log.map { "\"\(String($0.rawValue, radix: 16))\"" },
            "message": report.message.map { object(of: $0, includesContent: includesContent) },
            "recipients": "[\(recipients.joined(separator: ","))]",
            "room": report.room.text.quotedAsJSON,
            "type": "\"undelivered\"",
            "version": "1",
        ])
        return Array(document.utf8)
    }

    private static func object(of message: UndeliveredMessage, includesContent: Bool) -> String {
        let text = includesContent ? message.text : nil
        return object([
            "acceptedAt": "\(message.relay.acceptedAt)",
            "device": "\"\(String(message.relay.device.rawValue, radix: 16))\"",
            "kind": "\(message.kind.rawValue)",
            "offset": "\(message.relay.offset)",
            "sender": message.relay.sender.text.quotedAsJSON,
            "shortened": text == nil ? nil : "\(message.isShortened)",
            "text": text?.quotedAsJSON,
        ])
    }

    /// Returns an object of members whose values are JSON. Members without a value are left out.
    private static func object(_ members: KeyValuePairs<String, String?>) -> String {
        let members = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return "{\(members.joined(separator: ","))}"
    }
}
