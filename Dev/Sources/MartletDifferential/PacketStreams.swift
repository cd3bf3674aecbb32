import MartletWire

/// One direction of a connection on which packets are allowed.
struct PacketStreams {
    /// The result of a stream: the frames in the plain form, and the code of its error.
    struct Result: Equatable {
        var frames: [[UInt8]] = []
        var error: ErrorCode?
    }

    private let features: Features
    private let maxBodyByteCount: Int

    init(features: Features, maxBodyByteCount: Int) {
        self.features = features
        self.maxBodyByteCount = maxBodyByteCount
    }

    /// Returns the features with the given names, separated by commas.
    static func features(_ names: Substring) -> Features {
        let known: [Substring: Features] = ["compact": .compact, "sharedDeflate": .sharedDeflate]
        return names.split(separator: ",").reduce(into: []) { $0.formUnion(known[$1] ?? []) }
    }

    /// Parses a stream in pieces.
    ///
    /// - Parameters:
    ///   - pieces: The pieces of the stream.
    ///   - isWhole: Whether the stream ends after the last piece.
    func read(_ pieces: [[UInt8]], isWhole: Bool = true) -> Result {
        var framer = Framer(maxBodyByteCount: maxBodyByteCount)
        if features.contains(.compact) { framer.allowPackets(deflated: features.contains(.sharedDeflate)) }
        var result = Result()
        do throws(WireError) {
            for piece in pieces {
                _ = try framer.consume(piece.rawBytes) { header, body throws(WireError) in
                    result.frames.append(header.frame(body: body))
                    return .proceed
                }
            }
            if isWhole { try framer.finish() }
        } catch {
            result.error = error.code
        }
        return result
    }

    /// Encodes frames as packets, the frames of a batch together.
    func write(_ batches: [[[UInt8]]]) -> [UInt8] {
        let encoder = FrameEncoder.compact(
            PacketWriter(deflates: features.contains(.sharedDeflate) ? .small : nil))
        var bytes: [UInt8] = []
        for batch in batches {
            let byteCount = batch.reduce(64) { $0 + $1.count }
            bytes += [UInt8](capacity: byteCount) { out in
                for frame in batch {
                    do throws(WireError) { try encoder.append(encoded: frame.rawBytes, into: &out) } catch {
                        preconditionFailure("that is not a frame: \(error)")
                    }
                }
                _ = encoder.finish(into: &out)
            }
        }
        return bytes
    }

    /// Returns those of `bits` that can be flipped without an error and that change the result. The expected result is
    /// empty.
    func accepted(_ bits: [Int], flippedIn bytes: [UInt8]) -> [Int] {
        let usual = read([bytes])
        var changed = bytes
        return bits.filter { bit in
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let found = read([changed])
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let isPrefix = found.frames == Array(usual.frames.prefix(found.frames.count))
            return !isPrefix || found.error == nil && found.frames.count != usual.frames.count
        }
    }
}
