import BenchHarness

/// The engine's work for a message and for a delivery, in batches as in a busy relay, and alone.
///
/// The clients' encoding and decoding is included: about 2,000 instructions a message and 800 a delivery.
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
