import type { ChangeFacts } from "../../src/browser/actions/change.ts";

/** An action after which nothing is other than before. */
export const NO_CHANGE: ChangeFacts = {
  url: "http://a.test/",
  title: "",
  navigated: false,
  loading: false,
  dialogs: [],
  downloads: [],
  opened: [],
  errors: [],
  failures: [],
};

/** What stands in the block of outside text, and what comes after it. */
export function splitOutside(text: string): { readonly inside: string; readonly after: string } {
  const nonce = /^\[Outside text ([0-9a-f]{24}) begins/.exec(text)?.[1] ?? "";
  const [inside = "", after = ""] = text.split(`\n[Outside text ${nonce} ends]`);
  return { inside, after };
}
