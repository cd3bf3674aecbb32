import Testing

@testable import MartletAuthentication

@Suite struct SCRAMTamperingTests {
    @Test(arguments: SCRAMExchange.Step.allCases, [false, true])
    func `an exchange fails if any bit of a message is flipped`(_ step: SCRAMExchange.Step, _ isPlus: Bool) throws {
        let exchange = isPlus ? try SCRAMExchange.makePlus() : try SCRAMExchange.make()
        let interrupted = try exchange.interrupted(at: step)
        #expect(interrupted.failure(with: interrupted.message) == nil)
        for bit in 0..<8 * interrupted.message.count {
            var message = interrupted.message
            message[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(interrupted.failure(with: message) != nil, "bit \(bit)")
        }
    }

    @Test(arguments: SCRAMExchange.Step.allCases, [false, true])
    func `an exchange fails if a message is truncated`(_ step: SCRAMExchange.Step, _ isPlus: Bool) throws {
        let exchange = isPlus ? try SCRAMExchange.makePlus() : try SCRAMExchange.make()
        let interrupted = try exchange.interrupted(at: step)
        for count in interrupted.message.indices {
            #expect(interrupted.failure(with: Array(interrupted.message.prefix(count))) != nil, "\(count) bytes")
        }
    }

    @Test(arguments: SCRAMExchange.Step.allCases.dropLast())
    func `an exchange fails if a message receives an extension on its way`(_ step: SCRAMExchange.Step) throws {
        let interrupted = try SCRAMExchange.make().interrupted(at: step)
        #expect(interrupted.failure(with: interrupted.text + ",x=1") != nil)
    }

    @Test func `an attacker who removes the channel binding of the client fails`() throws {
        let interrupted = try SCRAMExchange.makePlus().interrupted(at: .clientFirst)
        let bare = interrupted.text.replacing("p=tls-exporter,,", with: "")
        #expect(interrupted.failure(with: "n,," + bare) == .channelBindingRequired)
        #expect(interrupted.failure(with: "y,," + bare) == .channelBindingDowngrade)
    }

    @Test func `an attacker who changes the flag y to n fails`() throws {
        let interrupted = try SCRAMExchange.make(channelBinding: .unsupportedByServer).interrupted(at: .clientFirst)
        #expect(interrupted.failure(with: "n" + interrupted.text.dropFirst()) == .channelBindingMismatch)
    }

    @Test func `an attacker who lowers the iteration count fails`() throws {
        var exchange = try SCRAMExchange.make()
        exchange.record = try SCRAMRecord(password: "pencil", salt: Array(1...16), iterations: 10_000)
        let interrupted = try exchange.interrupted(at: .serverFirst)
        #expect(interrupted.failure(with: interrupted.text) == nil)
        #expect(interrupted.failure(with: interrupted.text.replacing("i=10000", with: "i=4096")) == .invalidProof)
    }

    @Test func `an attacker who sends the proof of a recorded exchange fails`() throws {
        let recorded = try SCRAMExchange.make().interrupted(at: .clientFinal)
        let exchange = SCRAMExchange(
            client: try SCRAMVector.client(), server: try SCRAMVector.server(), record: .sample)
        #expect(try exchange.interrupted(at: .clientFinal).failure(with: recorded.message) == .nonceMismatch)
    }

    @Test func `an attacker who sends back the client's proof as a signature fails`() throws {
        let exchange = try SCRAMExchange.make()
        let proof = try #require(try exchange.interrupted(at: .clientFinal).text.split(separator: ",p=").last)
        let interrupted = try exchange.interrupted(at: .serverFinal)
        #expect(interrupted.failure(with: "v=\(proof)") == .invalidServerSignature)
    }
}
