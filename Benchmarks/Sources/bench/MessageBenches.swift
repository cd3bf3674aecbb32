import BenchHarness
import CBaselines
import MartletWire

/// The fields of a chat message, decoded and encoded, compared with C++ protobuf.
enum MessageBenches {
    /// Messages in one call.
    private static let operations = 1000
    /// A text with the mean length of the fortunes.
    private static let text = "The bird that never lands: whoever has read this far knows what a martlet is, says Ada."
    private static let sender = "ada.lovelace@example"

    static func cases(_ protobuf: Protobuf?) -> [Case] {
        let body = message(stamp()).encode()
        let codec = MessageCodec()
        return [
            Case(
                "message/decode to views", per: "message",
                [
                    Subject("martlet", operations: operations) { repeated { readViews(body) } }
                ] + (protobuf?.decoders(operations) ?? [])),
            Case(
                "message/decode to strings", per: "message",
                [
                    Subject("martlet", operations: operations) { codec.readStrings(body) }
                ] + (protobuf?.decoders(operations) ?? [])),
            Case(
                "message/encode", per: "message",
                [
                    Subject("martlet", operations: operations) { codec.write() }
                ] + (protobuf?.encoders(operations) ?? [])),
            Case(
                "message/encode to keep", per: "message",
                [
                    Subject("martlet", operations: operations) { codec.writeToKeep() }
                ]),
        ]
    }

    fileprivate static func repeated(_ body: () -> Void) {
        for _ in 0..<operations { body() }
    }

    fileprivate static func message(_ stamp: RelayStamp) -> Message {
        Message(counter: 1_234_567, content: MessageContent(text: text), relay: stamp)
    }

    fileprivate static func stamp() -> RelayStamp {
        RelayStamp(
            offset: 4_711, acceptedAt: 1_789_000_000_000, sender: AccountName(sender)!,
            device: DeviceID(rawValue: 0x1122_3344_5566_7788))
    }

    /// All seven fields.
    private static func readViews(_ body: [UInt8]) {
        do throws(WireError) {
            let view = try MessageView(parsing: body.rawBytes)
            let numbers = view.offset! &+ view.acceptedAt! &+ view.device!.rawValue &+ UInt64(view.kind.rawValue)
            measure_keep(numbers &+ view.counter &+ UInt64(view.text!.byteCount &+ view.sender!.byteCount))
        } catch {
            preconditionFailure("the body is wrong: \(error)")
        }
    }
}

/// The shared state of a client's messages: the writer's memory and the senders' names.
private final class MessageCodec {
    private let stamp = MessageBenches.stamp()
    private var writer = TLVWriter()
    private var senders = AccountNames()

    func readStrings(_ body: [UInt8]) {
        Self.readStrings(body, &senders)
    }

    private static func readStrings(_ body: [UInt8], _ senders: inout AccountNames) {
        MessageBenches.repeated {
            do throws(WireError) {
                let view = try MessageView(parsing: body.rawBytes)
                let text = unsafe view.text!.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
                let sender = senders.name(view.sender!)!.text
                measure_keep(view.counter &+ UInt64(text.utf8.count &+ sender.utf8.count))
            } catch {
                preconditionFailure("the body is wrong: \(error)")
            }
        }
    }

    func write() {
        Self.write(stamp, &writer)
    }

    /// Encodes the application's values to the body's bytes.
    private static func write(_ stamp: RelayStamp, _ writer: inout TLVWriter) {
        MessageBenches.repeated {
            writer.removeAll()
            MessageBenches.message(stamp).encode(into: &writer)
            measure_keep(UInt64(writer.byteCount))
        }
    }

    func writeToKeep() {
        Self.writeToKeep(stamp, &writer)
    }

    /// Encodes and copies the body, as a client keeps it until its acknowledgement.
    private static func writeToKeep(_ stamp: RelayStamp, _ writer: inout TLVWriter) {
        MessageBenches.repeated {
            writer.removeAll()
            MessageBenches.message(stamp).encode(into: &writer)
            measure_keep(UInt64(writer.bytes.count))
        }
    }
}
