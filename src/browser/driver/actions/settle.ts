import type { CDPSession } from "playwright-core";
import { settleWithin } from "../../../async/settle-within.ts";
import type { Tab } from "../tab.ts";

/** A page that draws no frame, or answers with nothing, is not waited for. */
const FRAME_MS = 500;
const LOAD_MS = 5_000;
const DOWNLOAD_MS = 3_000;
/** From a click until the first bytes of what it downloads. */
const BEGIN_MS = 2_000;

/** Which documents the main frame of a tab gets while something is done to it. */
export class DocumentWatch implements Disposable {
  readonly #cdp: CDPSession;
  readonly #frame: string;
  #isWanted = false;
  #hasNew = false;
  #isLoading = false;
  #cameToNothing = false;
  #onLoad: () => void = () => undefined;

  private constructor(cdp: CDPSession, frame: string) {
    this.#cdp = cdp;
    this.#frame = frame;
    cdp.on("Page.frameRequestedNavigation", this.#want);
    cdp.on("Page.frameStartedNavigating", this.#want);
    cdp.on("Page.frameNavigated", this.#take);
    cdp.on("Page.loadEventFired", this.#end);
    cdp.on("Page.frameStoppedLoading", this.#stop);
  }

  static async open(tab: Tab): Promise<DocumentWatch> {
    return new DocumentWatch(await tab.cdp(), await tab.frame());
  }

  /** The tab has another document than before. */
  get hasNew(): boolean {
    return this.#hasNew;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** What was asked for was no document: a download, as a rule. */
  get cameToNothing(): boolean {
    return this.#cameToNothing;
  }

  /** Resolves when the document that was asked for is loaded, or nothing of it came. */
  async loaded(): Promise<void> {
    if (this.#isWanted || this.#isLoading) await new Promise<void>((resolve) => (this.#onLoad = resolve));
  }

  [Symbol.dispose](): void {
    this.#cdp.off("Page.frameRequestedNavigation", this.#want);
    this.#cdp.off("Page.frameStartedNavigating", this.#want);
    this.#cdp.off("Page.frameNavigated", this.#take);
    this.#cdp.off("Page.loadEventFired", this.#end);
    this.#cdp.off("Page.frameStoppedLoading", this.#stop);
  }

  readonly #want = ({ frameId, navigationType }: { readonly frameId: string; readonly navigationType?: string }): void => {
    if (frameId === this.#frame && navigationType !== "sameDocument") this.#isWanted = true;
  };

  readonly #take = ({ frame }: { readonly frame: { readonly id: string; readonly parentId?: string } }): void => {
    if (frame.parentId !== undefined) return;
    this.#isWanted = false;
    this.#hasNew = true;
    this.#isLoading = true;
  };

  readonly #end = (): void => {
    this.#isLoading = false;
    if (!this.#isWanted) this.#onLoad();
  };

  readonly #stop = ({ frameId }: { readonly frameId: string }): void => {
    if (frameId !== this.#frame) return;
    this.#cameToNothing ||= this.#isWanted;
    this.#isWanted = false;
    this.#isLoading = false;
    this.#onLoad();
  };
}

/**
 * Waits until the page has drawn what an action did, and has loaded what it opened: each for a bounded time, as some pages never end, and
 * none beyond `endsAt`, as what was done is no failure of the call. After a navigation that was asked for (`leaves`) a loaded document is
 * enough: whoever looks at it next has its first frame drawn.
 */
export async function settle(
  tab: Tab,
  documents: DocumentWatch,
  { leaves, followsLinks, endsAt, isBeforeDownload }: SettleOptions,
): Promise<void> {
  const within = (ms: number): number => Math.max(0, Math.min(ms, endsAt - performance.now()));
  const wait = <T>(promise: Promise<T>, ms: number): Promise<T | "late"> => settleWithin(promise, { timeoutMs: within(ms) });
  const isOnDownload = !leaves && (await wait(drawn(tab), FRAME_MS)) === true && followsLinks;
  await wait(documents.loaded(), LOAD_MS);
  if (leaves && !documents.hasNew) await wait(drawn(tab), FRAME_MS);
  if ((isOnDownload || documents.cameToNothing) && isBeforeDownload() && within(BEGIN_MS) > 0)
    await tab.page.waitForEvent("download", { timeout: within(BEGIN_MS) }).catch(() => undefined);
  await wait(tab.downloads.settled(), DOWNLOAD_MS);
}

interface SettleOptions {
  readonly leaves: boolean;
  readonly followsLinks: boolean;
  readonly endsAt: number;
  /** None has begun since the action. */
  readonly isBeforeDownload: () => boolean;
}

/** Until the next frame is drawn, and what was to run after it has run. Whether the focus is on a link that downloads: nothing tells of that until its first bytes. */
const DRAWN = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)))
  .then(() => document.activeElement instanceof HTMLAnchorElement && document.activeElement.hasAttribute("download"))`;

async function drawn({ page }: Tab): Promise<boolean> {
  // The document may go meanwhile.
  return (await page.evaluate(DRAWN).catch(() => false)) === true;
}
