/// The verification of a client's proof (RFC 5802 §3), with a record that can belong to no user.
struct SCRAMVerification: Sendable {
    let record: SCRAMRecord
    let isKnownUser: Bool

    /// Returns the signature of the server, if the user is known and the proof correct. The computation is the same in
    /// every case.
    func signature(for proof: [UInt8], in transcript: SCRAMTranscript) throws(SCRAMError) -> [UInt8] {
        let signature = transcript.signature(record.serverKey)
        let clientKey = SCRAMHash.exclusiveOr(proof, transcript.signature(record.storedKey))
        let isProven = SCRAMSecret(SCRAMHash.digest(clientKey)) == record.storedKey
        guard isProven, isKnownUser else { throw .invalidProof }
        return signature
    }
}
