/** Marks the supervisor of a background process in the table of processes; the id of the background process stands behind it. */
export const BACKGROUND_MARK = "belljar-background";
