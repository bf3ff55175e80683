# make demo and make test need Go, git and make; what else they want is looked
# for, and as root installed, by test/scripts/setup.sh.

SHELL = /bin/bash
.SHELLFLAGS = -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL = build

GO      ?= go
PREFIX  ?= /usr/local
DESTDIR ?=

# The program carries the commit that it was built from, wherever git can tell,
# also where GOFLAGS says -buildvcs=false for the sake of places where it cannot.
BUILDVCS := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false)

# Results are not taken from the cache, as what a test finds on the machine counts.
# A test that hangs is more likely a lost wake-up than a slow machine.
TESTFLAGS ?= -count=1 -timeout 20m
override TESTFLAGS += -json
SUMMARY = | $(GO) run ./test/summary

# Packages whose tests say something about another machine's code. The rest is
# about the kernel's FUSE, which a user-mode emulator does not have.
ARM64_PACKAGES = ./cpufeat/... ./keys/... ./decrypt/... ./workqueue/... ./fs/...

.PHONY: all build setup test race demo lint check-arm64 check-amd64 install install-mount-helper clean

all: build

build:
	$(GO) build -trimpath -buildvcs=$(BUILDVCS) -o encfs ./cmd/encfs

# setup installs what make test and make race want; make demo wants less.
setup:
	test/scripts/setup.sh race

test:
	test/scripts/setup.sh test
	$(GO) vet ./...
	$(GO) test $(TESTFLAGS) ./... $(SUMMARY)

race:
	test/scripts/setup.sh race
	CGO_ENABLED=1 $(GO) test -race $(TESTFLAGS) ./... $(SUMMARY)

demo: build
	test/scripts/setup.sh demo
	test/scripts/demo.sh

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	GOARCH=amd64 $(GO) vet ./...
	GOARCH=amd64 $(GO) vet -tags purego ./...
	GOARCH=amd64 $(GO) vet -tags noselftest ./...
	GOARCH=arm64 $(GO) vet ./...
	GOARCH=arm64 $(GO) vet -tags purego ./...
	$(GO) tool staticcheck ./...

# check-arm64 runs arm64's drivers under emulation, and the portable drivers
# without any assembly on this machine.
check-arm64:
	test/scripts/setup.sh test
	$(GO) test -tags purego $(TESTFLAGS) ./cpufeat/... ./keys/... ./decrypt/... $(SUMMARY)
	ENCFS_REQUIRE_DRIVERS=xts-aes-ce,hctr2-ce,adiantum-neon-ce,adiantum-neon \
	CGO_ENABLED=0 GOARCH=arm64 $(GO) test -exec qemu-aarch64-static $(TESTFLAGS) $(ARM64_PACKAGES) $(SUMMARY)

# check-amd64 runs the drivers of CPUs that this machine may not be, each under an
# emulator that has what its CPU has and no more. A driver that is named here and
# does not run is a failure.
check-amd64:
	test/scripts/setup.sh test
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	CGO_ENABLED=0 GOARCH=amd64 $(GO) test -c -o "$$dir/decrypt.test" ./decrypt; \
	emulate() { \
		echo "decrypt on $$1: requires $$2"; \
		(cd decrypt && ENCFS_REQUIRE_DRIVERS=$$2 qemu-x86_64-static -cpu "$$1" "$$dir/decrypt.test" \
			2> >(grep -v "TCG doesn't support" >&2)); \
	}; \
	emulate Conroe xts-aes-bs-ssse3; \
	emulate Westmere xts-aes-aesni,xts-aes-bs-ssse3,hctr2-aesni; \
	emulate Haswell xts-aes-aesni-avx,xts-aes-bs-avx2,adiantum-avx2-aesni,adiantum-avx2,hctr2-aesni

install: build
	install -D -m 755 encfs $(DESTDIR)$(PREFIX)/bin/encfs

# mount(8) looks for helpers in /sbin alone, whatever the prefix is.
install-mount-helper: install
	install -d $(DESTDIR)/sbin
	ln -sf $(PREFIX)/bin/encfs $(DESTDIR)/sbin/mount.encfs

clean:
	rm -f encfs
