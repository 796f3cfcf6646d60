/* Small things that several file operations need. */
#ifndef BELLJAR_PATHS_H
#define BELLJAR_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* The folder that holds the path's last name; false with errno set. */
bool parent_of(const char *path, char *to, size_t capacity);
/* Makes every missing folder of the path, mode 0755; false with errno set. */
bool make_folders(const char *path);

#endif
