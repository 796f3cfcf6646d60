#include "wish.h"

#include <stdio.h>
#include <string.h>

const char SUDO_HELP[] =
    "usage: sudo [-EHinSsk] [-u USER] [NAME=value ...] [--] COMMAND [ARG ...]\n"
    "       sudo -v | -l | -h | -V\n"
    "\n"
    "Runs a command as root, or as USER (a name, or #id). It asks for no password.\n"
    "  -u, --user=USER     as this user\n"
    "  -i, --login         a login shell of that user, or COMMAND in one\n"
    "  -s, --shell         a shell, or COMMAND in one\n"
    "  -E, --preserve-env  keep HOME too; other variables stay anyway\n"
    "  -H, -n, -S, -k      taken, and without effect\n"
    "  -v, -l              say whether sudo can be used\n";

static const struct {
  const char *name;
  char letter;
} LONG_NAMES[] = {
    {"preserve-env", 'E'}, {"set-home", 'H'}, {"login", 'i'}, {"non-interactive", 'n'}, {"stdin", 'S'}, {"shell", 's'},
    {"reset-timestamp", 'k'}, {"remove-timestamp", 'K'}, {"validate", 'v'}, {"list", 'l'}, {"help", 'h'}, {"version", 'V'}, {"user", 'u'},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *refuse(const char *argument) {
  static char text[160];
  snprintf(text, sizeof text, "%.80s is not taken here; sudo -h says what is", argument);
  return text;
}

static bool take_letter(struct wish *wish, char letter) {
  switch (letter) {
    case 'E': wish->keeps_home = true; return true;
    case 'H':
    case 'n':
    case 'S':
    case 'k': return true;
    case 'K':
    case 'v': wish->only_asks = true; return true;
    case 'l': wish->only_asks = wish->lists = true; return true;
    case 'i': wish->is_login = true; return true;
    case 's': wish->is_shell = true; return true;
    case 'h': wish->shows_help = true; return true;
    case 'V': wish->shows_version = true; return true;
    default: return false;
  }
}

/* The letter of a long option, with its value if it has one. 0: unknown. */
static char find_long(const char *argument, const char **value) {
  size_t length = strcspn(argument, "=");
  *value = argument[length] == '=' ? &argument[length + 1] : NULL;
  for (size_t i = 0; i < COUNT(LONG_NAMES); i++)
    if (strlen(LONG_NAMES[i].name) == length && strncmp(LONG_NAMES[i].name, argument, length) == 0) return LONG_NAMES[i].letter;
  return 0;
}

/* Takes the user's name from this argument, or from the next one. */
static const char *take_user(struct wish *wish, const char *value, char **argv, int *at) {
  wish->user = value != NULL && value[0] != 0 ? value : argv[*at + 1];
  if (wish->user == NULL) return "-u needs the name of a user";
  if (wish->user != value) ++*at;
  if (wish->user[0] == '#') wish->user++;
  return NULL;
}

static const char *read_long(struct wish *wish, char **argv, int *at) {
  const char *value;
  char letter = find_long(&argv[*at][2], &value);
  if (letter == 'u') return take_user(wish, value, argv, at);
  /* --preserve-env=LIST names variables, which stay anyway. */
  if (letter == 0 || (value != NULL && letter != 'E') || !take_letter(wish, letter)) return refuse(argv[*at]);
  return NULL;
}

static const char *read_letters(struct wish *wish, char **argv, int *at) {
  for (const char *letter = &argv[*at][1]; *letter != 0; letter++) {
    if (*letter == 'u') return take_user(wish, &letter[1], argv, at);
    if (!take_letter(wish, *letter)) return refuse(argv[*at]);
  }
  return NULL;
}

static bool is_variable(const char *text) {
  size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
  return length > 0 && text[length] == '=' && (text[0] < '0' || text[0] > '9');
}

const char *read_wish(struct wish *wish, int argc, char **argv) {
  memset(wish, 0, sizeof *wish);
  int at = 1;
  for (; at < argc && argv[at][0] == '-' && argv[at][1] != 0; at++) {
    if (strcmp(argv[at], "--") == 0) {
      at++;
      break;
    }
    const char *wrong = argv[at][1] == '-' ? read_long(wish, argv, &at) : read_letters(wish, argv, &at);
    if (wrong != NULL) return wrong;
  }
  wish->variables = &argv[at];
  while (at < argc && is_variable(argv[at])) at++;
  wish->variable_count = (size_t)(&argv[at] - wish->variables);
  wish->command = &argv[at];
  wish->command_count = (size_t)(argc - at);
  if (wish->is_login && wish->is_shell) return "-i and -s exclude each other";
  bool needs_command = !wish->only_asks && !wish->shows_help && !wish->shows_version && !wish->is_login && !wish->is_shell;
  return needs_command && wish->command_count == 0 ? "name a command; sudo -h says how" : NULL;
}
