import Foundation

/// A file of `Specs/vectors`: its name and its vectors.
struct VectorFile {
    var name: String
    var vectors: [JSONValue]

    /// Whether every vector is one direction of a connection. Other files contain further members.
    var holdsStreams: Bool { vectors.allSatisfy { $0["frames"] != nil } && !holdsPackets }
    /// Whether the vectors contain packets.
    var holdsPackets: Bool { name.hasPrefix("packets-") }

    /// Returns the vector files of the repository.
    static func all() throws -> [VectorFile] {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let folder = root.appending(path: "Specs/vectors")
        let paths = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try paths.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map { path in
            let content = try JSONDecoder().decode(JSONValue.self, from: try Data(contentsOf: path))
            return VectorFile(
                name: path.deletingPathExtension().lastPathComponent, vectors: content["vectors"]?.list ?? [])
        }
    }
}
