import Foundation

/// The names of targets, which an application's other packages share: SwiftPM refuses two targets of one name in a
/// graph of packages.
enum TargetNameRule {
    private static let prefixes = ["Martlet", "CMartlet"]
    private static let kinds = [".target(", ".systemLibrary(", ".executableTarget(", ".plugin(", ".macro("]

    static func findings(in tree: SourceTree) -> [Finding] {
        guard let package = tree["Package.swift"] else { return [Finding("Package.swift", "missing")] }
        var findings: [Finding] = []
        for kind in kinds {
            for declaration in package.text.components(separatedBy: kind).dropFirst() {
                let words = declaration.components(separatedBy: "\"")
                let label = words[0].filter { !$0.isWhitespace }
                // A condition of a dependency is also written with `.target(name:`, and names a target declared here.
                guard label == "name:", words.count > 1 else { continue }
                if !prefixes.contains(where: words[1].hasPrefix) {
                    findings.append(Finding(package.path, "target \(words[1]) lacks the prefix Martlet or CMartlet"))
                }
            }
        }
        return findings
    }
}
