import Testing

@testable import MartletWire

/// Compares the parser for the frequent layout with the general parser.
@Suite struct MessageFieldOffsetsTests {
    static let stamp = stamp(by: "ada@example")

    static func stamp(by sender: String) -> RelayStamp {
        RelayStamp(
            offset: 7, acceptedAt: 1_789_000_000_000, sender: AccountName(sender)!, device: DeviceID(rawValue: 9))
    }

    static let bodies = [
        "ab", "seven77", "eight888", "The bird that never lands, says Ada.", "燕子 — mårtlet 🐦, and more",
    ]
    .flatMap { text in
        [nil, Duration.seconds(5)].flatMap { time in
            [
                body(text, timeToLive: time, relay: nil), body(text, timeToLive: time, relay: stamp),
                body(text, timeToLive: time, relay: stamp(by: "Ada 燕 L")),
            ]
        }
    }

    static func body(_ text: String, timeToLive: Duration?, relay: RelayStamp?) -> [UInt8] {
        let content = Message.textContent(text)
        return Message(counter: 3, kind: .text, content: content, timeToLive: timeToLive, relay: relay).encode()
    }

    /// Returns all values of a view, or its error.
    static func shown(_ view: borrowing MessageView) -> [String] {
        func text(_ bytes: RawSpan?) -> String {
            guard let bytes else { return "nil" }
            return "\([UInt8](copying: bytes))"
        }
        return [
            "\(view.counter) \(view.kind.rawValue)", text(view.content), text(view.text),
            "\(String(describing: view.timeToLive)) \(String(describing: view.offset))",
            "\(String(describing: view.acceptedAt)) \(String(describing: view.device))", text(view.sender),
        ]
    }

    static func read(_ body: [UInt8]) -> [String] {
        do throws(WireError) { return shown(try MessageView(parsing: body.rawBytes)) } catch { return ["\(error)"] }
    }

    static func readByField(_ body: [UInt8]) -> [String] {
        do throws(WireError) { return shown(try MessageView(any: body.rawBytes)) } catch { return ["\(error)"] }
    }

    @Test(arguments: bodies) func `the frequent layout is recognized and gives the values of the general parser`(
        body: [UInt8]
    ) {
        let isUsual = MessageFieldOffsets(usual: body.rawBytes) != nil
        #expect(isUsual)
        #expect(Self.read(body) == Self.readByField(body))
    }

    @Test(arguments: bodies) func `each changed byte and each truncation gives the result of the general parser`(
        body: [UInt8]
    ) {
        for offset in body.indices {
            for value in [0, 1, 0x20, 0x7F, 0x80, 0xC2, 0xFF, body[offset] ^ 1, body[offset] ^ 2, body[offset] &+ 8]
                as [UInt8]
            {
                var changed = body
                changed[offset] = value
                #expect(Self.read(changed) == Self.readByField(changed), "byte \(offset) is \(value)")
            }
            let cut = Array(body[..<offset])
            #expect(Self.read(cut) == Self.readByField(cut), "cut to \(offset)")
            let more = body + body[offset...]
            #expect(Self.read(more) == Self.readByField(more), "more from \(offset)")
        }
    }

    @Test func `senders and texts of every length are recognized, and a changed character is accepted or refused`() {
        for count in [2, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40, 63, 64, 65, 96, 127, 128, 129] {
            let text = String(repeating: "t", count: count)
            let sender = String(repeating: "s", count: min(count, AccountName.maxByteCount))
            let body = Self.body(text, timeToLive: nil, relay: Self.stamp(by: sender))
            let isUsual = MessageFieldOffsets(usual: body.rawBytes) != nil
            #expect(isUsual)
            #expect(Self.read(body) == Self.readByField(body))
            for offset in body.indices where body[offset] == UInt8(ascii: "s") || body[offset] == UInt8(ascii: "t") {
                for value in [0x1F, 0x7F, 0x80] as [UInt8] {
                    var changed = body
                    changed[offset] = value
                    #expect(Self.read(changed) == Self.readByField(changed), "byte \(offset) of \(count) is \(value)")
                }
            }
        }
    }

    @Test func `the shortest texts give the values of the general parser`() {
        for text in ["a", "b", "ab"] {
            for time in [nil, Duration.seconds(5)] {
                let plain = Self.body(text, timeToLive: time, relay: nil)
                #expect(Self.read(plain) == Self.readByField(plain))
                let stamped = Self.body(text, timeToLive: time, relay: Self.stamp)
                #expect(Self.read(stamped) == Self.readByField(stamped))
            }
        }
    }
}
