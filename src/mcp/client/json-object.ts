/** An object as a server sent it: nothing in it is checked. */
export type JsonObject = Readonly<Record<string, unknown>>;
