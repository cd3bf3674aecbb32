import BenchHarness
import CBaselines
import MartletWire

/// A chat message's fields, read and written, beside the C++ protobuf on the same fields.
enum MessageBenches {
    /// How many messages one call reads or writes.
    private static let operations = 1000
    /// A text as long as the mean of the fortunes.
    private static let text = "The bird that never lands: whoever has read this far knows what a martlet is, says Ada."
    private static let sender = "ada.lovelace@example"

    static func cases(_ protobuf: Protobuf?) -> [Case] {
        let body = message().encode()
        return [
            Case(
                "message/decode to views", per: "message",
                [
                    Subject("martlet", operations: operations) { repeated { readViews(body) } }
                ] + (protobuf?.decoders(operations) ?? [])),
            Case(
                "message/decode to strings", per: "message",
                [
                    Subject("martlet", operations: operations) { repeated { readStrings(body) } }
                ] + (protobuf?.decoders(operations) ?? [])),
            Case(
                "message/encode", per: "message",
                [
                    Subject("martlet", operations: operations) { repeated { write() } }
                ] + (protobuf?.encoders(operations) ?? [])),
        ]
    }

    private static func repeated(_ body: () -> Void) {
        for _ in 0..<operations { body() }
    }

    private static func message() -> Message {
        Message(counter: 1_234_567, kind: .text, content: Message.textContent(text), relay: stamp)
    }

    private static let account = AccountName(sender)!
    private static let stamp = RelayStamp(
        offset: 4_711, acceptedAt: 1_789_000_000_000, sender: account,
        device: DeviceID(rawValue: 0x1122_3344_5566_7788))

    private static func readViews(_ body: [UInt8]) {
        do throws(WireError) {
            let view = try MessageView(parsing: body.rawBytes)
            measure_keep(view.counter &+ UInt64(view.text!.byteCount))
        } catch {
            preconditionFailure("the body is wrong: \(error)")
        }
    }

    private static func readStrings(_ body: [UInt8]) {
        do throws(WireError) {
            let view = try MessageView(parsing: body.rawBytes)
            let strings = (string(view.text!), string(view.sender!))
            measure_keep(view.counter &+ UInt64(strings.0.utf8.count &+ strings.1.utf8.count))
        } catch {
            preconditionFailure("the body is wrong: \(error)")
        }
    }

    private static func string(_ bytes: RawSpan) -> String {
        unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// From the application's values to the body's bytes.
    private static func write() {
        measure_keep(UInt64(message().encode().count))
    }
}
