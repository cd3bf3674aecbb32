import MartletAuthentication
package import MartletWire

/// The names of the databases over which rooms are spread, and the place of each room.
///
/// A room is in the database with the highest weight: rendezvous hashing (Thaler and Ravishankar, Using Name-Based
/// Mappings to Increase Hit Rates, IEEE/ACM Transactions on Networking 6(1), 1998). A further name takes its share of
/// the rooms, and no room moves between the others.
package struct RoomShards: Equatable, Sendable {
    /// The maximum number of databases.
    package static let maxCount = 16
    /// The maximum number of bytes of the name of a database.
    package static let maxNameByteCount = 32

    /// The names in ascending order.
    package let names: [String]

    /// - Throws: `PostgresError.invalidShards`.
    package init(_ names: some Collection<String>) throws(PostgresError) {
        self.names = names.sorted()
        guard 1...Self.maxCount ~= names.count else {
            throw .invalidShards("it has \(names.count) databases, and not 1 to \(Self.maxCount)")
        }
        if let name = names.first(where: { !Self.isName($0) }) {
            throw .invalidShards(
                "'\(name)' is not a name of 1 to \(Self.maxNameByteCount) lower-case letters, digits, - and _")
        }
        for (name, next) in zip(self.names, self.names.dropFirst()) where name == next {
            throw .invalidShards("the name '\(name)' is given twice")
        }
    }

    /// Whether a text is the name of a database.
    package static func isName(_ text: some StringProtocol) -> Bool {
        1...maxNameByteCount ~= text.utf8.count
            && text.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    /// The index of the name whose database has a room. Of equal weights the first name has it.
    package func place(of room: RoomName) -> Int {
        var (place, highest) = (0, UInt64(0))
        for (index, name) in names.enumerated() where names.count > 1 {
            let weight = Self.weight(of: room, in: name)
            if weight > highest { (place, highest) = (index, weight) }
        }
        return place
    }

    /// The first 64 bits of SHA-256 of the name of the database, a zero byte, and the name of the room.
    package static func weight(of room: RoomName, in name: String) -> UInt64 {
        let digest = DigestStream()
        digest.add(Array(name.utf8) + [0] + room.bytes)
        return digest.finish().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The place of a database among those of a spread, which the database keeps.
package struct ShardPlace: Equatable, Sendable, CustomStringConvertible {
    /// The name of the database.
    let own: String
    /// The names of all databases in ascending order, with commas.
    let names: String
    /// The random ID of the installation, which all its databases have.
    let installation: String

    init(own: String, names: String, installation: String) {
        (self.own, self.names, self.installation) = (own, names, installation)
    }

    init(_ own: String, in shards: RoomShards, of installation: String) {
        self.init(own: own, names: shards.names.joined(separator: ","), installation: installation)
    }

    package var description: String { "\(own) of \(names)" }
}
