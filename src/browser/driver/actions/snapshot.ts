import { URL_MAX } from "../../actions/change-limits.ts";
import type { SnapshotArgs, SnapshotValue } from "../../actions/snapshot.ts";
import { defineHandler } from "../handler.ts";
import { titleOf } from "../page-title.ts";
import { readTree } from "../page-view.ts";
import { assertNoDialog, reasoned } from "./act.ts";

export const snapshot = defineHandler<SnapshotArgs, SnapshotValue>({
  name: "snapshot",
  mayLinger: true,
  async run(tab, args) {
    assertNoDialog(tab);
    const { page } = tab;
    const text = await reasoned(() => readTree(page, args));
    return { value: { url: page.url().slice(0, URL_MAX), title: await titleOf(tab), text } };
  },
});
