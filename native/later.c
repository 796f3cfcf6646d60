#include "operations.h"
#include "work.h"

void serve_stat(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_list(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_read(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_write(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_make_directory(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_rename(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_remove(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_copy(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_symlink(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_set_attributes(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_get_xattr(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_set_xattr(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_list_xattrs(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_remove_xattr(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_watch(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_processes(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_signal_process(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
void serve_usage(struct work *work) { work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "not yet"); }
