internal import CMartletPcap

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The functions of libpcap that read capture files. The library is loaded with the first capture file, so that a
/// program that reads none runs without it.
@unsafe
struct PcapLibrary: @unchecked Sendable {  // The functions of a loaded library do not change.
    #if canImport(Darwin)
        private static let names = ["libpcap.A.dylib", "/usr/lib/libpcap.A.dylib"]
    #else
        private static let names = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"]
    #endif

    /// The library; nil if it is not installed.
    static let shared = unsafe PcapLibrary()

    typealias Open =
        @convention(c) (UnsafeMutablePointer<FILE>?, UInt32, UnsafeMutablePointer<CChar>?) -> OpaquePointer?
    typealias Link = @convention(c) (OpaquePointer?) -> Int32
    typealias Close = @convention(c) (OpaquePointer?) -> Void
    typealias Next =
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<pcap_pkthdr>?>?,
            UnsafeMutablePointer<UnsafePointer<UInt8>?>?
        ) -> Int32
    typealias File = @convention(c) (OpaquePointer?) -> UnsafeMutablePointer<FILE>?
    typealias Text = @convention(c) (OpaquePointer?) -> UnsafeMutablePointer<CChar>?

    let open: Open
    let link: Link
    let close: Close
    let next: Next
    let file: File
    let error: Text

    private init?() {
        var library: UnsafeMutableRawPointer?
        for name in unsafe Self.names where unsafe library == nil {
            unsafe library = dlopen(name, RTLD_NOW | RTLD_LOCAL)
        }
        guard let library = unsafe library,
            let open = unsafe dlsym(library, "pcap_fopen_offline_with_tstamp_precision"),
            let link = unsafe dlsym(library, "pcap_datalink"), let close = unsafe dlsym(library, "pcap_close"),
            let next = unsafe dlsym(library, "pcap_next_ex"), let file = unsafe dlsym(library, "pcap_file"),
            let error = unsafe dlsym(library, "pcap_geterr")
        else { return nil }
        // The types are those of the library's header.
        unsafe self.open = unsafeBitCast(open, to: Open.self)
        unsafe self.link = unsafeBitCast(link, to: Link.self)
        unsafe self.close = unsafeBitCast(close, to: Close.self)
        unsafe self.next = unsafeBitCast(next, to: Next.self)
        unsafe self.file = unsafeBitCast(file, to: File.self)
        unsafe self.error = unsafeBitCast(error, to: Text.self)
    }
}
