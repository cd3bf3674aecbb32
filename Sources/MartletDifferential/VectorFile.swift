import Foundation

/// One file of `Specs/vectors`: its name, and what it holds.
struct VectorFile {
    var name: String
    var vectors: [JSONValue]

    /// Whether every vector is one direction of a connection; in other files there is more than bytes and frames.
    var holdsStreams: Bool { vectors.allSatisfy { $0["frames"] != nil } && !holdsPackets }
    /// Whether every vector is what packets come to.
    var holdsPackets: Bool { name.hasPrefix("packets-") }

    /// The files of the package that holds the source file `path`, `levels` folders below its root.
    static func all(besides path: String, levels: Int) throws -> [VectorFile] {
        var root = URL(filePath: path)
        for _ in 0..<levels { root.deleteLastPathComponent() }
        let folder = root.appending(path: "Specs/vectors")
        let paths = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try paths.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map { path in
            let content = try JSONDecoder().decode(JSONValue.self, from: try Data(contentsOf: path))
            return VectorFile(
                name: path.deletingPathExtension().lastPathComponent, vectors: content["vectors"]?.list ?? [])
        }
    }
}
