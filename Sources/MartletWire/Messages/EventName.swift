/// The name of an event in a system message, 1 to 64 bytes, for example `call.started` (M-7).
public struct EventName: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 64
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}
