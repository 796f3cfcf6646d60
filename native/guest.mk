# The guest's part of the build; the Makefile includes it.
GUEST_OBJECTS = attributes.o channel.o connection.o copy.o descendants.o dial.o entry.o exec.o failure.o frames.o guest.o incoming.o \
  io.o loop.o paths.o processes.o request.o service.o shutdown.o sink.o spawn.o transfer.o tree.o users.o watch.o watch-set.o work.o
