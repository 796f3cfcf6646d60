/* One binary with several roles. The first argument names the role. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "guest/unjailed.h"
#include "jail/jail.h"
#include "sudo-door.h"

static int guest_role(int argc, char **argv) {
  struct guest_options options = {.listen_fd = -1};
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], "--listen-fd") == 0 && i + 1 < argc) options.listen_fd = (int)strtol(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--single-id") == 0) options.single_id = true;
    else if (strcmp(argv[i], "--services-folder") == 0 && i + 1 < argc) options.services_folder = argv[++i];
    else options.listen_fd = -1;
  }
  if (options.listen_fd < 0) {
    fputs("usage: guest --listen-fd N [--single-id] [--services-folder DIR]\n", stderr);
    return 2;
  }
  return guest_main(&options);
}

/* Inside, the binary has the name of its only role there. */
static bool is_sudo(const char *path) {
  const char *slash = strrchr(path, '/');
  return strcmp(slash == NULL ? path : slash + 1, "sudo") == 0;
}

int main(int argc, char **argv) {
  if (argc > 0 && is_sudo(argv[0])) return sudo_main(argc, argv);
  const char *role = argc > 1 ? argv[1] : "";
  if (strcmp(role, "jail") == 0 && argc == 2) return jail_main(argv, false);
  if (strcmp(role, "jail") == 0 && argc == 3 && strcmp(argv[2], "ahead") == 0) return jail_main(argv, true);
  if (strcmp(role, "spawner") == 0 && argc == 2) return spawner_main();
  if (strcmp(role, "holder") == 0 && argc == 3) return holder_main(argv[2]);
  if (strcmp(role, "clear") == 0 && argc == 2) return clear_main();
  if (strcmp(role, "compare") == 0 && argc == 2) return compare_main();
  if (strcmp(role, "jobs") == 0 && argc == 2) return jobs_main();
  if (strcmp(role, "measure") == 0 && argc == 2) return measure_main();
  if (strcmp(role, "unpack") == 0 && argc == 2) return unpack_main();
  if (strcmp(role, "ask") == 0 && argc == 2) return ask_main();
  if (strcmp(role, "pool") == 0 && argc == 6) return pool_main(argv[2], argv + 3);
  if (strcmp(role, "guest") == 0) return guest_role(argc, argv);
  if (strcmp(role, "unjailed") == 0 && argc == 6) {
    return unjailed_main(&(struct unjailed_options){.socket = argv[2], .services_folder = argv[3], .start_folder = argv[4], .user = argv[5]});
  }
  fputs("usage: belljar-native spawner | jail [ahead] | holder SOCKET | clear | jobs | compare | measure | unpack | ask | pool open|tend|holds IMAGE FOLDER BYTES | guest --listen-fd N | unjailed SOCKET SERVICES START USER\n", stderr);
  return 2;
}
