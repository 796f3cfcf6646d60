import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { HomeEvents } from "../../../../src/sandbox/events/home-events.ts";
import { HomeWatch } from "../../../../src/sandbox/events/home-watch.ts";
import { Journal } from "../../../../src/sandbox/journal.ts";

const NEVER = new AbortController().signal;
const ignore = (): void => undefined;

async function openHome() {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  const journal = new Journal(home, ignore);
  const [folder, aside] = [join(home, "sandboxes"), join(home, "aside")];
  return {
    journal,
    hide: () => rename(folder, aside),
    show: () => rename(aside, folder),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true }),
  };
}

/** The folder can be watched, but its first list fails, as if the disk did. */
function breakDisk(journal: Journal): Journal {
  return Object.assign(journal, { ids: () => Promise.reject(new Error("EIO: i/o error")) });
}

it("reports a watch that cannot be opened, once until one is ready", async () => {
  await using home = await openHome();
  const reports: string[] = [];
  await using events = new HomeEvents({ journal: home.journal, follow: async () => false, report: (problem) => reports.push(problem) });
  const refused = () => expect(events.read({ id: "somebody", name: "somebody" }, NEVER).next()).rejects.toMatchObject({ code: "FILE_IO" });
  await home.hide();
  await refused();
  await refused();
  expect(reports).toEqual([expect.stringContaining("cannot be followed")]);
  await home.show();
  const reader = events.read({ id: "somebody", name: "somebody" }, NEVER);
  await reader.next();
  await reader.return();
  await home.hide();
  await refused();
  expect(reports).toHaveLength(2);
});

it("reports a watch that fails, and refuses its readers", async () => {
  await using home = await openHome();
  const reports: string[] = [];
  const journal = breakDisk(home.journal);
  await using events = new HomeEvents({ journal, follow: async () => false, report: (problem) => reports.push(problem) });
  await expect(events.read({ id: "somebody", name: "somebody" }, NEVER).next()).rejects.toMatchObject({ code: "FILE_IO" });
  expect(reports).toEqual([expect.stringContaining("EIO")]);
});

it("says nothing of a failure after it was closed, since a later watch goes on", async () => {
  await using home = await openHome();
  const failed: string[] = [];
  const journal = breakDisk(home.journal);
  const open = (name: string) =>
    new HomeWatch({ journal, report: ignore, follow: async () => false, tell: ignore, lost: ignore, failed: () => failed.push(name) });
  const [closed, live] = [open("closed"), open("live")];
  closed[Symbol.dispose]();
  await Promise.allSettled([closed.ready, live.ready]);
  await new Promise((resolve) => setImmediate(resolve));
  live[Symbol.dispose]();
  expect(failed).toEqual(["live"]);
});
