import { attributeOf, hasAttribute, isVisible } from "./dom.ts";

/** Whether an element is seen: itself and what is in it, not itself (what is in it may be), or neither. */
export type Sight = "seen" | "unseen" | "gone";

export function sightOf(element: Element): Sight {
  if (element instanceof HTMLSlotElement) return "seen";
  if (attributeOf(element, "aria-hidden") === "true" || hasAttribute(element, "inert")) return "gone";
  const { display, visibility } = getComputedStyle(element);
  // An element with `display: contents` has no box, and shows what is in it.
  if (!isVisible(element) && display !== "contents") return "gone";
  return visibility === "visible" ? "seen" : "unseen";
}
