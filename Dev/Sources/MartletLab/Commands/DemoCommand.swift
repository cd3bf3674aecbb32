import Foundation
import MartletToolSupport

/// `martlet-lab demo`: sends a file through a faulty network, and compares it with the file that arrived.
enum DemoCommand {
    private static let seed = Option.number("seed", "N", help: "seed of the link's jitter [1]")
    private static let json = Option.flag("json", help: "print the result as a JSON object")

    static let spec = CommandSpec(
        name: "demo",
        summary: "Send a file to another process through a faulty network, and compare it.",
        operand: "FILE",
        options: [seed.spec, WeaknetCommand.capture.spec, json.spec],
        notes: [
            """
            The command starts a relay, a faulty link to it (200 ms ± 50 ms in each direction, a black hole of 5 s, at \
            least ten cuts of connections), and the processes 'martlet send' and 'martlet listen', which transfer \
            every line of FILE. At the end both texts are compared. The connections use TLS, with certificates of \
            'martlet dev-cert'.
            """,
            """
            With --capture the connections do not use TLS, so that the capture can be read. Its file contains the \
            packets of the link, then those of a short conversation with a frame of every type.
            """,
            "The default for FILE is the license texts in \(DemoText.licenses). A small file is repeated.",
        ],
        exitCodes: [
            ExitMeaning(.success, "the received bytes equal the sent ones"),
            ExitMeaning(.failure, "the bytes differ, or a program failed"),
            ExitMeaning(.noInput, "FILE cannot be read, is empty or too large"),
            ExitMeaning(.cannotCreate, "the capture cannot be written"),
            ExitMeaning(.inputOutput, "the capture is incomplete"),
            ExitMeaning(.interrupted, "interrupted"),
        ]
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let text = try DemoText.load(arguments.operands.first)
        let isQuiet = arguments.has(json)
        let isLive = !isQuiet && Terminal.isTerminal(STDOUT_FILENO) && Terminal.isCapable
        let block = LiveBlock()
        if !isQuiet { try Output.print(introduction(of: text)) }
        let capture = try arguments[WeaknetCommand.capture].map { path throws(CommandError) in
            try CaptureFile(path: path)
        }
        let run = DemoRun(text: text, seed: arguments[seed] ?? 1, capture: capture) { view in
            if isLive { block.show(view.lines(columns: Terminal.size(of: STDOUT_FILENO).columns)) }
        }
        let outcome: DemoRun.Outcome
        do {
            outcome = try await run.run()
        } catch is CancellationError {
            block.clear()
            throw CommandError(.interrupted, "interrupted")
        }
        block.clear()
        if isQuiet {
            try Output.print(outcome.view.json(outcome.comparison, lineCount: text.lineCount).text)
        } else {
            try Output.print(outcome.view.table(outcome.comparison, lineCount: text.lineCount))
            try Output.print("\n" + verdict(on: outcome))
        }
        if let capture {
            try await DemoTour(capture: capture).run()
            try capture.finish()
        }
        return outcome.isSuccess ? .success : .failure
    }

    private static func introduction(of text: DemoText) -> String {
        let times = text.repetitionCount > 1 ? ", repeated \(text.repetitionCount) times" : ""
        return """
            \(Quantity.grouped(text.lineCount)) lines, \(Quantity.text(byteCount: text.bytes.count)) \
            of \(SafeText.line(text.name))\(times)
            are sent from one process to another with a delay of 200 ms ± 50 ms, a black hole of 5 s and repeated cuts.

            """
    }

    private static func verdict(on outcome: DemoRun.Outcome) -> String {
        if outcome.senderCode != 0 || outcome.listenerCode != 0 {
            return "Failed: the sender ended with \(outcome.senderCode), the listener with \(outcome.listenerCode)."
        }
        return outcome.comparison.isIdentical
            ? "Every line arrived, in order, once: the two files are identical." : "Failed: the two files differ."
    }
}
