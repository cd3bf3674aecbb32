import BenchHarness

enum BytesBenches {
    static func cases(_ options: Options) -> [Case] { [] }
}
