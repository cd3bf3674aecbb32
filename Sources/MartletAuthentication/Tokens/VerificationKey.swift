import CMartletCrypto

/// A key that verifies the signatures of exactly one algorithm.
@safe
final class VerificationKey: @unchecked Sendable {  // The C type is immutable and may be used by several threads.
    /// The values of a key; its type decides the algorithm.
    enum Material {
        /// RS256; big-endian numbers without leading zeros, the modulus of 2048 to 8192 bits.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// ES256; a point of P-256, 32 bytes each.
        case p256(x: [UInt8], y: [UInt8])
        /// EdDSA; an Ed25519 public key of 32 bytes.
        case ed25519([UInt8])
        /// HS256; at least 32 bytes.
        case secret([UInt8])

        var algorithm: SignatureAlgorithm {
            switch self {
            case .rsa: .rs256
            case .p256: .es256
            case .ed25519: .edDSA
            case .secret: .hs256
            }
        }
    }

    let algorithm: SignatureAlgorithm
    private let pointer: OpaquePointer

    /// Creates a key; nil if its values violate the bounds of their case. On Apple systems every result is nil.
    init?(_ material: Material) {
        let pointer = unsafe Self.pointer(material)
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
        algorithm = material.algorithm
    }

    deinit {
        unsafe martlet_signature_key_free(pointer)
    }

    private static func pointer(_ material: Material) -> OpaquePointer? {
        switch material {
        case .rsa(let modulus, let exponent):
            unsafe martlet_signature_key_create_rsa(modulus, modulus.count, exponent, exponent.count)
        case .p256(let x, let y): unsafe martlet_signature_key_create_p256(x, x.count, y, y.count)
        case .ed25519(let x): unsafe martlet_signature_key_create_ed25519(x, x.count)
        case .secret(let secret): unsafe martlet_signature_key_create_secret(secret, secret.count)
        }
    }

    /// Whether `signature` is this key's signature of the message, in the form that JOSE has for the algorithm.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        unsafe martlet_signature_verify(pointer, message, message.count, signature, signature.count) == 1
    }
}
