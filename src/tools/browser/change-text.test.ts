import { expect, it } from "vitest";
import type { ChangeFacts } from "../../browser/actions/change.ts";
import { NO_CHANGE, splitOutside } from "../../../test/support/change-facts.ts";
import { changeText } from "./change-text.ts";

it("says after the block what can be done next", () => {
  const after = (change: Partial<ChangeFacts>) => splitOutside(changeText({ ...NO_CHANGE, ...change })).after;
  expect(after({ dialog: { kind: "alert", message: "" } })).toContain("browser_handle_dialog");
  expect(after({ navigated: true })).toContain("browser_snapshot");
  expect(after({ opened: [{ index: 1, url: "" }] })).toContain("browser_tabs");
  expect(after({ loading: true, navigated: true })).toContain("browser_wait_for");
  expect(after({ tree: "" })).toContain("as before");
});
