/// A type that is `package` and has `@inlinable` members is `@usableFromInline`.
///
/// Without it, the compiler does not serialize the members: other modules neither inline them nor specialize generic
/// ones, which multiplies the instructions of a message.
enum InlinableRule {
    private static let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol"]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, file.isInSources, file.text.contains("@inlinable") else { return [] }
        var findings: [Finding] = []
        var isMarked = false
        var isUnmarkedType = false
        for (index, line) in file.scanned.enumerated() {
            let code = line.code
            if isUnmarkedType, code.contains("@inlinable") {
                findings.append(Finding(file.path, line: index + 1, "the type is not @usableFromInline"))
            }
            if code.hasPrefix("@usableFromInline") { isMarked = true }
            if code.hasPrefix("package ") {
                let words = code.prefix { $0 != ":" && $0 != "{" && $0 != "<" }.split(separator: " ")
                isUnmarkedType = !isMarked && words.contains(where: kinds.contains)
            }
            if code.hasPrefix("}") || code.hasPrefix("extension ") { isUnmarkedType = false }
            if !code.isEmpty, !code.hasPrefix("@") { isMarked = false }
        }
        return findings
    }
}
