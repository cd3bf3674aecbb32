import Testing

@testable import MartletAuthentication

@Suite struct SCRAMSecretTests {
    /// The numbers in the description and in the dump of a value.
    private func numbers(of value: Any) -> [UInt8] {
        var text = "\(value) \(String(reflecting: value))\n"
        dump(value, to: &text)
        return text.split { !$0.isNumber }.compactMap { UInt8($0) }
    }

    @Test func `descriptions and dumps of clients, servers and records contain no password or key`() throws {
        let exchange = try SCRAMExchange.makePlus()
        let values: [Any] = [
            exchange.client, try SCRAMVector.startedClient(), try SCRAMVector.challengingServer(), SCRAMRecord.sample,
            UnknownUserRecords.sample,
        ]
        let secrets = [Array("pencil".utf8), SCRAMRecord.sample.storedKey.bytes, SCRAMRecord.sample.serverKey.bytes]
        for value in values {
            let numbers = numbers(of: value)
            for secret in secrets { #expect(!numbers.contains(secret.prefix(3))) }
            #expect(!"\(value)".contains("pencil"))
        }
        #expect(numbers(of: SCRAMRecord.sample).contains(SCRAMRecord.sample.salt))
    }

    @Test func `secrets are equal if their bytes are equal`() {
        #expect(SCRAMSecret([1, 2]) == SCRAMSecret([1, 2]))
        #expect(SCRAMSecret([1, 2]) != SCRAMSecret([1, 3]))
        #expect(SCRAMSecret([1, 2]) != SCRAMSecret([1]))
    }
}
