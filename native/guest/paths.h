/* Helpers of several file operations. */
#ifndef BELLJAR_PATHS_H
#define BELLJAR_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* The folder of the path's last name. False with errno set. */
bool parent_of(const char *path, char *to, size_t capacity);
/* Makes every missing folder of the path with mode 0755. False with errno set. */
bool make_folders(const char *path);

#endif
