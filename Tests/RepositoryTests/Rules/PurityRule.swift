/// The wire, the link and the engines receive time and randomness as arguments, and read neither.
enum PurityRule {
    /// The folders of the code without input and output.
    static let pureFolders = [
        "Sources/MartletWire/", "Sources/MartletLink/", "Sources/Martlet/Engine/", "Sources/MartletRelay/Engine/",
    ]

    static func isPure(_ file: SourceFile) -> Bool { pureFolders.contains { file.path.hasPrefix($0) } }

    static let sources = [
        "ContinuousClock", "SuspendingClock", "DispatchTime", "Date(", "Date.now", "clock_gettime", "gettimeofday",
        "mach_absolute_time", "SystemRandomNumberGenerator", ".random(", ".randomElement(", ".shuffle(", ".shuffled(",
        "arc4random", "getrandom",
    ]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, isPure(file), let module = file.module(under: "Sources") else { return [] }
        let present = file.present(sources)
        return file.findings { code in
            present.first { code.containsWord($0) }.map { "\($0) reads a clock or a random source in \(module)" }
        }
    }
}
