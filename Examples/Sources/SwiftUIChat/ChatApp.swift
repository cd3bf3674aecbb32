#if canImport(SwiftUI)
    import SwiftUI

    /// A chat with a window: swiftui-chat RELAY ACCOUNT FOLDER
    @main
    struct ChatApp: App {
        @State private var model: ChatModel?
        @State private var failure: String?

        var body: some Scene {
            WindowGroup {
                if let model {
                    ChatView(model)
                } else {
                    Text(failure ?? "Opening…").task { await open() }
                }
            }
        }

        private func open() async {
            let words = CommandLine.arguments
            guard words.count == 4 else { return failure = "usage: swiftui-chat RELAY ACCOUNT FOLDER" }
            do { model = try await ChatModel(relay: words[1], account: words[2], folder: words[3]) } catch {
                failure = "\(error)"
            }
        }
    }
#else
    @main
    struct ChatApp {
        static func main() { print("SwiftUI is not part of this system; the tests run the models of the chat") }
    }
#endif
