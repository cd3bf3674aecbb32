public import Martlet
public import MartletTimeline

/// The error of a model's command, which a view shows.
public enum ModelError: Error, Sendable, Equatable {
    /// An error of the client.
    case messaging(MartletError)
    /// An error of the timeline's file.
    case storage(DatabaseError)
    /// Another error, with its description.
    case other(String)

    /// Nil for the cancellation of a task.
    init?(_ error: any Error) {
        switch error {
        case is CancellationError: return nil
        case let error as MartletError: self = .messaging(error)
        case let error as DatabaseError: self = .storage(error)
        default: self = .other("\(error)")
        }
    }
}

extension ModelError: CustomStringConvertible {
    /// The description of the underlying error.
    public var description: String {
        switch self {
        case .messaging(let error): "\(error)"
        case .storage(let error): "\(error)"
        case .other(let text): text
        }
    }
}
