/* The storage pool of a home: a btrfs file system in a sparse image on a loop device. */
#ifndef BELLJAR_POOL_H
#define BELLJAR_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Beside the folder. Whoever uses the pool has a shared lock (flock) of it, and the caretaker an exclusive one while it unmounts. */
#define POOL_LOCK ".lock"
/* Bytes of it, which are locked each by itself (F_OFD_SETLK): whose turn it is to mount the pool or change its size, and who is its caretaker. */
#define POOL_TURN 0
#define POOL_CARE 1

struct pool {
  const char *image, *folder;
};

/* pool.c */
bool is_pool_mounted(const char *folder);
int open_pool_lock(const char *folder);
/* Held until the descriptor is closed. */
int take_pool_turn(const struct pool *pool);

/* pool-device.c: both return a descriptor of the loop device, and its path. */
#define DEVICE_PATH_MAX 64
/* -1: the image is on no device. */
int find_pool_device(const struct pool *pool, char path[DEVICE_PATH_MAX]);
int attach_pool_device(const struct pool *pool, char path[DEVICE_PATH_MAX]);

/* pool-room.c */
/* Gives free blocks back to the host. */
void trim_pool(const char *folder);
/* Makes the pool larger or smaller if that is worth it. False with errno set; then it has the size that it had. */
bool fit_pool(const struct pool *pool, uint64_t bytes);

/* pool-care.c: starts the caretaker if there is none. It fits the pool first. The caller has the shared lock. */
void start_caretaker(const struct pool *pool, uint64_t bytes);

/* pool-holds.c: prints what the pool holds. */
void print_pool(const char *folder);

#endif
