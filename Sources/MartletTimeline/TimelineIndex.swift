import MartletDatabase
import MartletLink
import MartletWire

/// The terms of texts that an earlier version has stored.
enum TimelineIndex {
    /// The number of rows that are indexed in one transaction.
    private static let maxRowCount = 4096

    /// Adds the missing terms. An interrupted call is continued at the next opening.
    static func complete(in database: Database) throws {
        let select = try database.prepare(
            """
            SELECT id, kind, content, text FROM entry WHERE terms IS NULL AND text IS NOT NULL LIMIT \(maxRowCount)
            """)
        let setPlain = try database.prepare("UPDATE entry SET terms = '' WHERE id = ?")
        let index = try database.prepare("UPDATE entry SET text = text, terms = ? WHERE id = ?")
        var isComplete = false
        while !isComplete {
            try database.transaction {
                var terms: [(id: Int64, terms: String)] = []
                while try select.step() {
                    let body = MessageBody(kind: select.int64(1), content: select.bytes(2))
                    let text = select.text(3)
                    terms.append((select.int64(0), body?.searchTerms(of: text) ?? ""))
                }
                for row in terms {
                    let statement = row.terms.isEmpty ? setPlain : index
                    if !row.terms.isEmpty { index.bind(1, row.terms) }
                    statement.bind(row.terms.isEmpty ? 1 : 2, row.id)
                    try statement.run()
                }
                isComplete = terms.count < maxRowCount
            }
        }
    }
}

extension MessageBody {
    /// The body of a row of the table of entries; nil if it is damaged.
    init?(kind: Int64, content: [UInt8]) {
        guard let number = UInt16(exactly: kind),
            let content = try? MessageContent(kind: ContentKind(rawValue: number), bytes: content),
            let body = try? MessageBody(content)
        else { return nil }
        self = body
    }
}
