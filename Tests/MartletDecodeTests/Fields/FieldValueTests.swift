import MartletWire
import Testing

@testable import MartletDecode

@Suite struct FieldValueTests {
    @Test func `every registered tag except those of raw bytes, null and double → a form other than bytes`() {
        let plain = MartletWire.Tag.registered.filter { tag in
            guard !tag.isContainer else { return false }
            return if case .bytes = FieldShape(tag) { true } else { false }
        }
        #expect(plain == [.message, .entry, .item, .data, .digest, .thumbnail, .null, .double])
    }

    @Test func `a record → its members by name`() {
        let echo = FieldShape(.echo).value([0, 0, 0, 5, 0, 0, 0, 9], showingSecrets: false)
        #expect(
            echo
                == .record([
                    FieldValue.Member(name: "timestamp", value: .number(5)),
                    FieldValue.Member(name: "microseconds", value: .number(9)),
                ]))
    }

    @Test func `a standing → its numbers and the account, and bytes without an account in UTF-8`() {
        let head: [UInt8] = [4, 0, 0, 0, 0, 0, 0, 0, 0, 9]
        let members: [FieldValue.Member] = [
            .init(name: "role", value: .number(4)), .init(name: "banned", value: .number(0)),
            .init(name: "mutedUntil", value: .number(9)), .init(name: "account", value: .text("ada")),
        ]
        #expect(FieldShape(.standing).value(head + Array("ada".utf8), showingSecrets: false) == .record(members))
        for bytes in [head + [0xFF], Array(head.dropLast())] {
            #expect(FieldShape(.standing).value(bytes, showingSecrets: false) == .bytes(bytes))
        }
    }

    @Test func `a reference to a message → its numbers and the account`() {
        let head: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9]
        let members: [FieldValue.Member] = [
            .init(name: "device", value: .number(7)), .init(name: "counter", value: .number(3)),
            .init(name: "offset", value: .number(9)), .init(name: "account", value: .text("ada")),
        ]
        #expect(FieldShape(.target).value(head + Array("ada".utf8), showingSecrets: false) == .record(members))
        #expect(FieldShape(.target).value(head + [0xFF], showingSecrets: false) == .bytes(head + [0xFF]))
    }

    @Test func `a secret → its length, or its bytes if requested`() {
        #expect(FieldShape(.credential).value([1, 2], showingSecrets: false) == .secret(2))
        #expect(FieldShape(.credential).value([1, 2], showingSecrets: true) == .bytes([1, 2]))
    }
}
