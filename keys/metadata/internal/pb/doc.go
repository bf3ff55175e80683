// Package pb has the protobuf messages of the fscrypt tool's metadata files,
// generated from metadata.proto.
package pb

//go:generate protoc --plugin=protoc-gen-go=./protoc-gen-go.sh --go_out=. --go_opt=paths=source_relative metadata.proto
