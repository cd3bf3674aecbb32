// MartletTestKit
