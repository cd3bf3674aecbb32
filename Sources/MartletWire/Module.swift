// MartletWire
