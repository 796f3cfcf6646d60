/* What a worker can do: each serves its request to the end and does not return. */
#ifndef BELLJAR_OPERATIONS_H
#define BELLJAR_OPERATIONS_H

struct work;

void serve_stat(struct work *work);
void serve_list(struct work *work);
void serve_read(struct work *work);
void serve_write(struct work *work);
void serve_make_directory(struct work *work);
void serve_rename(struct work *work);
void serve_remove(struct work *work);
void serve_copy(struct work *work);
void serve_symlink(struct work *work);
void serve_set_attributes(struct work *work);
void serve_get_xattr(struct work *work);
void serve_set_xattr(struct work *work);
void serve_list_xattrs(struct work *work);
void serve_remove_xattr(struct work *work);
void serve_watch(struct work *work);
void serve_processes(struct work *work);
void serve_signal_process(struct work *work);
void serve_usage(struct work *work);

#endif
