#!/bin/sh
# The plugin of protoc in the version that go.mod says.
exec go tool protoc-gen-go "$@"
