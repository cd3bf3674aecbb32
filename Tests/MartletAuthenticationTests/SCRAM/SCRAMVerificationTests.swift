import Testing

@testable import MartletAuthentication

@Suite struct SCRAMVerificationTests {
    private let transcript = SCRAMTranscript(
        clientFirstBare: Array(SCRAMVector.clientFirst.utf8.dropFirst(3)),
        serverFirst: Array(SCRAMVector.serverFirst.utf8),
        withoutProof: Array("c=biws,r=\(SCRAMVector.clientNonce)\(SCRAMVector.serverNonce)".utf8))
    private let proof = Base64.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".utf8, .standard)!

    // RFC 7677 §3
    @Test func `a correct proof of a known user gives the signature of RFC 7677`() throws {
        let verification = SCRAMVerification(record: .sample, isKnownUser: true)
        let signature = try verification.signature(for: proof, in: transcript)
        #expect(Base64.encode(signature, .standard) == "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    }

    @Test func `a correct proof is refused if the user is unknown`() {
        let verification = SCRAMVerification(record: .sample, isKnownUser: false)
        #expect(throws: SCRAMError.invalidProof) { try verification.signature(for: proof, in: transcript) }
    }

    @Test func `a proof with any bit flipped is refused`() {
        let verification = SCRAMVerification(record: .sample, isKnownUser: true)
        for bit in 0..<256 {
            var other = proof
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: SCRAMError.invalidProof) { try verification.signature(for: other, in: transcript) }
        }
    }
}
