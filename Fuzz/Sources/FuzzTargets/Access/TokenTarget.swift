import MartletAuthentication
import MartletWire

/// Key sets and tokens: nothing traps, and no token is accepted but those that the keys have signed.
///
/// Input: a byte; if it is even, the document of a key set, otherwise a token for a fixed key.
enum TokenTarget {
    /// A key for HS256 that no input contains, and the fixed time of verification.
    private static let document = #"{"keys":[{"kty":"oct","k":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA"}]}"#
    private static let now: Int64 = 1_700_000_000

    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        if input.loadUInt8(at: 0) & 1 == 0 {
            guard let keys = try? JSONWebKeySet(bytes) else { return }
            hold(keys.keyCount > 0 && keys.keyCount <= JSONWebKeySet.maxKeys, "a key set has \(keys.keyCount) keys")
            verify(Array("e30.e30.AA".utf8), by: keys)
        } else if let keys = try? JSONWebKeySet(Array(document.utf8)) {
            verify(bytes, by: keys)
        } else {
            hold(false, "the fixed key set is not valid")
        }
    }

    private static func verify(_ token: [UInt8], by keys: JSONWebKeySet) {
        let verifier = TokenVerifier(keys: keys, audience: "martlet")
        hold((try? verifier.verify(token, now: now)) == nil, "a forged token is accepted")
    }
}
