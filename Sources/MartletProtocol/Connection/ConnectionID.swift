/// Names one attempt to connect and the connection it becomes; every attempt of a machine has a higher one.
///
/// What a socket reports brings the ID along, so news of an attempt that was given up is told from news that matters
/// (C-4).
public struct ConnectionID: RawRepresentable, Hashable, Sendable {
    /// The count of attempts when this one began; 0 is no attempt.
    public var rawValue: UInt32

    /// The ID of the attempt with that number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// No attempt: what a machine holds before its first.
    public static let none = ConnectionID(rawValue: 0)

    /// The ID of the attempt after this one. After 2³² attempts (136 years at one a second) the count begins again at
    /// 1.
    public var next: ConnectionID {
        ConnectionID(rawValue: rawValue == .max ? 1 : rawValue + 1)
    }
}
