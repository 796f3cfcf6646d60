/** Without zod, for the driver has none. */
export const SNAPSHOT_DEFAULT_BYTES = 20_000;
