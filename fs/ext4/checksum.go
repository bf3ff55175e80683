package ext4

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc32c continues a checksum with b, without the inversions at beginning and
// end that the standard library makes, as the kernel does. The first start value
// is crcStart or what has been computed from it.
func crc32c(start uint32, b []byte) uint32 {
	return ^crc32.Update(^start, castagnoli, b)
}

const crcStart = 0xFFFFFFFF

// crc32cLE32 and crc32cLE64 continue a checksum with a number.
func crc32cLE32(start, v uint32) uint32 {
	var b [4]byte
	le.PutUint32(b[:], v)
	return crc32c(start, b[:])
}

func crc32cLE64(start uint32, v uint64) uint32 {
	var b [8]byte
	le.PutUint64(b[:], v)
	return crc32c(start, b[:])
}

// crc16 continues the CRC-16 of polynomial 0x8005, reflected, which descriptors
// of groups have without metadata_csum.
func crc16(start uint16, b []byte) uint16 {
	for _, v := range b {
		start ^= uint16(v)
		for range 8 {
			start = start>>1 ^ 0xA001&-(start&1)
		}
	}
	return start
}
