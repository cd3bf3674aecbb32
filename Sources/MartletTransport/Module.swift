// MartletTransport
