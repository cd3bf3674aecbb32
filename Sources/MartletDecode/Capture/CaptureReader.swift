internal import CMartletPcap
internal import MartletWire

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Reads the packets of a capture file with libpcap, in the order of the file.
///
/// The formats are those of libpcap: pcap in both byte orders, in microseconds or nanoseconds, and pcapng whose
/// interfaces have the same link type. A packet has at most 262,144 bytes; a larger one is `CaptureError.malformed`.
/// Compressed files are refused.
///
/// A reader can be used by one thread at a time.
@safe
public final class CaptureReader {
    /// The first four bytes of the files that libpcap reads, most significant byte first.
    private static let magics: Set<UInt32> = [
        0xA1B2_C3D4, 0xD4C3_B2A1, 0xA1B2_3C4D, 0x4D3C_B2A1, 0xA1B2_CD34, 0x34CD_B2A1, 0x0A0D_0D0A,
    ]

    private let pcap: PcapLibrary
    // The pointers are not passed to callers, and are valid for the lifetime of the reader.
    private let handle: OpaquePointer
    /// The copy of an input in memory that libpcap reads.
    private let contents: UnsafeMutableRawPointer?
    private var packetCount = 0
    /// The error after which no more packets are read.
    private var failure: CaptureError?

    /// The type of the link-layer header of all packets.
    public let link: LinkType

    /// Opens a capture file.
    ///
    /// - Throws: ``CaptureError/unreadable(reason:)`` if the file cannot be opened or libpcap is not installed,
    ///   ``CaptureError/notACapture(reason:)`` if it does not begin like a capture.
    public convenience init(path: String) throws(CaptureError) {
        try unsafe self.init(file: fopen(path, "rb"), contents: nil)
    }

    /// Opens the capture file of a descriptor at its current offset. The reader closes the descriptor, also if this
    /// initializer throws.
    ///
    /// - Throws: ``CaptureError/unreadable(reason:)`` if the descriptor is not open for reading,
    ///   ``CaptureError/notACapture(reason:)`` if no capture begins at the offset.
    public convenience init(descriptor: Int32) throws(CaptureError) {
        guard let file = unsafe fdopen(descriptor, "rb") else {
            let error = Self.systemError()
            _ = close(descriptor)
            throw error
        }
        try unsafe self.init(file: file, contents: nil)
    }

    /// Opens a capture file in memory. The bytes are copied once.
    ///
    /// - Throws: ``CaptureError/notACapture(reason:)`` if the bytes do not begin like a capture.
    public convenience init(bytes: [UInt8]) throws(CaptureError) {
        guard Self.recognizes(bytes) else { throw .notACapture(reason: "neither pcap nor pcapng") }
        let contents = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
        unsafe bytes.withUnsafeBytes { unsafe contents.copyMemory(from: $0.baseAddress!, byteCount: bytes.count) }
        try unsafe self.init(file: fmemopen(contents, bytes.count, "rb"), contents: contents)
    }

    /// Creates a reader that owns both arguments.
    private init(file: UnsafeMutablePointer<FILE>?, contents: UnsafeMutableRawPointer?) throws(CaptureError) {
        guard let file = unsafe file else {
            let error = Self.systemError()
            unsafe contents?.deallocate()
            throw error
        }
        var reason = [CChar](repeating: 0, count: Int(PCAP_ERRBUF_SIZE))
        let precision = UInt32(PCAP_TSTAMP_PRECISION_NANO)
        guard let pcap = unsafe PcapLibrary.shared else {
            unsafe fclose(file)
            unsafe contents?.deallocate()
            throw .unreadable(reason: "the library libpcap is not installed")
        }
        unsafe self.pcap = pcap
        guard let handle = unsafe pcap.open(file, precision, &reason) else {
            unsafe fclose(file)
            unsafe contents?.deallocate()
            throw .notACapture(reason: Self.text(reason))
        }
        unsafe self.handle = handle
        unsafe self.contents = contents
        link = LinkType(rawValue: UInt32(bitPattern: unsafe pcap.link(handle)))
    }

    deinit {
        // This call also closes the file.
        unsafe pcap.close(handle)
        unsafe contents?.deallocate()
    }

    /// Whether the bytes begin like a capture file. Four bytes are sufficient.
    public static func recognizes(_ prefix: [UInt8]) -> Bool {
        prefix.count >= 4 && magics.contains(prefix.rawBytes.loadUInt32(at: 0))
    }

    /// Returns the next packet; nil at the end of the file.
    ///
    /// - Throws: ``CaptureError/truncated(packetCount:)`` if the file ends inside a packet,
    ///   ``CaptureError/malformed(packetCount:reason:)`` if libpcap refuses it. Later calls throw the same error.
    public func next() throws(CaptureError) -> CapturedPacket? {
        if let failure { throw failure }
        var header: UnsafeMutablePointer<pcap_pkthdr>?
        var data: UnsafePointer<UInt8>?
        switch unsafe pcap.next(handle, &header, &data) {
        case 1:
            guard let header = unsafe header?.pointee else { return nil }
            packetCount += 1
            let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: Int(header.caplen)))
            return CapturedPacket(time: Self.time(header.ts), link: link, bytes: bytes)
        case PCAP_ERROR_BREAK: return nil
        default:
            let isTruncated = unsafe feof(pcap.file(handle)) != 0
            let reason = unsafe pcap.error(handle).map { unsafe String(cString: $0) } ?? ""
            let failure: CaptureError =
                isTruncated
                ? .truncated(packetCount: packetCount) : .malformed(packetCount: packetCount, reason: reason)
            self.failure = failure
            throw failure
        }
    }

    /// Nanoseconds since 1970. A time beyond 64 bits is reduced to the highest value.
    private static func time(_ time: timeval) -> UInt64 {
        // The 32 bits of the format pcap are unsigned, but libpcap reports them as signed.
        let seconds = time.tv_sec < 0 ? UInt64(UInt32(truncatingIfNeeded: time.tv_sec)) : UInt64(time.tv_sec)
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = scaled.addingReportingOverflow(UInt64(clamping: time.tv_usec))
        return overflow || carry ? .max : sum
    }

    private static func systemError() -> CaptureError {
        .unreadable(reason: unsafe String(cString: strerror(errno)))
    }

    private static func text(_ bytes: [CChar]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
