import { attributeOf, childrenOf, findBeside, firstChildOf, localNameOf, nextSiblingOf, shadowRootOf } from "./dom.ts";
import { sightOf } from "./hidden.ts";
import { NAMED_BY_CONTENT } from "./roles.ts";

const NAME_MAX = 160;
/** Of a text that may be as long as its maker likes: what is behind this is not looked at. */
const LOOKED_AT = 1_000;
const LABELS_MAX = 5;
const NODES_MAX = 200;

/** A text as it is shown: on one line, with single spaces. */
export function tidy(text: string, max = NAME_MAX): string {
  const line = text
    .slice(0, LOOKED_AT)
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim();
  return line.length > max || text.length > LOOKED_AT ? `${line.slice(0, max)}…` : line;
}

/** The accessible name of an element, in a simple form of the W3C's computation. */
export function nameOf(element: Element, role: string): string {
  return tidy(
    labelled(element) || tidy(attributeOf(element, "aria-label") ?? "") || native(element) || byContent(element, role) || title(element),
  );
}

function labelled(element: Element): string {
  const ids = attributeOf(element, "aria-labelledby")?.slice(0, LOOKED_AT).trim().split(/\s+/).slice(0, LABELS_MAX) ?? [];
  return ids.map((id) => textIn(findBeside(element, id))).join(" ");
}

function native(element: Element): string {
  if (element instanceof HTMLInputElement && ["button", "submit", "reset", "image"].includes(element.type))
    return element.value || element.alt || BUTTONS[element.type] || "";
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement)
    return [...(element.labels ?? [])].slice(0, LABELS_MAX).map(textIn).join(" ") || attributeOf(element, "placeholder") || "";
  if (element instanceof HTMLImageElement || localNameOf(element) === "area") return attributeOf(element, "alt") ?? "";
  const inner = NAMING[localNameOf(element)];
  if (inner === undefined) return "";
  return textIn([...childrenOf(element)].slice(0, NODES_MAX).find((child) => localNameOf(child) === inner));
}

const BUTTONS: Readonly<Record<string, string>> = { submit: "Submit", reset: "Reset" };
const NAMING: Readonly<Record<string, string>> = {
  fieldset: "legend",
  table: "caption",
  figure: "figcaption",
  svg: "title",
  details: "summary",
};

function byContent(element: Element, role: string): string {
  return NAMED_BY_CONTENT.has(role) ? textIn(element) : "";
}

function title(element: Element): string {
  return attributeOf(element, "title") ?? "";
}

/** The first text in it, pictures by what stands for them. Bounded, however much there is. */
export function textIn(root: Node | null | undefined): string {
  if (!root) return "";
  const parts: string[] = [];
  let [length, nodes] = [0, 0];
  const visit = (node: Node, depth: number, isUnseen: boolean): void => {
    if (length >= NAME_MAX * 2 || (nodes += 1) > NODES_MAX || depth > 50) return;
    if (node instanceof Text) {
      if (isUnseen) return;
      const text = tidy(node.data);
      if (text !== "") parts.push(text);
      length += text.length + 1;
    } else if (node instanceof Element) {
      const sight = SILENT.has(localNameOf(node)) ? "gone" : sightOf(node);
      if (sight === "gone") return;
      const alt = tidy(attributeOf(node, "aria-label") ?? (localNameOf(node) === "img" ? (attributeOf(node, "alt") ?? "") : ""));
      if (alt !== "" && sight === "seen") return void parts.push(alt);
      eachChild(node, (child) => {
        visit(child, depth + 1, sight === "unseen");
        return nodes <= NODES_MAX;
      });
    }
  };
  visit(root, 0, false);
  return parts.join(" ");
}

/** What stands in an element as it is shown: in the place of a slot what was put there. Until `visit` answers false. */
export function eachChild(node: Node, visit: (child: Node) => boolean): void {
  const slotted = node instanceof HTMLSlotElement ? node.assignedNodes() : [];
  if (slotted.length > 0) return void slotted.every(visit);
  const inside = node instanceof Element ? shadowRootOf(node) : null;
  for (let child = firstChildOf(inside ?? node); child && visit(child);) child = nextSiblingOf(child);
}

/** Elements whose text nobody reads. */
export const SILENT: ReadonlySet<string> = new Set("head link meta noscript script style template title".split(" "));
