# Distaff's build. `make help` lists the targets.
PREFIX  ?= /usr/local
DESTDIR ?=
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  = -X distaff/spmd.version=$(VERSION)

.PHONY: help build wheel test test-cuda check golden fuzz bench install clean

help:
	@echo "build    bin/distaff and bin/tns2tcs"
	@echo "wheel    bin/distaff-*.whl, the Python package, for pip"
	@echo "test     every test, a line a package; fetches what is missing with apt where it may"
	@echo "test-cuda  tests on a GPU, where there is one, else why none ran"
	@echo "check    format, vet, staticcheck, import graph, tidy, goldens, no diff"
	@echo "golden   rewrite the stage goldens, pictures and generated files"
	@echo "fuzz     everything random at length, in stages: at most an hour on two cores"
	@echo "bench    benchmarks, as ratios within one run"
	@echo "install  binaries, man pages, documents, MPI wrappers, sbatch scripts into PREFIX"
	@echo "clean    remove build outputs"

build:
	@mkdir -p bin
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/distaff ./cmd/distaff
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/tns2tcs ./cmd/tns2tcs

wheel:
	@mkdir -p bin
	$(GO) build -buildmode=c-shared -tags libdistaff -ldflags '-s -w $(LDFLAGS)' -o bin/libdistaff.so ./cmd/distaff
	@rm -f bin/libdistaff.h bin/distaff-*.whl
	python3 cmd/libdistaff/python/wheel.py bin/libdistaff.so bin '$(VERSION)'

test:
	@scripts/test.sh

test-cuda:
	@GO='$(GO)' scripts/test-cuda.sh

check:
	@scripts/check.sh

golden:
	$(GO) generate ./...
	$(GO) test ./codegen ./codegen/emit/c -run Golden -update
	$(GO) test ./cmd/distaff -run 'Reference|Tutorial' -update
	$(GO) test ./spmd/jobs -run Scaling -update
	$(GO) run ./scripts/pictures

fuzz:
	@scripts/fuzz.sh

bench: build
	@scripts/bench.sh

install: build
	@scripts/install.sh '$(DESTDIR)$(PREFIX)'

clean:
	rm -rf bin
