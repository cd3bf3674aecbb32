import Testing

@testable import MartletAuthentication

@Suite struct JSONWebKeySetErrorTests {
    @Test func `every description is one line and names the key`() {
        let errors: [JSONWebKeySetError] = [
            .notAnObject(index: 3), .missingMember("n", index: 3), .invalidMember("n", index: 3),
            .algorithmMismatch(index: 3), .invalidKey(index: 3), .duplicateKeyID(index: 3),
        ]
        #expect(errors.allSatisfy { $0.description.hasPrefix("key 3 ") && !$0.description.contains("\n") })
    }

    @Test func `a description contains the reader's error`() {
        let error = JSONWebKeySetError.invalidJSON(JSONError(reason: .unexpectedByte, offset: 7))
        #expect(error.description == "the key set is not valid JSON: unexpected byte at offset 7")
        #expect(JSONWebKeySetError.tooManyKeys(65).description == "the key set has 65 keys, more than 64")
    }
}
