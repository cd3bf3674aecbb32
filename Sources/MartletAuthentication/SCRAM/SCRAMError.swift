/// An attribute of SCRAM messages; its raw value is its letter (RFC 5802 §5.1).
public enum SCRAMAttribute: Character, Sendable {
    /// `a`, the authorization identity.
    case authorizationIdentity = "a"
    /// `n`, the user name.
    case userName = "n"
    /// `m`, an extension that the receiver must support.
    case mandatoryExtension = "m"
    /// `r`, the nonce.
    case nonce = "r"
    /// `c`, the GS2 header and the channel binding data.
    case channelBinding = "c"
    /// `s`, the salt.
    case salt = "s"
    /// `i`, the iteration count.
    case iterationCount = "i"
    /// `p`, the proof of the client.
    case proof = "p"
    /// `v`, the signature of the server.
    case verifier = "v"
    /// `e`, the error of the server.
    case serverError = "e"
}

/// The reason for which a SCRAM exchange, or the creation of one of its values, failed.
public enum SCRAMError: Error, Equatable, Sendable {
    /// The user name is empty, longer than 128 bytes, or contains a control character.
    case invalidUserName
    /// The password is empty, longer than 1024 bytes, or contains a control character.
    case invalidPassword
    /// The nonce has fewer than 18 or more than 128 bytes.
    case invalidNonce
    /// The channel binding data of `tls-exporter` do not have 32 bytes.
    case invalidExporter
    /// The salt of a record does not have 16 bytes.
    case invalidSalt
    /// The secret for unknown users has fewer than 32 bytes.
    case invalidSecret

    /// The event does not belong to the state.
    case unexpectedEvent
    /// The message has more than 4096 bytes.
    case oversizedMessage
    /// The message is not a sequence of attributes, or an attribute follows that is no extension.
    case malformedMessage
    /// The message has another attribute, or none, at the position of this one.
    case missingAttribute(SCRAMAttribute)
    /// The value of an attribute has an invalid form or length.
    case invalidAttribute(SCRAMAttribute)
    /// The message contains `m`, an extension that the receiver must support. None is supported.
    case mandatoryExtension
    /// The GS2 header has an invalid form (RFC 5802 §7).
    case malformedHeader
    /// The client requests another authorization identity than its user name. This is not supported.
    case authorizationIdentity
    /// The nonce is not the one that the exchange requires, or does not extend the client's.
    case nonceMismatch
    /// The iteration count is less than 4096 or more than 1,000,000.
    case iterationCountOutOfBounds

    /// The client uses a channel binding that the server does not support on this connection.
    case unsupportedChannelBinding
    /// The client does not support channel bindings, but the server requires one.
    case channelBindingRequired
    /// The client believes that the server does not support channel bindings. An attacker has possibly changed the list
    /// of mechanisms (RFC 5802 §6).
    case channelBindingDowngrade
    /// The channel binding data, or the GS2 headers in both messages of the client, differ.
    case channelBindingMismatch

    /// The proof of the client is not correct, or the user is unknown.
    case invalidProof
    /// The signature of the server is not correct. The server does not know the password's keys.
    case invalidServerSignature
    /// The server ended the exchange with this error (RFC 5802 §7, `server-error-value`).
    case refusedByServer(String)
}
