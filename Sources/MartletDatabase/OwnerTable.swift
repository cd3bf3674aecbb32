package import MartletWire

/// The account to which a file belongs, in one row when it is known.
package struct OwnerTable {
    /// The statement that creates the table.
    package static let schema = "CREATE TABLE owner (account TEXT NOT NULL);"

    private let database: Database

    package init(_ database: Database) {
        self.database = database
    }

    /// The account; nil if there is none yet.
    ///
    /// - Throws: `corrupt` if the row is not a name.
    package func account() throws(DatabaseError) -> AccountName? {
        guard let text = try database.prepare("SELECT account FROM owner").firstText() else { return nil }
        guard let account = AccountName(text) else { throw .corrupt(path: database.path) }
        return account
    }

    /// Records the account, if there is none.
    ///
    /// - Returns: The account to which the file belongs.
    package func claim(for account: AccountName) throws(DatabaseError) -> AccountName {
        if let owner = try self.account() { return owner }
        try insert(account)
        return account
    }

    package func insert(_ account: AccountName) throws(DatabaseError) {
        let insert = try database.prepare("INSERT INTO owner VALUES (?)")
        insert.bind(1, account.text)
        try insert.run()
    }
}
