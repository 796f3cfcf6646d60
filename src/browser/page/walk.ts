import {
  boxOf,
  childCountOf,
  childrenOf,
  hasAttribute,
  isReachedByKeys,
  localNameOf,
  parentElementOf,
  queryIn,
  shadowRootOf,
} from "./dom.ts";
import { eachChild, nameOf, SILENT, tidy } from "./names.ts";
import { type Sight, sightOf } from "./hidden.ts";
import type { References } from "./references.ts";
import { ACTED_ON, holdsValues, NAMED_BY_CONTENT, roleOf } from "./roles.ts";
import { statesOf } from "./states.ts";

/** Which lines a reader wants first. */
export const RANKS = ["in view", "can be acted on", "headings", "other"] as const;
export type Rank = 0 | 1 | 2 | 3;

/** One line of the tree. */
export interface Line {
  readonly depth: number;
  readonly text: string;
  readonly rank: Rank;
  /** What the line is about: two walks are compared by it. */
  readonly key: string;
  /** An element with content in a document of its own. */
  readonly frame?: string;
}

export interface Walked {
  readonly lines: readonly Line[];
  /** It was too much to look at all of it. */
  readonly isCut: boolean;
}

/** A page may be of any size, and change while it is read: whatever comes first ends the walk. */
const NODES_MAX = 60_000;
const LINES_MAX = 20_000;
/** Below what the stack of calls holds. */
const NESTING_MAX = 600;
const WALK_MS = 400;
/** One node may take long to look at, of many it is a sum. */
const CHECKED_EVERY = 16;
const TEXT_MAX = 300;
const ROW_MAX = 1_000;
/** Roles that are shown if they have a name, and for what they hold otherwise. */
const NEEDS_NAME: ReadonlySet<string> = new Set("article cell figure form gridcell group img paragraph region row rowgroup".split(" "));
/** A row is one line, if nothing in it can be acted on. */
const ROW_CELLS_MAX = 40;

/** Reads what a document shows, from `root` on, as lines. It asks the page's scripts nothing, and changes nothing. */
export function walk(root: Node, references: References): Walked {
  const walker = new Walker(references);
  walker.visit(root, { depth: 0, isNamed: false, isPointer: false, isUnseen: false });
  return { lines: walker.lines, isCut: walker.isCut };
}

interface Place {
  readonly depth: number;
  /** What it says is in the name of an element around it. */
  readonly isNamed: boolean;
  /** The pointer shows over an element around it that it can be clicked. */
  readonly isPointer: boolean;
  /** Texts in it are not seen. */
  readonly isUnseen: boolean;
}

class Walker {
  readonly lines: Line[] = [];
  isCut = false;
  readonly #references: References;
  readonly #end = performance.now() + WALK_MS;
  readonly #view = { width: innerWidth, height: innerHeight };
  #isOver = false;
  #nodes = 0;
  #nesting = 0;

  constructor(references: References) {
    this.#references = references;
  }

  visit(node: Node, place: Place): void {
    if (this.#isFull()) return;
    if (this.#nesting >= NESTING_MAX) return void (this.isCut = true);
    this.#nesting += 1;
    const inner = this.#look(node, place);
    if (inner) this.#children(node, inner);
    this.#nesting -= 1;
  }

  /** Adds its line. What is in it is looked at by what this gives back; undefined: not at all. */
  #look(node: Node, place: Place): Place | undefined {
    try {
      if (node instanceof Text) return this.#text(node, place);
      return node instanceof Element ? this.#element(node, place) : place;
    } catch {
      // One that cannot be read costs no other one its line.
      return place;
    }
  }

  #isFull(): boolean {
    this.#nodes += 1;
    const isLate = this.#nodes % CHECKED_EVERY === 0 && performance.now() > this.#end;
    if (isLate || this.#nodes > NODES_MAX || this.lines.length >= LINES_MAX) this.isCut = this.#isOver = true;
    return this.#isOver;
  }

  /** In quotes, so that no text looks like the line of an element. */
  #text(node: Text, { depth, isNamed, isUnseen }: Place): undefined {
    if (isNamed || isUnseen) return;
    const text = tidy(node.data, TEXT_MAX);
    const parent = parentElementOf(node);
    if (text === "" || !parent) return;
    this.lines.push({
      depth,
      text: `- ${JSON.stringify(text)}`,
      rank: this.#isInView(parent) ? 0 : 3,
      key: `${this.#references.of(parent)} ${text}`,
    });
  }

  #element(element: Element, place: Place): Place | undefined {
    const sight: Sight = SILENT.has(localNameOf(element)) ? "gone" : sightOf(element);
    if (sight === "gone") return;
    if (sight === "unseen") return { ...place, isUnseen: true };
    const role = roleOf(element);
    const isPointer = isPointed(element);
    const isClickable = role === undefined && ((isPointer && !place.isPointer) || hasAttribute(element, "onclick") || isFocusable(element));
    const shown = role ?? (isClickable ? "clickable" : undefined);
    const inner = { ...place, isPointer, isUnseen: false };
    if (shown === undefined) return element instanceof HTMLLabelElement && element.control ? { ...inner, isNamed: true } : inner;
    const isActedOn = isClickable || ACTED_ON.has(shown);
    if (place.isNamed && !isActedOn && shown !== "iframe") return inner;
    if (shown === "row" && this.#row(element, place)) return;
    const isNamedByContent = isClickable || NAMED_BY_CONTENT.has(shown);
    const name = isClickable ? nameOf(element, "button") : nameOf(element, shown);
    if (name === "" && NEEDS_NAME.has(shown)) return inner;
    this.#line(element, { shown, name, isActedOn, depth: place.depth });
    if (holdsValues(element)) return;
    return { depth: place.depth + 1, isNamed: isNamedByContent || place.isNamed, isPointer, isUnseen: false };
  }

  #line(element: Element, { shown, name, isActedOn, depth }: { shown: string; name: string; isActedOn: boolean; depth: number }): void {
    const ref = this.#references.of(element);
    const states = statesOf(element, shown).map((state) => ` ${state}`);
    const text = `- ${shown}${name === "" ? "" : ` ${JSON.stringify(name)}`}${states.join("")} [${ref}]`;
    const rank = this.#isInView(element) ? 0 : isActedOn ? 1 : shown === "heading" ? 2 : 3;
    this.lines.push({ depth, text, rank, key: ref, ...(shown === "iframe" && { frame: ref }) });
  }

  /** A row with nothing but texts, as one line. */
  /** No bracket of a cell stands as it is: it could end in what looks like a reference. */
  #row(row: Element, { depth }: Place): boolean {
    const cells = [...childrenOf(row)].slice(0, ROW_CELLS_MAX);
    if (cells.length === 0 || queryIn(row, ACTABLE) || cells.some((cell) => shadowRootOf(cell))) return false;
    const texts = cells.map((cell) => tidy(nameOf(cell, "cell"), TEXT_MAX).replaceAll(/[|[\]]/g, "\\$&"));
    if (texts.every((text) => text === "")) return false;
    const ref = this.#references.of(row);
    this.#nodes += childCountOf(row);
    this.lines.push({ depth, text: `- row: ${tidy(texts.join(" | "), ROW_MAX)} [${ref}]`, rank: this.#isInView(row) ? 0 : 3, key: ref });
    return true;
  }

  #children(node: Node, place: Place): void {
    eachChild(node, (child) => {
      this.visit(child, place);
      return !this.#isOver;
    });
  }

  #isInView(element: Element): boolean {
    const { top, bottom, left, right } = boxOf(element);
    return bottom > 0 && right > 0 && top < this.#view.height && left < this.#view.width && (bottom > top || right > left);
  }
}

const ACTABLE = "a[href],button,input,select,textarea,summary,iframe,[role],[onclick],[tabindex],[contenteditable]";

function isPointed(element: Element): boolean {
  return getComputedStyle(element).cursor === "pointer";
}

function isFocusable(element: Element): boolean {
  return hasAttribute(element, "tabindex") && isReachedByKeys(element);
}
