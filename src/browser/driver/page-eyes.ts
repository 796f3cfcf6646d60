import { readFile } from "node:fs/promises";
import type { ElementHandle, Frame, Locator, Page, Selectors } from "playwright-core";
import type { Box, EyesAnswer, Question } from "../page/questions.ts";
import { DriverError } from "./driver-error.ts";
import { bytesAt, indentBelow, insertBelow } from "./insert-below.ts";
import { References } from "./references.ts";

/** The engines of `page/eyes.ts`. */
const REF = "bj-ref";
const EYES = "bj-eyes";
/** Documents in documents that are looked at: a page may have any number of them, at any depth. */
const FRAMES_MAX = 20;
const WATCHED_MAX = 5;
const DOCUMENTS_MAX = 200;
const LOOK_MS = 5_000;
/** A document in another one is waited for so long, and not asked again for a while if it did not answer: its thread may be blocked. */
const FRAME_MS = 2_500;
const SILENT_MS = 60_000;
/** Of the text that is asked for: with less left, a document is named and not read. */
const LEFT_MIN = 200;
/** The last lines of a tree, which say how to read on, come beside what was asked for. */
const LAST_MAX = 400;

/** Teaches playwright the engines, once in a process and before any page is looked at. `path`: the bundle of `page/eyes.ts`. */
export async function registerEyes(selectors: Selectors, path: URL): Promise<void> {
  const code = await readFile(path, "utf8");
  for (const name of [REF, EYES]) {
    const content = `(() => { ${code}\n; return globalThis.belljarEngines[${JSON.stringify(name)}]; })()`;
    await selectors.register(name, { content }, { contentScript: true });
  }
}

export interface SnapshotWish {
  /** The part of the page; default: all of it. */
  readonly root?: Locator | undefined;
  readonly maxBytes: number;
  /** How many lines were read before. */
  readonly offset: number;
}

interface Part {
  readonly maxBytes: number;
  readonly offset: number;
  readonly root?: Locator | undefined;
  /** The reference of the element with the document. */
  readonly part?: string;
  /** How far to the right its lines will stand. Default 0. */
  readonly indent?: number;
}

interface InnerFrame {
  readonly ref: string;
  readonly element: ElementHandle;
  readonly frame: Frame;
}

/**
 * What a tab's documents show. The walk runs in each page in a world of its own (`page/`), which the page's scripts do not reach. References are
 * counted together for all documents of the tab, so that none is given twice. The caller asks one thing at a time.
 */
export class PageEyes {
  readonly #page: Page;
  readonly #references = new References();
  readonly #documents = new Map<string, Frame>();
  readonly #silentUntil = new WeakMap<Frame, number>();

  constructor(page: Page) {
    this.#page = page;
  }

  /** The tree of the page, with those of its frames below their elements. At most about `maxBytes`. */
  async snapshot(wish: SnapshotWish): Promise<string> {
    const main = this.#page.mainFrame();
    const [holder] = wish.root ? ((await this.#ask(main, { ask: "frame" }, wish.root)).frames ?? []) : [];
    const frames = { left: FRAMES_MAX };
    const text = holder === undefined ? await this.#tree(main, wish, frames) : await this.#inner(holder, wish, frames);
    this.#references.remember(text);
    return text;
  }

  /** The element of a reference. Rejects with `STALE_REF`, which names the nearest element that is there. */
  async locate(ref: string): Promise<Locator> {
    const frame = this.#references.frameOf(ref);
    const found = frame?.isDetached() === false ? frame.locator(`${REF}=${ref}`) : undefined;
    if (found && (await found.count()) > 0) return found;
    throw await this.#stale(ref);
  }

  /** Notes the tree, so that `changes` can tell what is otherwise. */
  async before(): Promise<void> {
    for (const frame of this.#watched()) await this.#ask(frame, { ask: "before" }).catch(() => undefined);
  }

  /** How the tree differs from before, a line each. Undefined if the page has another document. */
  async changes(): Promise<string | undefined> {
    const texts: (string | undefined)[] = [];
    for (const frame of this.#watched()) {
      const { text } = await this.#ask(frame, { ask: "changes" }).catch(() => ({ text: undefined }));
      if (texts.push(text) === 1 && text === undefined) return undefined;
    }
    const text = texts.filter((part) => part !== undefined && part !== "").join("\n");
    this.#references.remember(text.replaceAll(/^[+~] /gm, "- "));
    return text;
  }

  /** Draws numbers on what can be acted on in view, the first one 0. Gives back their boxes, in pixels of the page's viewport. */
  async showMarks(max: number): Promise<readonly Box[]> {
    const boxes: Box[] = [];
    await this.#mark(this.#page.mainFrame(), { at: { x: 0, y: 0 }, boxes, max });
    this.#references.remember(boxes.map(({ ref, role, name }) => `- ${role} ${JSON.stringify(name)} [${ref}]`).join("\n"));
    return boxes;
  }

  async hideMarks(): Promise<void> {
    for (const frame of this.#page.frames().slice(0, FRAMES_MAX)) await this.#ask(frame, { ask: "unmark" }).catch(() => undefined);
  }

  async #tree(frame: Frame, part: Part, frames: { left: number }): Promise<string> {
    const { maxBytes, indent = 0 } = part;
    const seen = await this.#seen(frame, part);
    let text = seen.text ?? "";
    for (const ref of (seen.frames ?? []).slice(0, FRAMES_MAX)) {
      const left = maxBytes - bytesAt(text, indent);
      const isRead = left > LEFT_MIN && (frames.left -= 1) >= 0;
      const below = { maxBytes: left, offset: 0, indent: indent + indentBelow(text, ref) };
      const inner = isRead ? await this.#inner(ref, below, frames) : UNREAD;
      text = insertBelow(text, { ref, inner, indent, maxBytes: Math.max(left, 0) + LAST_MAX });
    }
    return text;
  }

  /** Asked again for less if it is too long where it will stand: so it says itself how to read on. */
  async #seen(frame: Frame, { root, maxBytes, offset, part, indent = 0 }: Part): Promise<EyesAnswer> {
    const seen = await this.#ask(frame, { ask: "snapshot", maxBytes, offset, part }, root);
    const [bytes, there] = [bytesAt(seen.text ?? "", 0), bytesAt(seen.text ?? "", indent)];
    if (indent === 0 || there <= maxBytes + LAST_MAX) return seen;
    return this.#ask(frame, { ask: "snapshot", maxBytes: Math.floor((maxBytes * bytes) / there), offset, part }, root);
  }

  /** The tree of the document in an element. One that goes meanwhile has none. */
  async #inner(ref: string, part: Part, frames: { left: number }): Promise<string> {
    const frame = await this.#documentOf(ref);
    if (!frame || this.#isSilent(frame)) return UNANSWERED;
    return this.#tree(frame, { ...part, root: undefined, part: ref }, frames).catch(() => (this.#isSilent(frame) ? UNANSWERED : ""));
  }

  /** An element that is taken out and put back has another one: the earlier one is detached then. */
  async #documentOf(ref: string): Promise<Frame | undefined> {
    const known = this.#documents.get(ref);
    if (known?.isDetached() === false) return known;
    for (const [one, frame] of this.#documents) if (frame.isDetached()) this.#documents.delete(one);
    for await (const { frame } of this.#framesOf([ref])) {
      if (this.#documents.size < DOCUMENTS_MAX) this.#documents.set(ref, frame);
      return frame;
    }
    return undefined;
  }

  #isSilent(frame: Frame): boolean {
    return performance.now() < (this.#silentUntil.get(frame) ?? 0);
  }

  async #mark(
    frame: Frame,
    { at, boxes, max }: { at: { readonly x: number; readonly y: number }; boxes: Box[]; max: number },
  ): Promise<void> {
    const seen = await this.#ask(frame, { ask: "marks", max: max - boxes.length, first: boxes.length });
    for (const box of seen.boxes ?? []) boxes.push({ ...box, x: box.x + at.x, y: box.y + at.y });
    for await (const { element, frame: inner } of this.#framesOf(seen.frames)) {
      // In pixels of the main frame already.
      const place = boxes.length < max && !this.#isSilent(inner) ? await element.boundingBox() : null;
      if (place) await this.#mark(inner, { at: place, boxes, max }).catch(() => undefined);
    }
  }

  /** The documents in the elements with these references. One that goes meanwhile is left out. */
  async *#framesOf(refs: readonly string[] = []): AsyncGenerator<InnerFrame> {
    for (const ref of refs.slice(0, FRAMES_MAX)) {
      const locator = (this.#references.frameOf(ref) ?? this.#page).locator(`${REF}=${ref}`);
      const element = await locator.elementHandle({ timeout: LOOK_MS }).catch(() => null);
      const frame = await element?.contentFrame();
      if (element && frame) yield { ref, element, frame };
      void element?.dispose().catch(() => undefined);
    }
  }

  #watched(): readonly Frame[] {
    const main = this.#page.mainFrame();
    return [main, ...this.#page.frames().filter((frame) => frame !== main && !this.#isSilent(frame))].slice(0, WATCHED_MAX);
  }

  async #stale(ref: string): Promise<DriverError> {
    const label = this.#references.labelOf(ref);
    if (label === undefined)
      return new DriverError("STALE_REF", `No element was ever called ${ref}: take references from browser_snapshot`);
    const own = this.#references.frameOf(ref);
    const frame = own?.isDetached() === false && !this.#isSilent(own) ? own : this.#page.mainFrame();
    const { text } = await this.#ask(frame, { ask: "nearest", label }).catch(() => ({ text: undefined }));
    if (text !== undefined) this.#references.remember(text);
    const near = text === undefined ? "nothing like it is there" : `the nearest is ${text.replace(/^- /, "")}`;
    return new DriverError("STALE_REF", `${ref}, ${label}, is not in the page any more; ${near}`);
  }

  async #ask(frame: Frame, question: Question, root?: Locator): Promise<EyesAnswer> {
    const { next } = this.#references;
    const hex = Buffer.from(JSON.stringify({ ...question, next })).toString("hex");
    const timeout = frame.parentFrame() ? FRAME_MS : LOOK_MS;
    const text = await (root ?? frame)
      .locator(`${EYES}=${hex}`)
      .textContent({ timeout })
      .catch((error: unknown) => {
        const isLate = error instanceof Error && error.name === "TimeoutError";
        if (isLate && frame.parentFrame()) this.#silentUntil.set(frame, performance.now() + SILENT_MS);
        throw error;
      });
    const answer = JSON.parse(text ?? "") as EyesAnswer;
    this.#references.given(answer.next, frame);
    return answer;
  }
}

const UNREAD = "[not read: browser_snapshot with its ref]";
const UNANSWERED = "[not read: its document does not answer]";
