#if canImport(SwiftUI)
    import Martlet
    import MartletObservation
    import MartletTimeline
    import SwiftUI

    /// The rooms of an account.
    struct ChatView: View {
        @State private var model: ChatModel
        @State private var path: [RoomName] = []
        @Environment(\.scenePhase) private var phase

        init(_ model: ChatModel) { self.model = model }

        var body: some View {
            NavigationStack(path: $path) {
                List {
                    if let banner = model.banner { BannerView(banner: banner) { model.retryNow() } }
                    ForEach(model.rooms.rows) { row in
                        NavigationLink(value: row.id) { SummaryView(summary: row.value) }
                    }
                    HStack {
                        TextField("Room", text: $model.newRoom).onSubmit(join)
                        Button("Join", action: join).disabled(model.joinableRoom == nil)
                    }
                }
                .navigationTitle("Rooms")
                .navigationDestination(for: RoomName.self) { RoomView(model.conversation($0)) }
            }
            .task { await model.run() }
            .onChange(of: phase) { model.setActive(phase == .active) }
        }

        private func join() {
            if let name = model.takeNewRoom() { path.append(name) }
        }
    }

    private struct BannerView: View {
        let banner: ChatModel.Banner
        let retry: @MainActor () -> Void

        var body: some View {
            HStack {
                Text(banner.text).font(.footnote).foregroundStyle(.secondary)
                Spacer()
                if banner.canRetry { Button("Connect now", action: retry) }
            }
            .accessibilityElement(children: .combine)
        }
    }

    private struct SummaryView: View {
        let summary: ConversationSummary

        var body: some View {
            VStack(alignment: .leading) {
                Text(summary.name.text).font(.headline)
                if let entry = summary.lastEntry {
                    Text(RoomModel.text(of: entry.content)).font(.subheadline).lineLimit(1)
                }
            }
            .badge(summary.unreadCount)
            .accessibilityElement(children: .combine)
            .accessibilityValue(summary.unreadCount == 0 ? "" : "\(summary.unreadCount) unread")
        }
    }

    /// A conversation, its newest entry below.
    private struct RoomView: View {
        @State private var model: RoomModel

        init(_ model: RoomModel) { self.model = model }

        var body: some View {
            ScrollView {
                LazyVStack(alignment: .leading) {
                    if model.messages.hasEarlier {
                        Button("Earlier messages") { Task { await model.messages.loadEarlier() } }
                            .disabled(model.messages.isLoadingEarlier)
                    }
                    ForEach(model.messages.rows) { row in
                        EntryView(shown: model.appearance(of: row.value)) {
                            Task { await model.messages.retry(row.value) }
                        }
                    }
                    if model.messages.hasLater {
                        Button("Latest messages") { Task { await model.messages.jumpToEnd() } }
                    }
                }
                .padding()
            }
            .defaultScrollAnchor(.bottom)
            .safeAreaInset(edge: .bottom) { composer }
            .navigationTitle(model.messages.name.text)
            .task { await model.messages.run() }
            .onChange(of: model.messages.unreadCount, initial: true) { Task { await model.messages.markRead() } }
            .onChange(of: model.draft) { Task { await model.draftChanged() } }
            .onDisappear { Task { await model.messages.endTyping() } }
        }

        private var composer: some View {
            VStack(alignment: .leading) {
                if let typing = model.typing { Text(typing).font(.footnote).foregroundStyle(.secondary) }
                if let failure = model.messages.failure {
                    Button(failure.description) { model.messages.clearFailure() }
                        .font(.footnote)
                        .accessibilityHint("Removes this message")
                }
                HStack {
                    TextField("Message", text: $model.draft, axis: .vertical).onSubmit(send)
                    Button("Send", systemImage: "paperplane", action: send).disabled(!model.canSend)
                }
            }
            .padding()
            .background(.bar)
        }

        private func send() { Task { await model.send() } }
    }

    private struct EntryView: View {
        let shown: RoomModel.Appearance
        let retry: @MainActor () -> Void

        var body: some View {
            VStack(alignment: shown.isOwn ? .trailing : .leading) {
                if let sender = shown.sender, !shown.isOwn { Text(sender).font(.caption).foregroundStyle(.secondary) }
                Text(shown.text).textSelection(.enabled)
                if let note = shown.note { Text(note).font(.caption2).foregroundStyle(.secondary) }
                if shown.canRetry { Button("Send again", action: retry).font(.caption) }
            }
            .frame(maxWidth: .infinity, alignment: shown.isOwn ? .trailing : .leading)
            .accessibilityElement(children: .combine)
            .accessibilityLabel(shown.accessibilityLabel)
        }
    }
#endif
