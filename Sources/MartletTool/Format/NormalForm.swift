#if canImport(Darwin)
    import Foundation
#else
    // Without it only Foundation would have the normal form, with all its tables.
    @_spi(_Unicode) import Swift
#endif

extension String {
    /// Whether the text is in normal form C of Unicode.
    var isNormalFormC: Bool {
        #if canImport(Darwin)
            precomposedStringWithCanonicalMapping.utf8.elementsEqual(utf8)
        #else
            _nfc.elementsEqual(unicodeScalars)
        #endif
    }
}
