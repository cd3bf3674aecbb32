/// The bounds of SCRAM messages and their parameters (C-86).
public enum SCRAMLimits {
    /// The maximum number of bytes of a message.
    public static let maxMessageByteCount = 4096
    /// The number of random bytes of which an endpoint makes its nonce. The nonce is their base64.
    public static let nonceByteCount = 18...128
    /// The maximum number of bytes of the attribute `r`, which contains the nonces of both endpoints.
    public static let maxNonceTextByteCount = 1024
    /// The number of bytes of a user name, before `,` and `=` are escaped.
    public static let userNameByteCount = 1...128
    /// The number of bytes of a password.
    public static let passwordByteCount = 1...1024
    /// The number of iterations of PBKDF2. The minimum is that of RFC 7677 §3. The maximum bounds the computation that
    /// a server can demand of a client, to about a second.
    public static let iterationCount = 4096...1_000_000
    /// The number of bytes of the salt of a ``SCRAMRecord``. All salts have the same length, so that the salt of an
    /// unknown user does not differ.
    public static let recordSaltByteCount = 16
    /// The minimum number of bytes of the secret of ``UnknownUserRecords``.
    public static let minSecretByteCount = 32
}
