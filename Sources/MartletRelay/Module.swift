// MartletRelay
