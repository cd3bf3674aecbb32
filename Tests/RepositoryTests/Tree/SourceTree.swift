import Foundation

/// The package's files that the rules read.
struct SourceTree {
    /// The text files, ordered by path.
    var files: [SourceFile]
    /// All paths below the root, of files of any kind and of folders.
    var paths: Set<String>

    /// A tree of the given files only.
    init(_ files: [SourceFile]) {
        self.files = files
        paths = []
        for file in files {
            var path = ""
            for component in file.components {
                path += (path.isEmpty ? "" : "/") + component
                paths.insert(path)
            }
        }
    }

    subscript(path: String) -> SourceFile? {
        files.first { $0.path == path }
    }

    var swiftFiles: [SourceFile] { files.filter(\.isSwift) }
    var markdownFiles: [SourceFile] { files.filter(\.isMarkdown) }

    /// The names of the folders directly below `parent`.
    func folders(in parent: String) -> Set<String> {
        Set(files.compactMap { $0.module(under: parent) })
    }
}

extension SourceTree {
    /// The package that this test belongs to, read once.
    static let martlet = SourceTree(root: URL(filePath: #filePath).deletingLastPathComponent(levels: 4))

    /// The maximum size of a text file; larger files are data.
    private static let maxTextByteCount = 1 << 20

    private init(root: URL) {
        files = []
        paths = []
        let enumerator = FileManager.default.enumerator(atPath: root.path)
        while let path = enumerator?.nextObject() as? String {
            if Self.isGenerated(path) {
                enumerator?.skipDescendants()
                continue
            }
            paths.insert(path)
            let url = root.appending(path: path)
            guard let data = try? Data(contentsOf: url), data.count <= Self.maxTextByteCount,
                let text = String(data: data, encoding: .utf8)
            else { continue }
            files.append(SourceFile(path, text))
        }
        files.sort { $0.path < $1.path }
    }

    /// What `make docs` and the client in TypeScript write beside their sources.
    private static let outputs: Set<String> = [
        "docs", "Clients/TypeScript/build", "Clients/TypeScript/bundle", "Examples/WebChat/martlet.js",
    ]

    /// Generated and binary files: build folders, the outputs above, the findings of the fuzz targets, and hidden files
    /// but `.ci`.
    private static func isGenerated(_ path: String) -> Bool {
        if outputs.contains(path) || path.hasPrefix("Fuzz/FailCases/") { return true }
        let name = path.split(separator: "/").last ?? ""
        return name.hasPrefix(".") && path != ".ci" && !path.hasSuffix(".swift-format") && path != ".gitignore"
    }
}

extension URL {
    fileprivate func deletingLastPathComponent(levels: Int) -> URL {
        (0..<levels).reduce(self) { url, _ in url.deletingLastPathComponent() }
    }
}
