# The guest's part of the build; the Makefile includes it.
GUEST_OBJECTS = attributes.o channel.o connection.o copy.o descendants.o dial.o entry.o exec.o failure.o frames.o guest.o incoming.o \
  io.o listen.o loop.o paths.o processes.o request.o service.o shutdown.o sink.o spawn.o transfer.o tree.o users.o watch.o watch-set.o work.o
GUEST_SOURCES = $(GUEST_OBJECTS:.o=.c)
GUEST_INPUTS = $(GUEST_SOURCES) $(wildcard *.h) test/guest-main.c
FUZZ_SOURCES = fuzz/decode.c frames.c request.c
CHECKED = -std=c11 -D_GNU_SOURCE $(WARNINGS) -iquote . -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=undefined -fsanitize=address,undefined

.DEFAULT_GOAL = all

# For the tests: the guest without a jail, plain and with sanitizers (those need a dynamic binary), and the fuzzer of its decoders.
guest-tests: $(BUILD)/guest-main sanitized fuzz
sanitized: $(BUILD)/guest-main-sanitized
fuzz: $(BUILD)/fuzz

$(BUILD)/guest-main: $(GUEST_INPUTS) | $(BUILD)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@.new $(GUEST_SOURCES) test/guest-main.c
	mv $@.new $@

$(BUILD)/guest-main-sanitized: $(GUEST_INPUTS) | $(BUILD)
	$(CC) $(CHECKED) -o $@.new $(GUEST_SOURCES) test/guest-main.c
	mv $@.new $@

$(BUILD)/fuzz: $(FUZZ_SOURCES) fuzz/driver.c $(wildcard *.h) | $(BUILD)
	$(CC) $(CHECKED) -o $@.new $(FUZZ_SOURCES) fuzz/driver.c
	mv $@.new $@

# The same harness under libFuzzer, for a longer hunt: make libfuzzer && build/libfuzzer -max_total_time=60
libfuzzer: $(FUZZ_SOURCES) | $(BUILD)
	clang $(CHECKED),fuzzer -o $(BUILD)/libfuzzer $(FUZZ_SOURCES)

.PHONY: guest-tests sanitized fuzz libfuzzer
