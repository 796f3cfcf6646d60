#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"
#include "inside.h"
#include "rights.h"

#define LINE_BYTES 16384u
/* What lies further in a file is not looked at: an image may have one of any size. */
#define FILE_BYTES_MAX (4u << 20)
#define FIELDS_PER_LINE 7u

/* Reads the lines of a file. The sandbox's root or an image may have written it: too long lines are skipped, and only a regular file is read. */
struct lines {
  int fd;
  size_t start;
  size_t end;
  size_t read;
  char buffer[LINE_BYTES + 1];
};

static bool open_lines(struct lines *lines, const char *path) {
  lines->start = lines->end = lines->read = 0;
  lines->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (lines->fd < 0) return false;
  struct stat status;
  if (fstat(lines->fd, &status) == 0 && S_ISREG(status.st_mode)) return true;
  close(lines->fd);
  return false;
}

static bool fill(struct lines *lines) {
  if (lines->start > 0) {
    memmove(lines->buffer, &lines->buffer[lines->start], lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
  }
  if (lines->end == LINE_BYTES) lines->end = 0;
  if (lines->read >= FILE_BYTES_MAX) return false;
  ssize_t count = read(lines->fd, &lines->buffer[lines->end], LINE_BYTES - lines->end);
  if (count <= 0) return false;
  lines->end += (size_t)count;
  lines->read += (size_t)count;
  return true;
}

/* The next line without its newline, or NULL. */
static char *next_line(struct lines *lines) {
  for (;;) {
    char *line = &lines->buffer[lines->start];
    char *newline = memchr(line, '\n', lines->end - lines->start);
    if (newline != NULL) {
      *newline = 0;
      lines->start += (size_t)(newline - line) + 1;
      return line;
    }
    if (fill(lines)) continue;
    if (lines->start == lines->end) return NULL;
    line = &lines->buffer[lines->start];
    lines->buffer[lines->end] = 0;
    lines->start = lines->end;
    return line;
  }
}

static size_t split(char *line, char separator, char **parts, size_t capacity) {
  size_t count = 0;
  while (count < capacity) {
    parts[count++] = line;
    line = strchr(line, separator);
    if (line == NULL) break;
    *line++ = 0;
  }
  return count;
}

static bool parse_id(const char *text, uint32_t *id) {
  if (text[0] < '0' || text[0] > '9') return false;
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (errno != 0 || *end != 0 || value >= UINT32_MAX) return false;
  *id = (uint32_t)value;
  return true;
}

static void copy_text(char *to, size_t capacity, const char *from) {
  size_t length = strnlen(from, capacity - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

static bool is_in(const char *name, char *members) {
  for (char *member = members; member != NULL;) {
    char *comma = strchr(member, ',');
    if (comma != NULL) *comma++ = 0;
    if (strcmp(member, name) == 0) return true;
    member = comma;
  }
  return false;
}

static void find_groups(struct user *user) {
  user->groups[0] = user->gid;
  user->group_count = 1;
  struct lines lines;
  if (!open_lines(&lines, "/etc/group")) return;
  for (char *line = next_line(&lines); line != NULL && user->group_count < USER_GROUPS_MAX; line = next_line(&lines)) {
    char *parts[FIELDS_PER_LINE];
    uint32_t gid;
    if (split(line, ':', parts, FIELDS_PER_LINE) < 4 || !parse_id(parts[2], &gid) || gid == user->gid || gid > USER_ID_MAX) continue;
    if (is_in(user->name, parts[3])) user->groups[user->group_count++] = gid;
  }
  close(lines.fd);
}

static bool parse_account(char *line, struct user *user) {
  char *parts[FIELDS_PER_LINE];
  uint32_t uid;
  uint32_t gid;
  if (split(line, ':', parts, FIELDS_PER_LINE) < FIELDS_PER_LINE || !parse_id(parts[2], &uid) || !parse_id(parts[3], &gid)) return false;
  if (parts[0][0] == 0 || strlen(parts[0]) >= sizeof user->name || strlen(parts[5]) >= sizeof user->home) return false;
  user->uid = uid;
  user->gid = gid;
  copy_text(user->name, sizeof user->name, parts[0]);
  copy_text(user->home, sizeof user->home, parts[5][0] == 0 ? "/" : parts[5]);
  copy_text(user->shell, sizeof user->shell, parts[6][0] == 0 ? "/bin/sh" : parts[6]);
  return true;
}

/* The first account with the name. Digits are a uid: then the first account that has it. */
static bool find_account(const char *name, struct user *user) {
  struct lines lines;
  if (!open_lines(&lines, "/etc/passwd")) return false;
  uint32_t uid;
  bool is_number = parse_id(name, &uid);
  bool found = false;
  struct user account;
  for (char *line = next_line(&lines); line != NULL && !found; line = next_line(&lines)) {
    if (!parse_account(line, &account)) continue;
    found = is_number ? account.uid == uid : strcmp(account.name, name) == 0;
    if (found) *user = account;
  }
  close(lines.fd);
  return found;
}

static bool find_built_in(const char *name, struct user *user) {
  bool root = strcmp(name, INSIDE_ROOT) == 0;
  if (!root && strcmp(name, INSIDE_USER) != 0) return false;
  user->uid = user->gid = root ? INSIDE_ROOT_ID : INSIDE_USER_ID;
  copy_text(user->name, sizeof user->name, name);
  copy_text(user->home, sizeof user->home, root ? INSIDE_ROOT_HOME : INSIDE_USER_HOME);
  copy_text(user->shell, sizeof user->shell, "/bin/sh");
  return true;
}

/* As programs that run containers do it. */
static bool make_account(const char *name, struct user *user) {
  uint32_t uid;
  if (!parse_id(name, &uid)) return false;
  user->uid = uid;
  user->gid = 0;
  snprintf(user->name, sizeof user->name, "%u", uid);
  copy_text(user->home, sizeof user->home, "/");
  copy_text(user->shell, sizeof user->shell, "/bin/sh");
  return true;
}

static bool find_group(const char *name, gid_t *gid) {
  if (parse_id(name, gid)) return true;
  struct lines lines;
  if (!open_lines(&lines, "/etc/group")) return false;
  bool found = false;
  for (char *line = next_line(&lines); line != NULL && !found; line = next_line(&lines)) {
    char *parts[FIELDS_PER_LINE];
    found = split(line, ':', parts, FIELDS_PER_LINE) >= 3 && strcmp(parts[0], name) == 0 && parse_id(parts[2], gid);
  }
  close(lines.fd);
  return found;
}

const char *find_user(const char *wanted, struct user *user) {
  char name[USER_NAME_BYTES];
  const char *group = strchr(wanted, ':');
  size_t length = group == NULL ? strlen(wanted) : (size_t)(group - wanted);
  memset(user, 0, sizeof *user);
  if (length >= sizeof name) return "the name is too long";
  memcpy(name, wanted, length);
  name[length] = 0;
  if (!find_account(name, user) && !find_built_in(name, user) && !make_account(name, user)) return "the sandbox's /etc/passwd has no such name";
  if (group != NULL && !find_group(group + 1, &user->gid)) return "the sandbox's /etc/group has no such group";
  if (user->uid > USER_ID_MAX || user->gid > USER_ID_MAX) return "the ids of a sandbox end at 65534";
  if (group == NULL) {
    find_groups(user);
  } else {
    user->groups[0] = user->gid;
    user->group_count = 1;
  }
  return NULL;
}

const char *default_user(const struct guest_options *options) { return options->user == NULL ? INSIDE_USER : options->user; }

bool become_user(const struct user *user, bool single_id) {
  if (single_id) return true;
  if (setgroups(user->group_count, user->groups) != 0 || setresgid(user->gid, user->gid, GUEST_SAVED_GROUP) != 0) return false;
  if (user->uid == 0) return setresuid(0, 0, 0) == 0;
  /* With PR_SET_KEEPCAPS the kernel keeps the capabilities until the next execve. */
  return prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L) == 0 && setresuid(user->uid, user->uid, user->uid) == 0 && keep_mark_alone();
}

/* The template's link, which leads home, says that there is no workspace. */
static bool enter_workspace(void) {
  char target[sizeof INSIDE_USER_HOME];
  ssize_t length = readlink(INSIDE_WORKSPACE, target, sizeof target);
  bool leads_home = length == sizeof INSIDE_USER_HOME - 1 && memcmp(target, INSIDE_USER_HOME, sizeof INSIDE_USER_HOME - 1) == 0;
  return !leads_home && chdir(INSIDE_WORKSPACE) == 0;
}

bool enter_start_folder(const struct user *user, const char *folder) {
  return (folder == NULL ? enter_workspace() : chdir(folder) == 0) || chdir(user->home) == 0 || chdir("/") == 0;
}

static void find_name(const char *path, uint32_t id, char *to) {
  snprintf(to, USER_NAME_BYTES, "%u", id);
  struct lines lines;
  if (!open_lines(&lines, path)) return;
  for (char *line = next_line(&lines); line != NULL; line = next_line(&lines)) {
    char *parts[FIELDS_PER_LINE];
    uint32_t found;
    if (split(line, ':', parts, FIELDS_PER_LINE) < 3 || !parse_id(parts[2], &found) || found != id) continue;
    copy_text(to, USER_NAME_BYTES, parts[0]);
    break;
  }
  close(lines.fd);
}

const char *name_of_user(struct name_cache *cache, uint32_t uid) {
  size_t rows = sizeof cache->users / sizeof cache->users[0];
  for (size_t i = 0; i < rows; i++) {
    if (cache->users[i].used && cache->users[i].id == uid) return cache->users[i].name;
  }
  size_t row = cache->next_user++ % rows;
  cache->users[row].used = true;
  cache->users[row].id = uid;
  find_name("/etc/passwd", uid, cache->users[row].name);
  return cache->users[row].name;
}

const char *name_of_group(struct name_cache *cache, uint32_t gid) {
  size_t rows = sizeof cache->groups / sizeof cache->groups[0];
  for (size_t i = 0; i < rows; i++) {
    if (cache->groups[i].used && cache->groups[i].id == gid) return cache->groups[i].name;
  }
  size_t row = cache->next_group++ % rows;
  cache->groups[row].used = true;
  cache->groups[row].id = gid;
  find_name("/etc/group", gid, cache->groups[row].name);
  return cache->groups[row].name;
}
