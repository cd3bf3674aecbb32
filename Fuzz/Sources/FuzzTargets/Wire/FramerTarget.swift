import MartletWire

/// `Framer`: any split of a stream gives the same frames or the same error, and the state is bounded by the input.
///
/// Input: a byte of options, a byte for the limit, two bytes for the splits, and the stream.
enum FramerTarget {
    private static let limits = [64 << 10, 0, 16, 255, 12 << 10, 1 << 20, .max, 1]

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        let options = program.byte()
        let limit = program.pick(limits)
        let cuts = program.integer(UInt16.self)
        let stream = options & 1 == 0 ? Sealing.seal(program.rest()) : program.rest()
        let plan = Plan(
            limit: limit, ringByteCount: options & 2 == 0 ? 16 << 10 : 64, stopsEvery: Int(options >> 2 & 3),
            raisesLimit: options & 16 != 0)
        let whole = Run(stream, plan) { _ in stream.count }
        var state = UInt64(cuts)
        let cut = Run(stream, plan) { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % (cuts & 1 == 0 ? 40 : 3000)
        }
        hold(whole.outcome == cut.outcome, "split, the stream gives \(cut.outcome), not \(whole.outcome)")
        guard stream.count <= 4096 else { return }
        let single = Run(stream, plan) { _ in 1 }
        hold(whole.outcome == single.outcome, "byte by byte, the stream gives \(single.outcome)")
    }

    private struct Plan {
        var limit: Int
        var ringByteCount: Int
        /// The receiver pauses after so many frames; 0 for never.
        var stopsEvery: Int
        /// Whether the limit is raised at a pause, as after a welcome.
        var raisesLimit: Bool
    }

    private struct Outcome: Equatable {
        var frames: [[UInt8]] = []
        var error: WireError?
        /// The end of a stream without an error.
        var ending: WireError?
    }

    /// One pass of a stream through a framer.
    private struct Run {
        var outcome = Outcome()

        init(_ stream: [UInt8], _ plan: Plan, cut: (Int) -> Int) {
            var framer = Framer(maxBodyByteCount: plan.limit, ringByteCount: plan.ringByteCount)
            var offset = 0
            while offset < stream.count {
                let end = min(stream.count, offset + max(1, cut(offset)))
                do throws(WireError) {
                    offset += try feed(stream[offset..<end], to: &framer, plan)
                    check(framer, plan)
                } catch {
                    outcome.error = Self.plain(error)
                    hold(framer.bufferedByteCount == 0 && framer.storageByteCount == 0, "a failed framer holds bytes")
                    expect(error, of: &framer)
                    return
                }
            }
            do throws(WireError) { try framer.finish() } catch { outcome.ending = error }
            hold((outcome.ending == nil) == isWhole(stream), "the end of the stream was misinterpreted")
        }

        private mutating func feed(
            _ piece: ArraySlice<UInt8>, to framer: inout Framer, _ plan: Plan
        ) throws(WireError) -> Int {
            var frames: [[UInt8]] = []
            var stopped = false
            let known = outcome.frames.count
            defer { outcome.frames += frames }
            let consumed = try framer.consume(piece.rawBytes) { header, body in
                hold(body.byteCount == Int(header.bodyByteCount), "a body differs from the length in its header")
                hold(plan.raisesLimit || body.byteCount <= plan.limit, "a body beyond the limit")
                frames.append(header.frame(body: body))
                stopped = plan.stopsEvery > 0 && (known + frames.count) % plan.stopsEvery == 0
                return stopped ? .stop : .proceed
            }
            hold(stopped || consumed == piece.count, "unconsumed bytes without a pause")
            if stopped, plan.raisesLimit { framer.maxBodyByteCount = 1 << 20 }
            return consumed
        }

        private func check(_ framer: borrowing Framer, _ plan: Plan) {
            let held = framer.bufferedByteCount
            let bound = plan.raisesLimit ? max(plan.limit, 1 << 20) : plan.limit
            hold(held == 0 || held - FrameHeader.byteCount < bound, "\(held) bytes are held, beyond one frame")
            let mayTake = held == 0 ? plan.ringByteCount : max(64, 2 * held, plan.ringByteCount)
            hold(framer.storageByteCount <= mayTake, "\(framer.storageByteCount) bytes for \(held)")
        }

        /// The reported part of a wrong magic depends on the split; its detection and offset do not.
        private static func plain(_ error: WireError) -> WireError {
            guard case .badMagic(let found) = error else { return error }
            let wrong = (found ^ FrameHeader.magic).leadingZeroBitCount / 8
            return .badMagic(found & ~(UInt32.max >> UInt32(8 * wrong + 8)))
        }

        /// A failed framer repeats its error for any further input.
        private func expect(_ error: WireError, of framer: inout Framer) {
            do throws(WireError) {
                _ = try framer.consume([1, 2, 3].rawBytes) { _, _ in .proceed }
                hold(false, "a failed framer continues")
            } catch let again {
                hold(error == again, "a failed framer reports another error")
            }
            do throws(WireError) {
                try framer.finish()
                hold(false, "a failed framer finishes")
            } catch let again {
                hold(error == again, "a failed framer reports another error at the end")
            }
        }

        /// Whether the frames are the whole stream, without gaps or changes.
        private func isWhole(_ stream: [UInt8]) -> Bool {
            let joined = outcome.frames.joined()
            hold(stream.starts(with: joined), "the frames differ from the stream")
            return joined.count == stream.count
        }
    }
}
