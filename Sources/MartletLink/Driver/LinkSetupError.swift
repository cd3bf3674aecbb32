public import MartletTransport

/// An error that prevents the creation of a ``LinkClient`` or the start of a ``LinkListener``.
public enum LinkSetupError: Error, Equatable, Sendable {
    /// The text is not the name of an account, which has 1 to 128 bytes (W-31).
    case invalidAccount(String)
    /// The text is not an address.
    case invalidEndpoint(String)
    /// There is no address to listen on.
    case noAddresses
    /// Without TLS, a program connects to its own machine only, and listens on loopback addresses only, unless its
    /// configuration allows others.
    case plaintextNotAllowed(String)
    /// A listener without authentication listens on loopback addresses only.
    case authenticationRequired(SocketAddress)
    /// The certificate or another file of TLS is not valid.
    case invalidTLS(TLSError)
    /// The listener cannot listen on the address.
    case cannotListen(SocketAddress, TransportError)
    /// The listener was started or closed before.
    case alreadyStarted
}
