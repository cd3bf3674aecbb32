import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct StorePlaceTests {
    private func place(_ texts: String...) throws -> String { "\(try StorePlace(texts, of: "--store"))" }

    private func message(_ texts: String...) -> String? {
        do {
            _ = try StorePlace(texts, of: "--store")
            return nil
        } catch { return error.message }
    }

    @Test func `one directory, one URI, or databases with names -> the place`() throws {
        #expect(try place("/var/lib/martlet") == #"directory("/var/lib/martlet")"#)
        #expect(try place("db=x") == #"directory("db=x")"#)
        let uri = "postgres://a@h/d?host=/run&port=1"
        #expect(try place(uri) == #"database("\#(uri)")"#)
        #expect(try place("db1=\(uri)") == #"databases([(name: "db1", uri: "\#(uri)")])"#)
        let two = try StorePlace(["db2=postgresql://h/2", "db1=postgres://h/1"], of: "--store")
        guard case .databases(let databases) = two else { throw UsageError(message: "\(two)") }
        #expect(databases.map { $0.name } == ["db2", "db1"] && two.directory == nil)
        #expect(databases.map { $0.uri } == ["postgresql://h/2", "postgres://h/1"])
        #expect(try StorePlace(["d"], of: "--store").directory == "d")
    }

    @Test func `several places without names, or names that are not valid -> a usage error`() {
        let form = "each of several '--store' has the form NAME=postgres://USER@HOST/DATABASE"
        #expect(message("d", "e") == form && message("postgres://h/1", "postgres://h/2") == form)
        #expect(message("db1=postgres://h/1", "d") == form)
        #expect(message("a=postgres://h/1", "a=postgres://h/2")?.hasSuffix("the name 'a' is given twice") == true)
        #expect(message("A=postgres://h/1")?.hasPrefix("'--store': rooms cannot be spread") == true)
        let forms = "'--store' is a directory, postgres://USER@HOST/DATABASE, or NAME=URI"
        #expect(message("postgre://a:secret@h/d") == forms && message("db1=postgre://a:secret@h/d") == forms)
        #expect(message("=postgres://h/1")?.hasPrefix("'--store': rooms cannot be spread") == true)
    }

    @Test(arguments: [
        ["copy"], ["copy", "d"], ["copy", "d", "e", "--to", "a=postgres://h/d"],
        ["copy", "--from", "a=postgres://h/d", "--to", "d", "--to", "e"], ["check", "d", "--to", "a=postgres://h/d"],
        ["copy", "d", "--to", "a=postgres://h/d", "--to", "a=postgres://h/e"],
    ])
    func `operands and options of a copy that do not fit -> a usage error`(words: [String]) async throws {
        var parser = ArgumentParser(for: StoreCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        await #expect(throws: UsageError.self) { _ = try await StoreCommand.spec.run(arguments) }
    }
}
