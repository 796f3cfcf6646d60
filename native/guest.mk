# The guest's part of the build; the Makefile includes it.
GUEST_OBJECTS = channel.o connection.o descendants.o dial.o exec.o failure.o frames.o guest.o incoming.o io.o later.o loop.o request.o \
  service.o shutdown.o sink.o spawn.o users.o work.o
