import BenchHarness

/// The engine's work for a message when there is more of everything: links, rooms, sessions of a link.
enum GrowthBenches {
    private static let messages = 2000

    static func cases() -> [Case] {
        [
            Case(
                "growth/links", per: "message",
                [
                    subject("100 links", .init(idleLinks: 100)), subject("10,000 links", .init(idleLinks: 10_000)),
                ]),
            Case(
                "growth/rooms", per: "message",
                [
                    subject("1 room", .init(rooms: 1)),
                    subject("10,000 rooms", .init(rooms: 10_000, sessionsPerLink: 64)),
                ]),
            Case(
                "growth/sessions", per: "message",
                [
                    subject("1 session", .init(rooms: 1)),
                    subject("64 sessions", .init(rooms: 64, sessionsPerLink: 64)),
                ]),
        ]
    }

    private static func subject(_ name: String, _ shape: RelayRig.Shape) -> Subject {
        .rig(name, shape, publishing: messages)
    }
}

/// The engine's work for a message and for a delivery when many come together, as they do where a relay is busy.
///
/// What clients say and read is counted with it, some 2,000 instructions a message and 800 a delivery.
enum EngineBenches {
    static func cases() -> [Case] {
        [
            Case(
                "engine/1 to 1", per: "message",
                [
                    .rig("rows of 200", .init(turnMessages: 200), publishing: 20_000),
                    .rig("one at a time", .init(turnMessages: 1), publishing: 2000),
                ]),
            Case(
                "engine/to 100", per: "message",
                [.rig("rows of 32", .init(members: 100, turnMessages: 32), publishing: 3200)]),
            Case(
                "engine/to 1,000", per: "message",
                [.rig("one at a time", .init(members: 1000, turnMessages: 1), publishing: 100)]),
        ]
    }
}

extension Subject {
    /// The rig is set up when it is used first.
    fileprivate static func rig(_ name: String, _ shape: RelayRig.Shape, publishing messages: Int) -> Subject {
        var rig: RelayRig?
        return Subject(name, operations: messages) {
            let ready = rig ?? RelayRig(shape)
            rig = ready
            ready.publish(messages)
        }
    }
}
