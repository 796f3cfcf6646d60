import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openBrowserLab, patiently } from "../../support/browser-lab.ts";

it.skipIf(process.getuid?.() !== 0)(
  "is the same browser after a pause in which a state was taken (skipped for an ordinary user, who has no freezer)",
  async () => {
    await using lab = await openBrowserLab();
    const { sandbox, lab: home } = lab;
    const evaluate = async (expression: string) => (await lab.session().call(EVALUATE, { expression }, patiently())).value.json;
    await evaluate("document.title = 'before'");
    await sandbox.pause();
    const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, patiently().signal);
    expect(await sandbox.info()).toMatchObject({ state: "paused" });
    expect(await evaluate("document.title")).toBe('"before"');
    await home.sandboxes.snapshots.remove(LOCAL, id);
  },
  60_000,
);

it.skipIf(process.getuid?.() !== 0)(
  "is not ended while its sandbox is paused, however long nobody calls (skipped for an ordinary user, who has no freezer)",
  async () => {
    await using lab = await openBrowserLab({ idleMs: 5_000 });
    const { sandbox } = lab;
    const evaluate = async (expression: string) => (await lab.session().call(EVALUATE, { expression }, patiently())).value.json;
    await evaluate("document.title = 'before'");
    await sandbox.pause();
    await pause(6_000);
    await sandbox.resume();
    expect(await evaluate("document.title")).toBe('"before"');
    await lab.ended();
  },
  60_000,
);
