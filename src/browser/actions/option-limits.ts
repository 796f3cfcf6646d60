/** Without zod, for the driver has none. */
export const OPTIONS_MAX = 500;
export const OPTION_TEXT_MAX = 500;
