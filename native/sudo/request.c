#include "request.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "io.h"
#include "sudo-door.h"

extern char **environ;

/* The guest sets them anew, for the user that the command gets. */
static const char *const OF_THE_USER[] = {"USER", "LOGNAME", "SHELL", "MAIL"};
#define FACTS_MAX 5u
#define FACT_BYTES 512u
/* sh, -c, its script, its name, -c, the command */
#define SHELL_ARGUMENTS 6u

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool has_name(const char *entry, const char *name) {
  size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool is_set_anew(const struct wish *wish, const char *entry) {
  if (strncmp(entry, "SUDO_", 5) == 0) return true;
  if (has_name(entry, "HOME")) return !wish->keeps_home || wish->is_login;
  for (size_t i = 0; i < COUNT(OF_THE_USER); i++)
    if (has_name(entry, OF_THE_USER[i])) return true;
  size_t length = strcspn(entry, "=") + 1;
  for (size_t i = 0; i < wish->variable_count; i++)
    if (strncmp(entry, wish->variables[i], length) == 0) return true;
  return false;
}

static size_t put_facts(const struct wish *wish, char **to) {
  static char facts[FACTS_MAX][FACT_BYTES];
  const char *name = getenv("USER");
  size_t count = 0;
  snprintf(facts[0], FACT_BYTES, "SUDO_USER=%.256s", name == NULL ? "" : name);
  snprintf(facts[1], FACT_BYTES, "SUDO_UID=%u", getuid());
  snprintf(facts[2], FACT_BYTES, "SUDO_GID=%u", getgid());
  snprintf(facts[3], FACT_BYTES, "SUDO_COMMAND=%.400s", wish->command_count == 0 ? "" : wish->command[0]);
  for (; count < 4; count++) to[count] = facts[count];
  return count;
}

char **build_variables(const struct wish *wish, char **environment) {
  size_t count = 0;
  while (environment[count] != NULL) count++;
  char **variables = calloc(count + wish->variable_count + FACTS_MAX + 1, sizeof *variables);
  if (variables == NULL) return NULL;
  size_t at = put_facts(wish, variables);
  for (size_t i = 0; i < count; i++) {
    const char *equals = strchr(environment[i], '=');
    if (equals != NULL && equals != environment[i] && !is_set_anew(wish, environment[i])) variables[at++] = environment[i];
  }
  for (size_t i = 0; i < wish->variable_count; i++) variables[at++] = wish->variables[i];
  return variables;
}

static bool is_plain(char letter) { return strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-$", letter) != NULL; }

/* One line for a shell that reads it back into the same arguments. As in every sudo, a $ keeps its meaning. */
static const char *join_command(const struct wish *wish) {
  static char line[FIELDS_MAX_BYTES];
  size_t at = 0;
  for (size_t i = 0; i < wish->command_count; i++) {
    for (const char *letter = wish->command[i]; *letter != 0; letter++) {
      if (at + 2 > sizeof line) return NULL;
      if (!is_plain(*letter)) line[at++] = '\\';
      line[at++] = *letter;
    }
    if (at == sizeof line) return NULL;
    line[at++] = ' ';
  }
  line[at == 0 ? 0 : at - 1] = 0;
  return line;
}

/* The guest knows the user's home and shell, and sets HOME and SHELL. */
char **build_arguments(const struct wish *wish) {
  static char *arguments[SHELL_ARGUMENTS + 1];
  if (!wish->is_login && !wish->is_shell) return wish->command;
  const char *parts[SHELL_ARGUMENTS] = {"/bin/sh", "-c", wish->is_login ? "cd \"$HOME\" && exec \"$SHELL\" -l \"$@\"" : "exec \"$SHELL\" \"$@\"", "sudo", "-c"};
  size_t count = wish->command_count == 0 ? 4 : SHELL_ARGUMENTS;
  if (count == SHELL_ARGUMENTS && (parts[5] = join_command(wish)) == NULL) return NULL;
  for (size_t i = 0; i < count; i++) arguments[i] = (char *)(uintptr_t)parts[i]; /* execve takes texts without const */
  arguments[count] = NULL;
  return arguments;
}

static bool write_fields(struct field_writer *fields, const struct wish *wish, bool has_terminal) {
  char folder[PATH_MAX];
  char **arguments = build_arguments(wish);
  char **variables = arguments == NULL ? NULL : build_variables(wish, environ);
  if (variables == NULL) return false;
  for (; *arguments != NULL; arguments++) put_text(fields, TAG_ARG, *arguments);
  for (char **entry = variables; *entry != NULL; entry++) put_text(fields, TAG_ENV, *entry);
  free(variables);
  if (getcwd(folder, sizeof folder) != NULL && folder[0] == '/') put_text(fields, TAG_CWD, folder);
  if (wish->user != NULL) put_text(fields, TAG_USER, wish->user);
  if (has_terminal) put_number(fields, TAG_FLAGS, FLAG_TERMINAL);
  return !fields->overflow;
}

/* The descriptors go with the first bytes. */
static bool send_head(int socket, const uint8_t head[HEAD_BYTES], const int *descriptors, size_t count) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(SUDO_DESCRIPTORS_MAX * sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct iovec data = {.iov_base = (void *)(uintptr_t)head, .iov_len = HEAD_BYTES};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
  control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)HEAD_BYTES;
}

bool send_request(int socket, const struct wish *wish, const int *descriptors, size_t count) {
  static uint8_t bytes[FIELDS_MAX_BYTES];
  uint8_t head[HEAD_BYTES];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  if (!write_fields(&fields, wish, count > SUDO_STREAMS)) {
    errno = E2BIG;
    return false;
  }
  write_head(head, (struct head){OPERATION_EXEC, (uint32_t)fields.length});
  return send_head(socket, head, descriptors, count) && write_whole(socket, bytes, fields.length);
}
