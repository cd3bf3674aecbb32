internal import CPcap
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
/// The formats are those of libpcap: pcap in either byte order, in microseconds or nanoseconds, and pcapng in which all
/// interfaces have the same link type. A packet may have 262,144 bytes; a larger one is ``CaptureError/malformed``.
/// Compressed files are not read.
///
/// A reader is used from one thread at a time.
@safe
public final class CaptureReader {
    /// The first four bytes of the files that libpcap reads, most significant byte first.
    private static let magics: Set<UInt32> = [
        0xA1B2_C3D4, 0xD4C3_B2A1, 0xA1B2_3C4D, 0x4D3C_B2A1, 0xA1B2_CD34, 0x34CD_B2A1, 0x0A0D_0D0A,
    ]

    // The pointers stay inside, and live as long as the reader.
    private let handle: OpaquePointer
    /// The copy of the bytes that libpcap reads, where they do not come from a file.
    private let contents: UnsafeMutableRawPointer?
    private var packetCount = 0
    /// Why no more packets come.
    private var failure: CaptureError?

    /// The link-layer header that all packets begin with.
    public let link: LinkType

    /// Opens the capture file at `path`.
    ///
    /// - Throws: ``CaptureError/unreadable(reason:)`` when it cannot be opened, ``CaptureError/notACapture(reason:)``
    ///   when it does not begin as a capture does.
    public convenience init(path: String) throws(CaptureError) {
        try unsafe self.init(file: fopen(path, "rb"), contents: nil)
    }

    /// Reads the capture file open at `descriptor` from its current offset on; the reader closes it, also when this
    /// throws.
    ///
    /// - Throws: ``CaptureError/unreadable(reason:)`` when it is not open for reading,
    ///   ``CaptureError/notACapture(reason:)`` when a capture does not begin there.
    public convenience init(descriptor: Int32) throws(CaptureError) {
        guard let file = unsafe fdopen(descriptor, "rb") else {
            let error = Self.systemError()
            _ = close(descriptor)
            throw error
        }
        try unsafe self.init(file: file, contents: nil)
    }

    /// Reads a capture file whose bytes are in memory; they are copied once.
    ///
    /// - Throws: ``CaptureError/notACapture(reason:)`` when they are not a capture.
    public convenience init(bytes: [UInt8]) throws(CaptureError) {
        guard Self.recognizes(bytes) else { throw .notACapture(reason: "neither pcap nor pcapng") }
        let contents = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
        unsafe bytes.withUnsafeBytes { unsafe contents.copyMemory(from: $0.baseAddress!, byteCount: bytes.count) }
        try unsafe self.init(file: fmemopen(contents, bytes.count, "rb"), contents: contents)
    }

    /// Takes over both.
    private init(file: UnsafeMutablePointer<FILE>?, contents: UnsafeMutableRawPointer?) throws(CaptureError) {
        guard let file = unsafe file else {
            let error = Self.systemError()
            unsafe contents?.deallocate()
            throw error
        }
        var reason = [CChar](repeating: 0, count: Int(PCAP_ERRBUF_SIZE))
        let precision = UInt32(PCAP_TSTAMP_PRECISION_NANO)
        guard let handle = unsafe pcap_fopen_offline_with_tstamp_precision(file, precision, &reason) else {
            unsafe fclose(file)
            unsafe contents?.deallocate()
            throw .notACapture(reason: Self.text(reason))
        }
        unsafe self.handle = handle
        unsafe self.contents = contents
        link = LinkType(rawValue: UInt32(bitPattern: unsafe pcap_datalink(handle)))
    }

    deinit {
        // This closes the file, too.
        unsafe pcap_close(handle)
        unsafe contents?.deallocate()
    }

    /// Whether these bytes begin as a capture file does; four of them are enough.
    public static func recognizes(_ prefix: [UInt8]) -> Bool {
        prefix.count >= 4 && magics.contains(prefix.rawBytes.loadUInt32(at: 0))
    }

    /// The next packet; `nil` at the end of the file.
    ///
    /// - Throws: ``CaptureError/truncated(packetCount:)`` when the file ends inside a packet,
    ///   ``CaptureError/malformed(packetCount:reason:)`` when libpcap refuses it. Either is thrown again by further
    ///   calls.
    public func next() throws(CaptureError) -> CapturedPacket? {
        if let failure { throw failure }
        var header: UnsafeMutablePointer<pcap_pkthdr>?
        var data: UnsafePointer<UInt8>?
        switch unsafe pcap_next_ex(handle, &header, &data) {
        case 1:
            guard let header = unsafe header?.pointee else { return nil }
            packetCount += 1
            let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: Int(header.caplen)))
            return CapturedPacket(time: Self.time(header.ts), link: link, bytes: bytes)
        case PCAP_ERROR_BREAK: return nil
        default:
            let isTruncated = unsafe feof(pcap_file(handle)) != 0
            let reason = unsafe String(cString: pcap_geterr(handle))
            let failure: CaptureError =
                isTruncated
                ? .truncated(packetCount: packetCount) : .malformed(packetCount: packetCount, reason: reason)
            self.failure = failure
            throw failure
        }
    }

    /// Nanoseconds since 1970; a time beyond 64 bits becomes the largest that they hold.
    private static func time(_ time: timeval) -> UInt64 {
        // The 32 bits of the format pcap are unsigned, which libpcap does not tell apart.
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
