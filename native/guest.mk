# The guest's part of the build; the Makefile includes it.
GUEST_OBJECTS = attributes.o channel.o connection.o copy.o descendants.o dial.o entry.o exec.o failure.o frames.o guest.o incoming.o \
  io.o listen.o loop.o paths.o processes.o request.o rights.o service.o shutdown.o sink.o spawn.o transfer.o tree.o users.o watch.o watch-set.o work.o
GUEST_SOURCES = $(GUEST_OBJECTS:.o=.c)
GUEST_INPUTS = $(GUEST_SOURCES) $(wildcard *.h) test/guest-main.c
CHECKED = -std=c11 -D_GNU_SOURCE $(WARNINGS) -iquote . -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=undefined -fsanitize=address,undefined

.DEFAULT_GOAL = all

# For the tests: the guest without a jail, plain and with sanitizers (those need a dynamic binary).
guest-tests: $(BUILD)/guest-main sanitized
sanitized: $(BUILD)/guest-main-sanitized

$(BUILD)/guest-main: $(GUEST_INPUTS) | $(BUILD)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@.new $(GUEST_SOURCES) test/guest-main.c
	mv $@.new $@

$(BUILD)/guest-main-sanitized: $(GUEST_INPUTS) | $(BUILD)
	$(CC) $(CHECKED) -o $@.new $(GUEST_SOURCES) test/guest-main.c
	mv $@.new $@

# Fuzzers of what reads bytes that it did not write, for `npm run fuzz`.
FUZZERS = $(addprefix $(BUILD)/fuzz-,frames accounts spec)
fuzzers: $(FUZZERS)

$(BUILD)/fuzz-frames: fuzz/frames.c frames.c request.c
$(BUILD)/fuzz-accounts: fuzz/accounts.c rights.c
$(BUILD)/fuzz-spec: fuzz/spec.c jail/spec.c frames.c io.c
$(FUZZERS): $(wildcard *.h jail/*.h) users.c | $(BUILD)
	clang $(CHECKED) -iquote jail -fsanitize=fuzzer -o $@.new $(filter-out users.c,$(filter %.c,$^))
	mv $@.new $@

.PHONY: guest-tests sanitized fuzzers
