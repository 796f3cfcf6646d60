const MIB = 1_048_576;

/** A page takes about 224 MB, and a kernel that runs out of memory ends the browser. */
export const BROWSER_MEMORY_MIN_BYTES = 512 * MIB;
