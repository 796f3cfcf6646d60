/** By its number: an image need not name it. */
export const ROOT = "0";
