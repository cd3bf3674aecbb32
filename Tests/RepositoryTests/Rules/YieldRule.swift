/// A type of the library that is not generic has no accessor `_read` of a copyable value.
///
/// Swift 6.3 miscompiles, in a debug build, a copy of a large part of a large value that such an accessor yields: the
/// part is released at the yielded address after the accessor has ended (the pass LoadableByAddress). `get`,
/// `unsafeAddress`, and an accessor of a generic type, which yields an address, are not affected.
enum YieldRule {
    private static let permitted = [
        "Collections/SortedMap.swift": "generic",
        "World/VirtualLoops.swift": "noncopyable", "World/VirtualRelay.swift": "noncopyable",
    ]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, file.isInSources, !permitted.keys.contains(where: file.path.hasSuffix)
        else { return [] }
        let message = "_read of a copyable value in a type that is not generic"
        return file.findings { $0.containsWord("_read") ? message : nil }
    }
}
