import type { ChangeFacts, DownloadFacts } from "../../actions/change.ts";
import { CHANGE_LINES_MAX, CHANGE_LIST_MAX_BYTES, LISTED_URL_MAX, TREE_CHANGE_MAX, URL_MAX } from "../../actions/change-limits.ts";
import type { DownloadState } from "../downloads.ts";
import { DriverError } from "../driver-error.ts";
import { lastFitting } from "../fitting.ts";
import type { Answer, Call } from "../handler.ts";
import { titleOf } from "../page-title.ts";
import { captureTree, tellTreeChange, type TreeState } from "../page-view.ts";
import { saidInTime } from "../said-in-time.ts";
import type { Tab } from "../tab.ts";
import { tellDialog } from "../tab-log.ts";
import { toReason } from "./playwright-reasons.ts";
import { DocumentWatch, settle } from "./settle.ts";

/** Playwright's own limit. It is below the call's deadline, so that the reason comes and not the deadline alone. */
export const ACT_MS = 8_000;

/** Of the call's time what changed is told in so much: what was done is no failure because its page is slow or loads on. */
const TELL_MS = 500;
/** With so little left, what the page does not say is left out. */
const SAY_MS = 100;

interface Before {
  readonly tree: TreeState | undefined;
  readonly tabs: readonly Tab[];
  readonly downloads: readonly DownloadState[];
  readonly counts: { readonly console: number; readonly failures: number; readonly dialogs: number };
}

export interface ActOptions {
  /** It is done although a dialog holds the page. */
  readonly isUrgent?: boolean;
  /** The tree of before is of no use. */
  readonly leaves?: boolean;
  /** It may use the link that has the focus. */
  readonly followsLinks?: boolean;
}

/** How playwright does one thing. */
export interface How {
  readonly timeout: number;
  /** Aborts when the call is broken off, and when a dialog has ended it: what is left of the work is not done then. */
  readonly signal: AbortSignal;
}

type Work = (how: How) => Promise<unknown>;

/** Does something to a page, and answers what changed. A dialog that opens meanwhile ends it: the page is held until that is answered. */
export async function act(tab: Tab, call: Call, work: Work, options: ActOptions = {}): Promise<Answer<ChangeFacts>> {
  const { isUrgent = false, leaves = isUrgent } = options;
  if (!isUrgent) assertNoDialog(tab);
  const before = await look(tab, leaves);
  using documents = await DocumentWatch.open(tab);
  using opening = tab.nextDialog();
  const held = new AbortController();
  const signal = AbortSignal.any([call.signal, held.signal]);
  const doing = doUnlessBroken(work, signal).then(() =>
    settle(tab, documents, {
      leaves: options.leaves === true,
      endsAt: call.endsAt - TELL_MS,
      followsLinks: options.followsLinks === true,
      isBeforeDownload: () => tab.downloads.all.every((one) => before.downloads.includes(one)),
    }),
  );
  doing.catch(() => undefined);
  await Promise.race([doing, opening.dialog.then(() => held.abort())]);
  return { value: await tellChange(tab, before, { documents, endsAt: call.endsAt - SAY_MS }) };
}

/** What is done to a page while a dialog holds it would wait for the dialog. Throws `DIALOG_OPEN`. */
export function assertNoDialog({ dialog }: Tab): void {
  if (!dialog) return;
  const { kind, message } = tellDialog(dialog);
  const said = JSON.stringify(message.slice(0, 200));
  throw new DriverError("DIALOG_OPEN", `A dialog holds the page, ${kind} ${said}: answer it with browser_handle_dialog`);
}

async function doUnlessBroken(work: Work, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await reasoned(() => work({ timeout: ACT_MS, signal }), signal);
}

/** With playwright's errors as reasons, and that of the signal for what it has broken off. */
export async function reasoned<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted === true && !(error instanceof DriverError) ? signal.reason : toReason(error);
  }
}

async function look(tab: Tab, leaves: boolean): Promise<Before> {
  const { console, failures, dialogs } = tab.log;
  return {
    tree: leaves ? undefined : await captureTree(tab.page),
    tabs: [...tab.tabs.all],
    downloads: [...tab.downloads.all],
    counts: { console: console.count, failures: failures.count, dialogs: dialogs.count },
  };
}

interface Telling {
  readonly documents: DocumentWatch;
  readonly endsAt: number;
}

async function tellChange(tab: Tab, before: Before, { documents, endsAt }: Telling): Promise<ChangeFacts> {
  const { page, log, dialog, tabs, downloads } = tab;
  const open = dialog && tellDialog(dialog);
  const dialogs = log.dialogs.since(before.counts.dialogs);
  const isNew = documents.hasNew;
  const inTime = (saying: Promise<string>): Promise<string | undefined> => saidInTime(saying, Math.max(0, endsAt - performance.now()));
  const title = open ? undefined : await inTime(titleOf(tab));
  const tree = open || isNew || !before.tree ? undefined : await inTime(tellTreeChange(page, before.tree, TREE_CHANGE_MAX));
  return {
    url: page.url().slice(0, URL_MAX),
    title: title ?? "",
    navigated: isNew,
    loading: documents.isLoading,
    ...(open && { dialog: open }),
    dialogs: newest(open ? dialogs.slice(0, -1) : dialogs),
    downloads: newest(downloads.all.filter((one) => !before.downloads.includes(one)).map(tellDownload)),
    opened: tabs.all.flatMap((one, index) =>
      before.tabs.includes(one) || one === tab ? [] : [{ index, url: one.page.url().slice(0, LISTED_URL_MAX) }],
    ),
    errors: errorsSince(tab, before.counts.console),
    failures: newest(log.failures.since(before.counts.failures)),
    ...(tree !== undefined && { tree }),
  };
}

function errorsSince({ log }: Tab, count: number): string[] {
  const errors = log.console.since(count).filter(({ level }) => level === "error");
  return newest(errors.map(({ text }) => text));
}

function newest<Entry>(entries: readonly Entry[]): Entry[] {
  return lastFitting(entries.slice(-CHANGE_LINES_MAX), CHANGE_LIST_MAX_BYTES);
}

function tellDownload({ url, name, state }: DownloadState): DownloadFacts {
  if (state.kind === "done") return { url, name, state: "done", path: state.path };
  return { url, name, state: state.kind, ...(state.kind === "failed" && { problem: state.why }) };
}
