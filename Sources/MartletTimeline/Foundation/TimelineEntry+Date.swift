#if Foundation
    #if canImport(FoundationEssentials)
        public import FoundationEssentials
    #else
        public import Foundation
    #endif

    extension TimelineEntry {
        /// ``time`` as a date; nil for a gap and a replaced log.
        public var date: Date? { time.map { Date(timeIntervalSince1970: Double($0) / 1000) } }
    }
#endif
