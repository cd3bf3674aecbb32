#if Foundation
    #if canImport(FoundationEssentials)
        public import FoundationEssentials
    #else
        public import Foundation
    #endif

    extension MartletError: LocalizedError {
        /// The description of the error, which `localizedDescription` returns. It is in English: an application
        /// translates the raw value of ``code-swift.property``.
        public var errorDescription: String? { description }
    }
#endif
