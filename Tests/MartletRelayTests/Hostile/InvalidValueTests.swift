import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 14.
@Suite("A message with an invalid value is refused with a receipt")
struct InvalidValueTests {
    /// A well-formed message with an invalid value, and the code of its refusal.
    private struct Case: CustomTestStringConvertible {
        var testDescription: String
        var body: [UInt8]
        var code: ErrorCode

        static func text(_ name: String, _ content: [UInt8], _ code: ErrorCode) -> Case {
            Case(
                testDescription: name, body: TLVBytes.counter(1) + TLVBytes.kind(.text) + TLVBytes.container(content),
                code: code)
        }
    }

    private static let cases: [Case] = [
        .text("text that is not UTF-8", TLVBytes.leaf(.text, [0xC3, 0x28]), .invalidValue),
        .text("an overlong encoding", TLVBytes.leaf(.text, [0xC0, 0x80]), .invalidValue),
        .text("an empty text", TLVBytes.leaf(.text, []), .invalidValue),
        .text("no text", [], .missingField),
        .text("two texts", TLVBytes.leaf(.text, [65]) + TLVBytes.leaf(.text, [66]), .duplicateField),
        Case(
            testDescription: "no kind", body: TLVBytes.counter(1) + TLVBytes.container(Message.textContent("hi")),
            code: .missingField),
        Case(
            testDescription: "two kinds",
            body: TLVBytes.counter(1) + TLVBytes.kind(.text) + TLVBytes.kind(.text)
                + TLVBytes.container(Message.textContent("hi")),
            code: .duplicateField),
        Case(
            testDescription: "the relay's own fields",
            body: Message.encodeRelay(
                offset: 1, acceptedAt: 1, sender: AccountName("mallory"), device: DeviceID(rawValue: 1),
                clientBody: Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi")).rawBytes),
            code: .invalidValue),
    ]

    @Test(
        "message with an invalid value is rejected by its counter, and the session continues",
        arguments: RelayBackend.allCases, cases)
    private func refused(backend: RelayBackend, wrong: Case) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(.data, wrong.body, on: .first) }
            let receipt: Receipt = try await peer.expect()
            guard case .refused(let refusal) = receipt else {
                Issue.record("\(receipt)")
                return
            }
            #expect(refusal.counter == 1)
            #expect(refusal.code == wrong.code)
            #expect(try await peer.publish("right", counter: 2) == 1)
            #expect(await fixture.storedCount == 1)
        }
    }

    //
    @Test("message without a counter resets its session only", arguments: RelayBackend.allCases)
    func numberless(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            try await peer.open("another", on: .second)
            await peer.write {
                $0.frame(.data, TLVBytes.counter(0) + TLVBytes.kind(.text) + TLVBytes.container([]), on: .first)
            }
            let reset: Reset = try await peer.expect()
            #expect(reset.session == .first)
            #expect(reset.code == .invalidValue)
            #expect(try await peer.publish("right", counter: 1, on: .second) == 1)
        }
    }

    @Test("request with an invalid value is answered", arguments: RelayBackend.allCases)
    func request(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            let body =
                TLVBytes.leaf(.correlation, [0, 0, 0, 0, 0, 0, 0, 5]) + TLVBytes.leaf(.method, [])
                + TLVBytes.leaf(.deadline, [0, 0, 10, 0])
            await peer.write { $0.frame(.request, body, on: .first) }
            let response: Response = try await peer.expect()
            #expect(response.correlation == 5)
            #expect(response.status == .invalidValue)
            #expect(try await peer.publish("right", counter: 1) == 1)
        }
    }
}
