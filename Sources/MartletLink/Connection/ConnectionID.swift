/// The identifier of a connection attempt and of the connection that it produces. Each attempt of a machine has a
/// higher number than the previous ones.
///
/// A socket includes the identifier in its reports, so that the machine can discard reports of earlier attempts (C-4).
package struct ConnectionID: RawRepresentable, Hashable, Sendable {
    /// The number of the attempt, from 1; 0 if there is no attempt.
    package var rawValue: UInt32

    /// Creates the identifier with a number.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The identifier before the first attempt.
    package static let none = ConnectionID(rawValue: 0)

    /// The identifier of the next attempt. After 2³² attempts the numbers restart at 1.
    package var next: ConnectionID {
        ConnectionID(rawValue: rawValue == .max ? 1 : rawValue + 1)
    }
}
