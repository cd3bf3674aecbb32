import BenchHarness

/// The engine's work for a message with growing numbers of links, rooms and sessions.
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
