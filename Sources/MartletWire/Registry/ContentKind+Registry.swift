// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension ContentKind {
    /// Text: one `text` field of UTF-8.
    public static let text = ContentKind(rawValue: 0x1001)
    /// An image.
    public static let image = ContentKind(rawValue: 0x1002)
    /// A file.
    public static let file = ContentKind(rawValue: 0x1003)
    /// An audio recording.
    public static let audio = ContentKind(rawValue: 0x1004)
    /// A video.
    public static let video = ContentKind(rawValue: 0x1005)
    /// A geographic location.
    public static let location = ContentKind(rawValue: 0x1006)
    /// The contact data of a person.
    public static let contact = ContentKind(rawValue: 0x1007)
    /// A value of an application, for example a command to a bot.
    public static let command = ContentKind(rawValue: 0x1008)
    /// Another text for a message.
    public static let edit = ContentKind(rawValue: 0x1009)
    /// The deletion of a message.
    public static let delete = ContentKind(rawValue: 0x100A)
    /// A reaction to a message, or its removal.
    public static let reaction = ContentKind(rawValue: 0x100B)
    /// A text in reply to a message.
    public static let reply = ContentKind(rawValue: 0x100C)
    /// An event of the application.
    public static let system = ContentKind(rawValue: 0x100D)
    /// A file, or where it is.
    public static let attachment = ContentKind(rawValue: 0x100E)
    /// A message that the relay has erased (M-37). The content is empty.
    public static let erased = ContentKind(rawValue: 0x100F)
    /// The status of a build, a server or another source (M-39).
    public static let card = ContentKind(rawValue: 0x1010)
    /// An acknowledgement. The number is reserved and not sent as content.
    public static let ack = ContentKind(rawValue: 0x2001)
    /// A heartbeat. The number is reserved and not sent as content.
    public static let heartbeat = ContentKind(rawValue: 0x3001)
}

extension ContentKind {
    /// All kinds of version 1.0, in the order of their numbers.
    package static let registered: [ContentKind] = [
        .text, .image, .file, .audio, .video, .location, .contact, .command, .edit, .delete, .reaction, .reply, .system,
        .attachment, .erased, .card, .ack, .heartbeat,
    ]
}

extension ContentKind {
    /// Whether a message of the kind counts as unread (M-27).
    public var countsAsUnread: Bool {
        switch self {
        case .command, .edit, .delete, .reaction, .system, .erased, .ack, .heartbeat: false
        default: true
        }
    }

    /// Whether a message of the kind can be the last one of a room in a list (M-28).
    public var isListed: Bool {
        switch self {
        case .command, .edit, .delete, .reaction, .ack, .heartbeat: false
        default: true
        }
    }
}
