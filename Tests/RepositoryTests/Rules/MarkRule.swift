/// Marks of unfinished work, phrases of a translation, and calls that wait. The strings are split so that this file
/// passes its own rules.
enum MarkRule {
    static let unfinished = [
        "TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "fatalError(\"" + "not implemented",
        "fatalError(\"" + "unimplemented",
    ]

    static let translated = [
        "another " + "one", "am" + "id", "at the be" + "gin of", "the pres" + "ent state", "the pres" + "ent log",
        "the pres" + "ent one", "the pres" + "ent session", "is to" + "ld", "are to" + "ld", "was to" + "ld",
    ]

    static let waits = ["Thread." + "sleep", "Task." + "sleep", "usle" + "ep", "nanosle" + "ep", "sle" + "ep("]

    /// Unfinished work, in any text file.
    static func findings(in file: SourceFile) -> [Finding] {
        findings(of: unfinished, in: file)
    }

    /// Phrases of a translation, in any text file except the changelog.
    static func findingsOfTranslation(in file: SourceFile) -> [Finding] {
        file.path == "CHANGELOG.md" ? [] : findings(of: translated, in: file)
    }

    private static func findings(of words: [String], in file: SourceFile) -> [Finding] {
        let present = file.present(words)
        return file.lines.enumerated().compactMap { index, line in
            present.first { line.containsWord($0) }.map { Finding(file.path, line: index + 1, "contains \($0)") }
        }
    }

    /// Children of Foundation, whose ends can be noticed late (`Subprocess`). A benchmark starts one at a time.
    static func findingsOfChildren(in file: SourceFile) -> [Finding] {
        guard file.isSwift, !file.path.hasPrefix("Benchmarks/") else { return [] }
        let child = "Process" + "()"
        return file.findings { $0.containsWord(child) ? "starts a child without Subprocess" : nil }
    }

    /// Loops that wait beyond the time limit of their test, which cancels it.
    static func findingsOfEndlessWaits(in file: SourceFile) -> [Finding] {
        guard file.isSwift, file.isInTests else { return [] }
        return file.findings { code in
            code.contains("while ") && code.contains("{ await Task.yie" + "ld() }") && !code.contains("isCancelled")
                && !code.contains("while true") ? "waits beyond its time limit without Task.isCancelled" : nil
        }
    }

    /// Names of Unicode scalars, whose table the released programs do not have (Makefile, `nameless`).
    static func findingsOfScalarNames(in file: SourceFile) -> [Finding] {
        guard file.isSwift else { return [] }
        let names = ["properties." + "name", "properties." + "nameAlias"]
        return file.findings { code in names.first { code.containsWord($0) }.map { "\($0) is not in the programs" } }
    }

    /// Calls in tests that wait for the wall clock. The clock of a test world is virtual.
    static func findingsOfWaiting(in file: SourceFile) -> [Finding] {
        guard file.isSwift, file.isInTests else { return [] }
        let present = file.present(waits)
        return file.findings { code in
            let real = code.split(separator: "world.sle" + "ep(").joined(separator: " ")
            return present.first { real.containsWord($0) }.map { "\($0) waits for the wall clock" }
        }
    }
}
