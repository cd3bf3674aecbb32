import Foundation
import MartletWire

/// The program that `Specs/reference/differential.py` compares with the reference implementation. It parses and encodes
/// frames on request.
///
/// Lines arrive in batches, each terminated by a line with a full stop. The answers to a batch are written together, so
/// that neither side blocks on a full pipe.
///
/// | line | answer |
/// |---|---|
/// | `read SENDER PHASE LIMIT SPLIT HEX` | the result of the stream, its pieces separated by blanks |
/// | `make SEED COUNT` | COUNT lines: the sender of a frame, and the frame |
/// | `flip SENDER PHASE LIMIT BITS HEX` | the bits that can be flipped without an error and change the result, or `none` |
/// | `flip-packets FEATURES LIMIT BITS HEX` | the same for a stream with packets |
/// | `unpack FEATURES LIMIT HEX` | the frames in packets, separated by blanks, and `error` with a code |
/// | `pack FEATURES HEX,HEX HEX,HEX…` | the packets of batches of frames |
///
/// FEATURES is `none`, or names separated by commas. BITS is `all`, or numbers separated by commas. PHASE is
/// `handshake`, `plain` or `zlib`, the last two after welcome. The stream is parsed in two pieces, the first of SPLIT
/// bytes. A piece of an answer is `value`, `skipped`, `fragment` or `refused` with the fields of the header, and the
/// encoding of the value, the bytes or the code; or `error` with a code and an offset. Numbers are hexadecimal.
package enum DifferentialPeer {
    /// Answers every line of standard input until its end.
    package static func run() {
        var answers: [UInt8] = []
        while let line = readLine() {
            if line == "." {
                FileHandle.standardOutput.write(Data(answers))
                answers.removeAll(keepingCapacity: true)
                continue
            }
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            switch words.first {
            case "read": read(words, into: &answers)
            case "make": make(words, into: &answers)
            case "flip": flip(words, into: &answers)
            case "flip-packets": flipPackets(words, into: &answers)
            case "unpack": unpack(words, into: &answers)
            case "pack": pack(words, into: &answers)
            default: answers.append(contentsOf: "not understood\n".utf8)
            }
        }
    }

    private static func read(_ words: [Substring], into answers: inout [UInt8]) {
        guard words.count == 6, let sender = Side(rawValue: String(words[1])), let limit = Int(words[3]),
            let split = Int(words[4])
        else { return answers.append(contentsOf: "not understood\n".utf8) }
        let bytes = Hex.bytes(words[5])
        var reader = StreamReader(from: sender, established: negotiated(words[2], limit))
        reader.consume(bytes.rawBytes.extracting(first: split))
        reader.consume(bytes.rawBytes.extracting(droppingFirst: split))
        reader.finish()
        for frame in reader.frames { append(frame.header, frame.outcome, to: &answers) }
        if let failure = reader.failure {
            let code = String(failure.code.rawValue, radix: 16)
            answers.append(contentsOf: "error:\(code):\(String(failure.offset, radix: 16))".utf8)
        }
        answers.append(UInt8(ascii: "\n"))
    }

    private static func negotiated(_ phase: Substring, _ limit: Int) -> (maxBodyByteCount: Int, zlib: Bool)? {
        phase == "handshake" ? nil : (limit, phase == "zlib")
    }

    private static func flip(_ words: [Substring], into answers: inout [UInt8]) {
        guard words.count == 6, let sender = Side(rawValue: String(words[1])), let limit = Int(words[3]) else {
            return answers.append(contentsOf: "not understood\n".utf8)
        }
        let flips = BitFlips(sender: sender, established: negotiated(words[2], limit), bytes: Hex.bytes(words[5]))
        answer(flips.accepted(bits(words[4], of: flips.bytes)), into: &answers)
    }

    private static func bits(_ word: Substring, of bytes: [UInt8]) -> [Int] {
        word == "all" ? Array(0..<8 * bytes.count) : word.split(separator: ",").compactMap { Int($0) }
    }

    private static func answer(_ accepted: [Int], into answers: inout [UInt8]) {
        let text = accepted.map(String.init).joined(separator: ",")
        answers.append(contentsOf: "\(text.isEmpty ? "none" : text)\n".utf8)
    }

    private static func flipPackets(_ words: [Substring], into answers: inout [UInt8]) {
        guard words.count == 5, let limit = Int(words[2]) else {
            return answers.append(contentsOf: "not understood\n".utf8)
        }
        let streams = PacketStreams(features: PacketStreams.features(words[1]), maxBodyByteCount: limit)
        let bytes = Hex.bytes(words[4])
        answer(streams.accepted(bits(words[3], of: bytes), flippedIn: bytes), into: &answers)
    }

    private static func unpack(_ words: [Substring], into answers: inout [UInt8]) {
        guard words.count == 4, let limit = Int(words[2]) else {
            return answers.append(contentsOf: "not understood\n".utf8)
        }
        let streams = PacketStreams(features: PacketStreams.features(words[1]), maxBodyByteCount: limit)
        let result = streams.read([Hex.bytes(words[3])])
        for frame in result.frames {
            Hex.append(frame, to: &answers)
            answers.append(UInt8(ascii: " "))
        }
        if let error = result.error { answers.append(contentsOf: "error:\(String(error.rawValue, radix: 16))".utf8) }
        answers.append(UInt8(ascii: "\n"))
    }

    private static func pack(_ words: [Substring], into answers: inout [UInt8]) {
        guard words.count >= 2 else { return answers.append(contentsOf: "not understood\n".utf8) }
        let streams = PacketStreams(features: PacketStreams.features(words[1]), maxBodyByteCount: 1 << 20)
        let batches = words.dropFirst(2).map { $0.split(separator: ",").map(Hex.bytes) }
        Hex.append(streams.write(batches), to: &answers)
        answers.append(UInt8(ascii: "\n"))
    }

    private static func append(_ header: FrameHeader, _ outcome: StreamReader.Outcome, to answers: inout [UInt8]) {
        let fields = [
            UInt32(header.type.rawValue), UInt32(header.session.rawValue), header.sequence, header.timestamp,
            UInt32(header.flags.rawValue), UInt32(header.compression.rawValue), UInt32(header.version.minor),
        ]
        let shown = fields.map { String($0, radix: 16) }.joined(separator: ".")
        switch outcome {
        case .value(let frame):
            answers.append(contentsOf: "value:\(shown):".utf8)
            Hex.append(frame.encode(), to: &answers)
        case .skipped:
            answers.append(contentsOf: "skipped:\(shown)".utf8)
        case .fragment(let bytes):
            answers.append(contentsOf: "fragment:\(shown):".utf8)
            Hex.append(bytes, to: &answers)
        case .refused(let code, let scope):
            answers.append(
                contentsOf: "refused:\(shown):\(String(code.rawValue, radix: 16)):\(scope.rawValue)".utf8)
        }
        answers.append(UInt8(ascii: " "))
    }

    private static func make(_ words: [Substring], into answers: inout [UInt8]) {
        guard words.count == 3, let seed = UInt64(words[1]), let count = Int(words[2]) else {
            return answers.append(contentsOf: "not understood\n".utf8)
        }
        var generator = FrameGenerator(seed: seed)
        for _ in 0..<count {
            let (sender, bytes) = generator.frame()
            answers.append(contentsOf: "\(sender.rawValue) ".utf8)
            Hex.append(bytes, to: &answers)
            answers.append(UInt8(ascii: "\n"))
        }
    }
}

/// The conversion of bytes to and from hexadecimal digits.
enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        text.reserveCapacity(text.count + 2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }

    static func bytes(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for digit in text.utf8 {
            let value = digit < UInt8(ascii: "a") ? digit &- UInt8(ascii: "0") : digit &- UInt8(ascii: "a") &+ 10
            if let first = high {
                bytes.append(first << 4 | value & 15)
                high = nil
            } else {
                high = value & 15
            }
        }
        return bytes
    }
}
