/** Without zod, for the driver has none. */
export const PDF_MAX_BYTES = 64 * 1_048_576;
