import { expect, it } from "vitest";
import type { ChangeFacts } from "../../browser/actions/change.ts";
import { changeText } from "./change-text.ts";

const NOTHING: ChangeFacts = {
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

function split(text: string): { readonly inside: string; readonly after: string } {
  const nonce = /^\[Outside text ([0-9a-f]{24}) begins/.exec(text)?.[1] ?? "";
  const [inside = "", after = ""] = text.split(`\n[Outside text ${nonce} ends]`);
  return { inside, after };
}

it("says after the block what can be done next", () => {
  const after = (change: Partial<ChangeFacts>) => split(changeText({ ...NOTHING, ...change })).after;
  expect(after({ dialog: { kind: "alert", message: "" } })).toContain("browser_handle_dialog");
  expect(after({ navigated: true })).toContain("browser_snapshot");
  expect(after({ opened: [{ index: 1, url: "" }] })).toContain("browser_tabs");
  expect(after({ loading: true, navigated: true })).toContain("browser_wait_for");
  expect(after({ tree: "" })).toContain("as before");
});
