import MartletDifferential
import MartletToolSupport

/// `martlet-lab differential`: the Swift side of the comparison with the reference implementation.
enum DifferentialCommand {
    static let spec = CommandSpec(
        name: "differential",
        summary: "Parse and encode frames on standard input, for Specs/reference/differential.py.",
        options: [],
        notes: ["Dev/Sources/MartletDifferential/DifferentialPeer.swift describes the format of the lines."],
        exitCodes: [ExitMeaning(.success, "the input has ended")]
    ) { _ in
        DifferentialPeer.run()
        return .success
    }
}
