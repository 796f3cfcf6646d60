import type { CDPSession, Dialog, Page } from "playwright-core";
import { Turns } from "../../async/turns.ts";
import { Downloads } from "./downloads.ts";
import { DriverError } from "./driver-error.ts";
import { setFrozen } from "./freeze.ts";
import { sessionOf } from "./page-session.ts";
import type { BrowserFolders } from "./profile.ts";
import { TabLog } from "./tab-log.ts";

/** Those that a tab belongs to: the tabs of one session, in the order in which they were opened. */
export interface Tabs {
  readonly all: readonly Tab[];
  /** To which calls go. */
  readonly shown: Tab | undefined;
  /** A new tab, which is the current one from now on. */
  open(): Promise<Tab>;
  select(tab: Tab): void;
  forget(tab: Tab): void;
}

/** A dialog that nobody has answered holds its page for so long. */
const DIALOG_MS = 5_000;
/** A page that runs nothing of its own for so long blocks its thread. */
const ALIVE_MS = 1_500;

/** One page of a session, and what happens to it. */
export class Tab {
  readonly page: Page;
  readonly tabs: Tabs;
  readonly turns = new Turns();
  readonly downloads: Downloads;
  readonly log: TabLog;
  /** Rejects when the page is gone while something is done to it. */
  readonly lost: Promise<never>;
  #dialog: Dialog | undefined;
  #onDialog = new Set<(dialog: Dialog) => void>();
  #isFrozen = false;

  constructor(page: Page, { tabs, folders }: { readonly tabs: Tabs; readonly folders: BrowserFolders }) {
    this.page = page;
    this.tabs = tabs;
    this.downloads = new Downloads({ page, folders, cdp: () => this.cdp() });
    this.log = new TabLog(page);
    page.on("dialog", (dialog) => this.#takeDialog(dialog));
    this.lost = new Promise((_, reject) => {
      page.once("crash", () => {
        reject(crashed());
        this.discard();
      });
      page.once("close", () => reject(new DriverError("TAB_NOT_FOUND", "The tab was closed meanwhile")));
    });
    this.lost.catch(() => undefined);
    // At once, while the page is brought to the front.
    void sessionOf(page);
  }

  /** It is nobody's from now on, however long its page takes to go. */
  discard(): void {
    this.tabs.forget(this);
    void this.page.close().catch(() => undefined);
  }

  /** The dialog that is open now. */
  get dialog(): Dialog | undefined {
    return this.#dialog;
  }

  /** Resolves when a dialog opens. The caller disposes it. */
  nextDialog(): { readonly dialog: Promise<Dialog> } & Disposable {
    let hear: (dialog: Dialog) => void = () => undefined;
    const dialog = new Promise<Dialog>((resolve) => this.#onDialog.add((hear = resolve)));
    return { dialog, [Symbol.dispose]: () => void this.#onDialog.delete(hear) };
  }

  /** Answers the open dialog. Throws `ACTION_FAILED` if there is none. */
  async answerDialog(accept: boolean, text?: string): Promise<Dialog> {
    const dialog = this.#dialog;
    if (!dialog) throw new DriverError("ACTION_FAILED", "No dialog is open; one that nobody answers is dismissed after 5 seconds");
    this.#dialog = undefined;
    await (accept ? dialog.accept(text) : dialog.dismiss());
    return dialog;
  }

  cdp(): Promise<CDPSession> {
    return sessionOf(this.page).cdp;
  }

  /** The id of its main frame. */
  frame(): Promise<string> {
    return sessionOf(this.page).frame;
  }

  /** Stops its timers and scripts while nobody looks at it. */
  async freeze(): Promise<void> {
    if (this.#isFrozen || this.turns.isBusy || this.page.isClosed()) return;
    this.#isFrozen = true;
    await setFrozen(this.page, await this.cdp(), true);
  }

  async thaw(): Promise<void> {
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    await setFrozen(this.page, await this.cdp(), false);
  }

  /** In front of the other tabs: Chromium draws and moves the mouse about once a second in those behind it. */
  async show(): Promise<void> {
    if (this.page.context().pages().length === 1) return;
    await this.page.bringToFront().catch(() => undefined);
  }

  /** Whether its thread still runs what it is given. */
  async isAlive(): Promise<boolean> {
    if (this.page.isClosed()) return false;
    if (this.#dialog) return true;
    const cdp = await this.cdp();
    const answer = cdp.send("Runtime.evaluate", { expression: "1" }).then(
      () => true,
      () => false,
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ALIVE_MS)));
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  }

  #takeDialog(dialog: Dialog): void {
    this.#dialog = dialog;
    const timer = setTimeout(() => void this.#dismiss(dialog), DIALOG_MS);
    this.page.once("close", () => clearTimeout(timer));
    for (const hear of this.#onDialog) hear(dialog);
  }

  async #dismiss(dialog: Dialog): Promise<void> {
    if (this.#dialog !== dialog) return;
    this.#dialog = undefined;
    await dialog.dismiss().catch(() => undefined);
  }
}

function crashed(): DriverError {
  return new DriverError("PAGE_CRASHED", "The page has crashed, and its tab is closed; the next call opens a new one");
}
