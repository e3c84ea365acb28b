# trueup: `make` alone says what there is to make. Building and the demo need Go (and git for the version); the tests need
# what .ci/deps lists, and root, because they boot whole systems.

PREFIX  ?= /usr/local
OUT     ?= bin/
# A source archive has no git, and says what it is in .version.
VERSION ?= $(shell cat .version 2>/dev/null || git describe --tags --always --dirty 2>/dev/null || echo devel)

# What packages and archives are dated and signed with, and the processors that they are for.
SOURCE_DATE_EPOCH ?= $(shell stat -c %Y .version 2>/dev/null || git log -1 --format=%ct 2>/dev/null || echo 0)
MAINTAINER ?= The authors of trueup <root@localhost>
ARCHS ?= amd64 arm64

# The race detector needs cgo, and cgo binaries do not run in older systems: what boots systemd is tested without it. What keeps the
# processors busy comes after what takes times: three hosts on one database, and the sign-up example in a browser.
UNIT    = ./reconcile/... ./cmd/... ./docs/examples/...
SYSTEMD = $(filter-out $(BUSY),$(shell go list ./units/...))
BUSY    = trueup/units/fleet trueup/units/signup

# A program under the race detector sleeps a second at its end, and the tests start thousands.
RACE    = GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 go test -race

# Every executable script, found by its first line, so that a new one is checked without being listed.
SCRIPTS = $(shell find .ci cmd docs reconcile units -type f -perm -u=x -exec sed -sn '1{/^\#!.*sh$$/F}' {} +)

.PHONY: help demo build install uninstall packages dist test lint unit model systemd prove bench roots deps clean
.NOTPARALLEL:

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## watch the trigger at work, in a minute, on this machine
	bin/trueup demo

build: ## bin/trueup and bin/trueup-gate, static
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o $(OUT) ./cmd/trueup ./cmd/trueup-gate

install: ## binaries, man pages, completions, hardening profiles to DESTDIR and PREFIX (after make build)
	@test -x $(OUT)trueup -a -x $(OUT)trueup-gate || { echo 'error: nothing is built; run make build first' >&2; exit 1; }
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install $(OUT)trueup $(OUT)trueup-gate '$(DESTDIR)$(PREFIX)/bin'
	set -e; pages=$$(mktemp -d); trap 'rm -rf "$$pages"' EXIT; $(OUT)trueup man "$$pages"; \
	for page in "$$pages"/*; do install -Dm644 "$$page" "$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}"; done; \
	$(OUT)trueup completion bash >"$$pages/bash"; $(OUT)trueup completion zsh >"$$pages/zsh"; $(OUT)trueup completion fish >"$$pages/fish"; \
	install -Dm644 "$$pages/bash" '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/trueup'; \
	install -Dm644 "$$pages/zsh" '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_trueup'; \
	install -Dm644 "$$pages/fish" '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/trueup.fish'
	for profile in system/api system/host user/api user/host; do \
	install -Dm644 "units/hardening/$$profile.conf" "$(DESTDIR)$(PREFIX)/share/trueup/hardening/$$profile.conf" || exit; done

uninstall: ## what make install put there (unadopt and uninstall every service first)
	rm -f '$(DESTDIR)$(PREFIX)'/bin/trueup '$(DESTDIR)$(PREFIX)'/bin/trueup-gate \
	'$(DESTDIR)$(PREFIX)'/share/man/man1/trueup.1 '$(DESTDIR)$(PREFIX)'/share/man/man1/trueup-*.1 \
	'$(DESTDIR)$(PREFIX)'/share/bash-completion/completions/trueup '$(DESTDIR)$(PREFIX)'/share/zsh/site-functions/_trueup \
	'$(DESTDIR)$(PREFIX)'/share/fish/vendor_completions.d/trueup.fish
	rm -rf '$(DESTDIR)$(PREFIX)/share/trueup'

packages: ## dist/trueup_VERSION_ARCH.deb and .rpm, for amd64 and arm64 or ARCHS=…, the same bytes wherever they are built
	VERSION='$(VERSION)' SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' MAINTAINER='$(MAINTAINER)' units/packages/build dist $(ARCHS)

dist: ## dist/trueup-VERSION.tar.gz, the sources with all that they need: builds without network or git
	VERSION='$(VERSION)' SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' units/packages/archive dist

test: ## everything: lint, model, unit, systemd (as root; installs what .ci/deps lists)
	.ci/deps test
	$(MAKE) lint model unit systemd

lint: ## gofmt, vet, staticcheck, dead code, shellcheck, go.mod, the layout rules
	.ci/deps lint
	@unformatted=$$(gofmt -s -l cmd docs reconcile units); test -z "$$unformatted" || { echo "error: not gofmt-ed; run gofmt -s -w" $$unformatted >&2; exit 1; }
	go mod tidy -diff
	go vet ./...
	go tool -modfile=tools.mod staticcheck ./...
	@dead=$$(go tool -modfile=tools.mod deadcode -test ./...) && test -z "$$dead" || { echo "error: reached from no command and no test:" >&2; echo "$$dead" >&2; exit 1; }
	shellcheck $(SCRIPTS)
	go test -count=1 -run '^TestLayout' ./reconcile

unit: ## the tests that need no systemd, under the race detector
	.ci/deps unit
	$(RACE) -count=1 -timeout 20m $(UNIT)

model: ## the protocol, checked exhaustively by spin, and its broken variants refuted
	.ci/deps model
	docs/model/check

systemd: roots ## the tests that boot real systemd (as root)
	go test -count=1 -timeout 60m $(SYSTEMD)
	go test -count=1 -timeout 20m -p 1 $(BUSY)

prove: roots ## the long form of every test, for hours (as root)
	.ci/deps test
	docs/model/check --deep
	TRUEUP_PROVE=1 go test -count=1 -timeout 12h ./...

bench: build roots ## what docs/performance.md shows; fails on a broken bound (as root, on an idle machine)
	.ci/deps test
	go test -count=1 -run '^$$' -bench . -timeout 1h ./cmd/... ./reconcile/... ./units/nspawn
	go test -count=1 -run '^$$' -bench . -benchtime 40x -timeout 1h ./units/protocol

roots: ## build the Debian root file systems that the tests boot, once (as root)
	.ci/deps systemd
	units/nspawn/roots

deps: ## what the tests need: install it as root, or say what is missing
	.ci/deps test

clean: ## remove what was built here
	rm -rf bin dist coverage*
