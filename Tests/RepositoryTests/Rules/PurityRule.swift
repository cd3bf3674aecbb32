/// The wire and the protocol receive time and randomness as arguments, and read neither.
enum PurityRule {
    static let pureModules: Set<String> = ["MartletWire", "MartletProtocol"]

    static let sources = [
        "ContinuousClock", "SuspendingClock", "DispatchTime", "Date(", "Date.now", "clock_gettime", "gettimeofday",
        "mach_absolute_time", "SystemRandomNumberGenerator", ".random(", ".randomElement(", ".shuffle(", ".shuffled(",
        "arc4random", "getrandom",
    ]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, let module = file.module(under: "Sources"), pureModules.contains(module) else { return [] }
        let present = file.present(sources)
        return file.findings { code in
            present.first { code.containsWord($0) }.map { "\($0) reads a clock or a random source in \(module)" }
        }
    }
}
