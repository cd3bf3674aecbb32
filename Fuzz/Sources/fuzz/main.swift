internal import CLibFuzzer
internal import FuzzTargets
internal import Glibc

/// The target of this process. libFuzzer's callback is a C function and cannot capture it.
///
/// It is written once, before libFuzzer starts, on the only thread.
nonisolated(unsafe) private var target = FuzzTarget.framer

// The target is not an argument, because libFuzzer starts further processes with its own arguments only.
guard let name = unsafe getenv("FUZZ_TARGET"), let chosen = unsafe FuzzTarget(rawValue: String(cString: name)) else {
    print("usage: FUZZ_TARGET=<target> fuzz [option of libFuzzer | folder] ...\n")
    for target in FuzzTarget.allCases { print("  \(target.rawValue): \(target.invariant)") }
    exit(2)
}
unsafe target = chosen

var count = CommandLine.argc
var arguments = unsafe CommandLine.unsafeArgv
let status = unsafe LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
    unsafe target.run(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
}
exit(status)
