import MartletDifferential
import MartletToolSupport

/// `martlet-lab differential`: answers for the comparison with the reference implementation.
enum DifferentialCommand {
    static let spec = CommandSpec(
        name: "differential",
        summary: "Answer questions about frames on standard input, for Specs/reference/differential.py.",
        options: [],
        notes: ["Sources/MartletDifferential/DifferentialPeer.swift describes the questions and the answers."],
        exitCodes: [ExitMeaning(.success, "the input has ended")]
    ) { _ in
        DifferentialPeer.run()
        return .success
    }
}
