/// The channel binding of a client (RFC 5802 §6).
///
/// The mechanism is SCRAM-SHA-256-PLUS with ``tlsExporter(_:)``, otherwise SCRAM-SHA-256.
public enum ChannelBinding: Equatable, Sendable {
    /// The client does not support channel bindings; the GS2 flag `n`.
    case none
    /// The client supports channel bindings, but the server did not offer SCRAM-SHA-256-PLUS; the GS2 flag `y`. A
    /// server that did offer it refuses this flag, because an attacker has then removed the offer.
    case unsupportedByServer
    /// The `tls-exporter` of RFC 9266: the 32 bytes of keying material that TLS exports with the label
    /// `EXPORTER-Channel-Binding` and an empty context.
    case tlsExporter([UInt8])

    /// The label with which TLS exports the keying material (RFC 9266 §2).
    public static let exporterLabel = "EXPORTER-Channel-Binding"

    /// The number of bytes of ``tlsExporter(_:)``.
    public static let exporterByteCount = 32

    static let exporterName = "tls-exporter"

    /// The GS2 header, without an authorization identity.
    var header: [UInt8] {
        switch self {
        case .none: Array("n,,".utf8)
        case .unsupportedByServer: Array("y,,".utf8)
        case .tlsExporter: Array("p=\(Self.exporterName),,".utf8)
        }
    }

    /// The `cbind-input` of RFC 5802 §7: the GS2 header and the channel binding data.
    var input: [UInt8] {
        if case .tlsExporter(let data) = self { header + data } else { header }
    }

    func validate() throws(SCRAMError) {
        if case .tlsExporter(let data) = self, data.count != Self.exporterByteCount { throw .invalidExporter }
    }
}
