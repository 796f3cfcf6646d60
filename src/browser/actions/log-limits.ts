/** Without zod, for the driver has none. */
export const CONSOLE_KEPT = 500;
export const REQUESTS_KEPT = 500;
export const REQUEST_URL_MAX = 2_000;
/** What a call is answered that names no number. */
export const LOG_DEFAULT = 50;
