import BenchHarness
import CBaselines

/// The C++ protobuf library built by `make bench`, with two functions.
final class Protobuf {
    private typealias Loop = @convention(c) (UInt64) -> UInt64
    private let decode: Loop
    private let encode: Loop

    /// Creates the binding; nil without the library.
    init?(path: String) {
        guard let library = unsafe baseline_library_open(path),
            let decode = unsafe baseline_library_symbol(library, "protobuf_decode"),
            let encode = unsafe baseline_library_symbol(library, "protobuf_encode")
        else { return nil }
        // Baselines/protobuf/chat.cc declares the symbols.
        self.decode = unsafe unsafeBitCast(decode, to: Loop.self)
        self.encode = unsafe unsafeBitCast(encode, to: Loop.self)
    }

    func decoders(_ operations: Int) -> [Subject] {
        [Subject("protobuf", operations: operations) { [decode] in measure_keep(decode(UInt64(operations))) }]
    }

    func encoders(_ operations: Int) -> [Subject] {
        [Subject("protobuf", operations: operations) { [encode] in measure_keep(encode(UInt64(operations))) }]
    }
}
