/// Secret bytes. Descriptions and mirrors do not contain them, and a comparison takes constant time.
struct SCRAMSecret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func == (left: Self, right: Self) -> Bool {
        SCRAMHash.areEqual(left.bytes, right.bytes)
    }

    var description: String { "SCRAMSecret(redacted)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
