/**
 * What looks at a page, in a world of scripts of its own: it sees the page's elements, and none of its scripts. It is asked by two selector
 * engines: `bj-ref=e12` finds an element by its reference, and `bj-eyes=ARGUMENTS`, with JSON as hexadecimal digits, an element that is in no
 * document, whose text is the answer as JSON.
 */
import { compare } from "./compare.ts";
import { createElement, documentOf } from "./dom.ts";
import { boxesOf, hideMarks, showMarks } from "./marks.ts";
import type { EyesAnswer, EyesAsked } from "./questions.ts";
import { References } from "./references.ts";
import { render } from "./render.ts";
import type { Line } from "./walk.ts";
import { walk } from "./walk.ts";

type Node_ = Document | ShadowRoot | Element;

class Eyes {
  readonly #references = new References();
  #before: readonly Line[] | undefined;

  find(ref: string): readonly Element[] {
    const element = this.#references.find(ref);
    return element ? [element] : [];
  }

  answer(root: Node_, asked: EyesAsked): EyesAnswer {
    this.#references.next = Math.max(this.#references.next, asked.next);
    return { ...this.#look(root, asked), next: this.#references.next };
  }

  #look(root: Node_, asked: EyesAsked): Omit<EyesAnswer, "next"> {
    if (asked.ask === "unmark") return (hideMarks(), {});
    if (asked.ask === "frame") return { frames: isFrame(root) ? [this.#references.of(root)] : [] };
    const walked = walk(root, this.#references);
    if (asked.ask === "snapshot") return render(walked, { ...asked, part: asked.part ?? this.#partOf(root) });
    if (asked.ask === "before") return ((this.#before = walked.lines), {});
    if (asked.ask === "changes") return { text: this.#changes(walked.lines) };
    if (asked.ask === "nearest") return nearest(walked.lines, asked.label);
    const boxes = boxesOf(walked, this.#references, asked.max);
    showMarks(boxes, asked.first);
    return { boxes, frames: walked.lines.flatMap(({ frame, rank }) => (frame !== undefined && rank === 0 ? frame : [])) };
  }

  #partOf(root: Node_): string | undefined {
    return root instanceof Element ? this.#references.of(root) : undefined;
  }

  /** Undefined: this is another document than before. */
  #changes(lines: readonly Line[]): string | undefined {
    const before = this.#before;
    this.#before = undefined;
    return before && compare(before, lines);
  }
}

function isFrame(root: Node_): root is Element {
  return root instanceof HTMLIFrameElement || root instanceof HTMLFrameElement;
}

const MATCHED_MAX = 2_000;

/** The line that is most like one of another element: the same role and name, or else the same role with the most words of its name. */
function nearest(lines: readonly Line[], label: string): { readonly text?: string } {
  const same = lines.find(({ text }) => text.startsWith(`- ${label} `));
  if (same) return { text: same.text };
  const [role = ""] = label.split(" ", 1);
  const words = new Set(label.toLowerCase().split(/\W+/).slice(1));
  let [best, most] = [undefined as string | undefined, 0];
  for (const { text } of lines.filter((line) => line.text.startsWith(`- ${role} `)).slice(0, MATCHED_MAX)) {
    const score = text
      .toLowerCase()
      .split(/\W+/)
      .filter((word) => word !== "" && words.has(word)).length;
    if (score > most) [best, most] = [text, score];
  }
  return best === undefined ? {} : { text: best };
}

const HELD = Symbol.for("belljar.eyes");
const world = globalThis as { [HELD]?: Eyes };
const eyes = (world[HELD] ??= new Eyes());

/** The text of an element in no document: all that an engine can give back. */
function tell(root: Node_, hex: string): readonly Element[] {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const element = createElement(documentOf(root), "pre");
  element.textContent = JSON.stringify(eyes.answer(root, JSON.parse(new TextDecoder().decode(bytes)) as EyesAsked));
  return [element];
}

/** The engines, by their names. The driver takes them from here. */
(globalThis as { belljarEngines?: object }).belljarEngines = {
  "bj-ref": engine((_root, ref) => eyes.find(ref)),
  "bj-eyes": engine(tell),
};

function engine(queryAll: (root: Node_, selector: string) => readonly Element[]): object {
  return { queryAll, query: (root: Node_, selector: string) => queryAll(root, selector)[0] };
}
