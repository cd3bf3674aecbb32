/// What a message's content is. Kinds that this version does not name travel unchanged.
public struct ContentKind: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// A kind by its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Whether the kind lies in the range left to applications, 0xF000…0xFFFE.
    public var isApplicationDefined: Bool { (0xF000...0xFFFE).contains(rawValue) }
}
