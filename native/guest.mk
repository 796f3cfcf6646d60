# The guest's part of the build; the Makefile includes it.
GUEST_OBJECTS = frames.o io.o
