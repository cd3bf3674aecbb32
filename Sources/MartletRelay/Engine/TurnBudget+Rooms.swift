import MartletLink

extension TurnBudget {
    /// The work of a message for the room and its members, beside that of its frame.
    static let messageUnits = 1
    /// The work of a transient frame, which goes to all members of a room.
    static let transientUnits = 16
    /// The work of an operation on a room, which saves all roles of the room (Specs/hostile.md row 58), or of a page of
    /// history, which is read in several steps (Specs/hostile.md row 74).
    static let operationUnits = 64
    /// The work of a request about an attachment, which calls a store (Specs/hostile.md row 85).
    static let attachmentUnits = 8
    /// The work of a join, which reports the other members.
    static let openUnits = 16
}
