/// The kind of a message's content. Kinds without a name in this version are forwarded unchanged.
public struct ContentKind: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Creates the kind with a number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Whether the kind is in the range for applications, 0xF000 to 0xFFFE.
    public var isApplicationDefined: Bool { (0xF000...0xFFFE).contains(rawValue) }
}
