/// Links and commands in documents name existing files, headings and targets of the Makefile.
enum LinkRule {
    /// Markdown links to files of the package, relative to the file that contains them.
    static func findingsOfLinks(in tree: SourceTree) -> [Finding] {
        tree.markdownFiles.flatMap { file in
            file.lines.enumerated().flatMap { index, line in
                line.matches(of: /\]\(([^()\s]+)\)/).compactMap { match -> Finding? in
                    let target = match.1.prefix { $0 != "#" }
                    if target.contains(":") { return nil }
                    let path = target.isEmpty ? file.path : resolve(target, from: file)
                    let anchor = match.1.dropFirst(target.count + 1)
                    if !anchor.isEmpty, let linked = tree[path], !anchors(of: linked).contains(String(anchor)) {
                        return Finding(file.path, line: index + 1, "link to #\(anchor), which \(path) does not have")
                    }
                    return tree.paths.contains(path)
                        ? nil : Finding(file.path, line: index + 1, "link to \(path), which does not exist")
                }
            }
        }
    }

    /// Commands that begin with make, in spans and blocks of code, name targets of the Makefile.
    static func findingsOfTargets(in tree: SourceTree) -> [Finding] {
        let targets = tree["Makefile"].map(targets(of:)) ?? []
        return tree.markdownFiles.flatMap { file in
            file.lines.enumerated().flatMap { index, line in
                line.matches(of: /(?:^|`)\s*(?:\$ )?make ([a-z][a-z0-9-]*)/).compactMap { match -> Finding? in
                    targets.contains(String(match.1))
                        ? nil : Finding(file.path, line: index + 1, "the Makefile has no target \(match.1)")
                }
            }
        }
    }

    /// The anchors that common renderers of Markdown give to a file's headings.
    private static func anchors(of file: SourceFile) -> Set<String> {
        let titles = file.lines.filter { $0.hasPrefix("#") }.map { $0.drop { $0 == "#" || $0 == " " } }
        return Set(
            titles.map { title in
                title.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            })
    }

    private static func targets(of makefile: SourceFile) -> Set<String> {
        Set(makefile.lines.compactMap { $0.firstMatch(of: /^([a-z][a-z0-9-]*):/).map { String($0.1) } })
    }

    private static func resolve(_ target: Substring, from file: SourceFile) -> String {
        var folders = target.hasPrefix("/") ? [] : Array(file.components.dropLast())
        for component in target.split(separator: "/") where component != "." {
            if component == ".." { _ = folders.popLast() } else { folders.append(component) }
        }
        return folders.joined(separator: "/")
    }
}
