/// The wire, the link without its driver, and the engines receive time and randomness as arguments, and read neither.
/// An engine and the link own their state: they hold no reference by the protocol of another owner, whose other users
/// would change the state between two events.
enum PurityRule {
    /// The folders of engines in modules that also have input and output.
    private static let engines = ["Sources/Martlet/Engine/", "Sources/MartletRelay/Engine/"]
    private static let pureFolders = ["Sources/MartletWire/", "Sources/MartletLink/"] + engines

    /// The folder of MartletLink that has input and output.
    static let linkDriver = "Sources/MartletLink/Driver/"

    static func isOfEngine(_ file: SourceFile) -> Bool { engines.contains { file.path.hasPrefix($0) } }

    static let sources = [
        "ContinuousClock", "SuspendingClock", "DispatchTime", "Date(", "Date.now", "clock_gettime", "gettimeofday",
        "mach_absolute_time", "SystemRandomNumberGenerator", ".random(", ".randomElement(", ".shuffle(", ".shuffled(",
        "arc4random", "getrandom",
    ]

    /// The declarations of references to objects of another owner.
    static let references = ["any", "AnyObject", "unowned"]

    static func findingsOfReferences(in file: SourceFile) -> [Finding] {
        guard file.isSwift, !file.path.hasPrefix(linkDriver),
            (["Sources/MartletLink/"] + engines).contains(where: { file.path.hasPrefix($0) })
        else { return [] }
        let present = file.present(references)
        return file.findings { code in
            present.first { code.containsWord($0) }.map { "\($0) refers to an object that the engine does not own" }
        }
    }

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, !file.path.hasPrefix(linkDriver),
            pureFolders.contains(where: { file.path.hasPrefix($0) }),
            let module = file.module(under: "Sources")
        else { return [] }
        let present = file.present(sources)
        return file.findings { code in
            present.first { code.containsWord($0) }.map { "\($0) reads a clock or a random source in \(module)" }
        }
    }
}
