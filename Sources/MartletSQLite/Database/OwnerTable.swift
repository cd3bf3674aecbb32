package import MartletWire

/// The account to which a file belongs, in one row when it is known.
package struct OwnerTable {
    /// The statement that creates the table.
    package static let schema = "CREATE TABLE owner (account TEXT NOT NULL);"

    private let database: Database

    package init(_ database: Database) {
        self.database = database
    }

    /// The name of the account; nil if there is none yet.
    func account() throws(DatabaseError) -> String? {
        try database.prepare("SELECT account FROM owner").firstText()
    }

    /// Records the account, if there is none.
    ///
    /// - Returns: The account to which the file belongs.
    package func claim(for account: AccountName) throws(DatabaseError) -> String {
        if let owner = try self.account() { return owner }
        try insert(account.text)
        return account.text
    }

    func insert(_ account: String) throws(DatabaseError) {
        let insert = try database.prepare("INSERT INTO owner VALUES (?)")
        insert.bind(1, account)
        try insert.run()
    }
}
