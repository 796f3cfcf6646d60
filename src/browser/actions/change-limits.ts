/** Without zod, for the driver has none. */
export const CHANGE_LINES_MAX = 50;
export const CHANGE_LINE_MAX = 2_000;
/** Characters of the difference of the tree. */
export const TREE_CHANGE_MAX = 16_384;
export const TITLE_MAX = 2_000;
/** Longer addresses come with data that a page can fetch by itself. */
export const URL_MAX = 65_536;
/** Of one address among many. */
export const LISTED_URL_MAX = 2_000;
/** Of each list of a change, as it is sent: all of them fit one message. */
export const CHANGE_LIST_MAX_BYTES = 131_072;
