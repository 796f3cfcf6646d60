import { TITLE_MAX, URL_MAX } from "../../actions/change-limits.ts";
import type { SnapshotArgs, SnapshotValue } from "../../actions/snapshot.ts";
import { defineHandler } from "../handler.ts";
import { readTree } from "../page-view.ts";
import { assertNoDialog, reasoned } from "./act.ts";

export const snapshot = defineHandler<SnapshotArgs, SnapshotValue>({
  name: "snapshot",
  mayLinger: true,
  async run(tab, args) {
    assertNoDialog(tab);
    const { page } = tab;
    const text = await reasoned(() => readTree(page, args));
    return { value: { url: page.url().slice(0, URL_MAX), title: (await page.title()).slice(0, TITLE_MAX), text } };
  },
});
