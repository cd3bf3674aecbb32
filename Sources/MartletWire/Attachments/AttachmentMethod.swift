/// The method of a request on a session of kind attachment.
public enum AttachmentMethod: String, CaseIterable, Sendable {
    /// Begin an upload, or continue it.
    case begin = "attachment.begin"
    /// Store bytes of an upload.
    case write = "attachment.write"
    /// Read bytes of a complete attachment.
    case read = "attachment.read"
    /// Ask for the length of a complete attachment.
    case info = "attachment.info"
    /// Discard an incomplete upload.
    case remove = "attachment.remove"

    /// The name of the method.
    public var name: MethodName { MethodName(rawValue)! }

    /// The method of a name; nil for any other name.
    public init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }
}
