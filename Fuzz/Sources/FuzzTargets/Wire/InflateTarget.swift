import MartletWire

/// Compression: inflation stops at its limit, and deflated bytes inflate to the original.
///
/// Input: a byte of options, two bytes for the limit, and bytes that are compressed or to be compressed.
enum InflateTarget {
    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        let options = program.byte()
        let limit = Int(program.integer(UInt16.self)) << Int(options >> 1 & 3)
        let bytes = program.rest()
        if options & 1 == 0 { checkInflating(bytes, limit) } else { checkRoundTrip(bytes, level: 1 + limit % 9) }
    }

    /// Arbitrary bytes give the same error or the same output within the limit every time.
    private static func checkInflating(_ bytes: [UInt8], _ limit: Int) {
        var inflater = Inflater()
        let first = inflate(bytes, limit, with: &inflater)
        hold(first == inflate(bytes, limit, with: &inflater), "a second inflation gives another result")
        guard case .success(let output) = first else { return }
        hold(output.count <= limit, "\(output.count) bytes beyond the limit of \(limit)")
        hold(output.capacity <= limit + 16 * 1024, "room for \(output.capacity) bytes at a limit of \(limit)")
        hold(inflate(bytes, output.count, with: &inflater) == first, "a limit of its length is too low")
        if !output.isEmpty {
            let less = inflate(bytes, output.count - 1, with: &inflater)
            hold(less == .failure(.inflateLimit(output.count - 1)), "a limit that is too low gives \(less)")
        }
        hold(inflate(bytes + [0], limit, with: &inflater) == .failure(.inflateFailed), "a further byte is accepted")
    }

    private static func checkRoundTrip(_ bytes: [UInt8], level: Int) {
        let deflater = Deflater(level: level)
        var inflater = Inflater()
        guard let compressed = deflater.compress(bytes.rawBytes) else { return }
        hold(compressed.count < bytes.count, "what is compressed is not smaller")
        hold(deflater.compress(bytes.rawBytes) == compressed, "a second compression gives another result")
        hold(inflate(compressed, bytes.count, with: &inflater) == .success(bytes), "the inflated bytes differ")
        let less = inflate(compressed, bytes.count - 1, with: &inflater)
        hold(less == .failure(.inflateLimit(bytes.count - 1)), "a limit that is too low gives \(less)")
        for kept in [compressed.count - 1, compressed.count / 2, 1, 0] {
            let cut = inflate(Array(compressed.prefix(kept)), bytes.count, with: &inflater)
            hold(cut == .failure(.inflateFailed), "cut short after \(kept) bytes it gives \(cut)")
        }
    }

    private static func inflate(
        _ bytes: [UInt8], _ limit: Int, with inflater: inout Inflater
    ) -> Result<[UInt8], WireError> {
        do throws(WireError) {
            return .success(try inflater.inflate(bytes.rawBytes, limit: limit))
        } catch {
            hold(error == .inflateFailed || error == .inflateLimit(limit), "an error of another kind: \(error)")
            return .failure(error)
        }
    }
}
