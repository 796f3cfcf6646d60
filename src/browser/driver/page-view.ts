import type { Locator, Page } from "playwright-core";
import type { MarkFacts } from "../actions/screenshot.ts";
import type { SnapshotArgs } from "../actions/snapshot.ts";
import { SNAPSHOT_DEFAULT_BYTES } from "../actions/snapshot-limits.ts";
import { PageEyes } from "./page-eyes.ts";

const MARKS_MAX = 200;
const EYES = new WeakMap<Page, PageEyes>();

/** Those of the page, which count its references. */
function eyesOf(page: Page): PageEyes {
  const known = EYES.get(page);
  if (known) return known;
  const eyes = new PageEyes(page);
  EYES.set(page, eyes);
  return eyes;
}

/** That the tree of a page was noted, for `tellTreeChange`. */
export type TreeState = true;

export async function captureTree(page: Page): Promise<TreeState> {
  await eyesOf(page).before();
  return true;
}

/** At most `max` characters. Empty: the tree is as it was. */
export async function tellTreeChange(page: Page, _before: TreeState, max: number): Promise<string> {
  return ((await eyesOf(page).changes()) ?? "").slice(0, max);
}

export async function readTree(
  page: Page,
  { ref, selector, max_bytes: maxBytes = SNAPSHOT_DEFAULT_BYTES, offset = 0 }: SnapshotArgs,
): Promise<string> {
  const root = ref !== undefined ? await locateRef(page, ref) : selector !== undefined ? page.locator(selector) : undefined;
  return eyesOf(page).snapshot({ root, maxBytes, offset });
}

export function locateRef(page: Page, ref: string): Promise<Locator> {
  return eyesOf(page).locate(ref);
}

export interface Marked extends AsyncDisposable {
  readonly marks: readonly MarkFacts[];
}

/** Numbers what can be acted on in view, until it is disposed. */
export async function drawMarks(page: Page): Promise<Marked> {
  const eyes = eyesOf(page);
  const boxes = await eyes.showMarks(MARKS_MAX);
  return {
    marks: boxes.map(({ ref, role, name, x, y, width, height }, number) => ({
      number,
      ref,
      role,
      name,
      x: x + width / 2,
      y: y + height / 2,
    })),
    [Symbol.asyncDispose]: () => eyes.hideMarks(),
  };
}
