import type { Locator, Page } from "playwright-core";
import type { MarkFacts } from "../actions/screenshot.ts";
import type { SnapshotArgs } from "../actions/snapshot.ts";
import { DriverError } from "./driver-error.ts";

/** What the actions need of the walk through a page. */
export type TreeState = string;

export async function captureTree(page: Page): Promise<TreeState | undefined> {
  return page.locator("body").ariaSnapshot({ mode: "ai" });
}

export async function tellTreeChange(page: Page, before: TreeState, max: number): Promise<string> {
  const known = new Set(before.split("\n"));
  const now = (await captureTree(page)) ?? "";
  const lines = now.split("\n");
  const added = lines.filter((line) => !known.has(line)).map((line) => `+ ${line.trim()}`);
  const current = new Set(lines);
  const gone = before
    .split("\n")
    .filter((line) => !current.has(line))
    .map((line) => `- ${line.trim()}`);
  return [...gone, ...added].join("\n").slice(0, max);
}

export async function readTree(page: Page, { max_bytes: max = 20_000 }: SnapshotArgs): Promise<string> {
  return (await page.locator("body").ariaSnapshot({ mode: "ai" })).slice(0, max);
}

export async function locateRef(page: Page, ref: string): Promise<Locator> {
  const locator = page.locator(`aria-ref=${ref}`);
  if ((await locator.count()) === 0) throw new DriverError("STALE_REF", `The reference ${ref} is of no element of this page`);
  return locator;
}

export interface Marked extends AsyncDisposable {
  readonly marks: readonly MarkFacts[];
}

export async function drawMarks(_page: Page): Promise<Marked> {
  return { marks: [], [Symbol.asyncDispose]: async () => undefined };
}
