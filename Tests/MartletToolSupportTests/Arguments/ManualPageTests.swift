import Testing

@testable import MartletToolSupport

@Suite struct ManualPageTests {
    private static let command = CommandSpec(
        name: "send", summary: "Send lines.", operand: "ROOM [FILE]",
        options: [
            Option.flag("json", short: "j", help: "print 'JSON'").spec,
            Option.count("max-count", in: 1...9, fallback: 3, help: "how many lines").spec,
        ],
        notes: ["/who    who is here\n.retry  again", "the path C:\\ and \u{E9}"],
        exitCodes: [ExitMeaning(.success, "all lines were accepted")]
    ) { _ in .success }
    private let program = CommandLineProgram(name: "martlet", summary: "Messages.", commands: [command])

    @Test func `a command → its page with escaped texts`() {
        #expect(
            ManualPage.text(for: Self.command, of: program) == #"""
                .TH MARTLET\-SEND 1 "" "martlet 0.1.0" "User Commands"
                .SH NAME
                martlet\-send \- Send lines.
                .SH SYNOPSIS
                \fBmartlet send\fR [\fIOPTION\fR]... \fIROOM\fR [\fIFILE\fR]
                .SH DESCRIPTION
                .PP
                Send lines.
                .PP
                .nf
                /who    who is here
                \&.retry  again
                .fi
                .PP
                the path C:\e and \[u00E9]
                .SH OPTIONS
                .TP
                \fB\-j\fR, \fB\-\-json\fR
                print \(aqJSON\(aq
                .TP
                \fB\-\-max\-count\fR \fIN\fR
                how many lines [3]
                .TP
                \fB\-h, \-\-help\fR
                print this help
                .SH EXIT STATUS
                .TP
                \fB0\fR
                all lines were accepted
                .TP
                \fB64\fR
                the command line is invalid
                .SH SEE ALSO
                \fBmartlet\fR(1)

                """#)
    }

    @Test func `a program → its page with the commands`() {
        let page = ManualPage.text(for: program)
        #expect(page.contains(".SH COMMANDS\n.TP\n\\fBsend\\fR\nSend lines.\n"))
        #expect(page.hasSuffix(".SH SEE ALSO\n\\fBmartlet\\-send\\fR(1)\n"))
    }
}
